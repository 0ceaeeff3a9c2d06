/* What `heddle hunt` and `heddle expose` have in common besides the explorer: the default name of
 * the file for a failure, and the lines for what is no failure. */
#ifndef HEDDLE_CLI_EXPLORED_H
#define HEDDLE_CLI_EXPLORED_H

#include "explore/explore.h"

/* "NAME.KIND.json" in the current directory, for a program's path; malloc'ed. */
char *hd_explored_path(const char *program, const char *kind);
/* Output that depends on the schedule, and runs that did not end before the time was up; nothing if
 * there are none. */
void hd_print_output(const struct hd_exploration *exploration);
void hd_print_cut(const struct hd_exploration *exploration);

#endif
