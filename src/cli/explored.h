/* What `heddle hunt` and `heddle expose` have in common besides the explorer: stopping, and the
 * default name of the file for a failure. */
#ifndef HEDDLE_CLI_EXPLORED_H
#define HEDDLE_CLI_EXPLORED_H

#include "run/run.h"

/* From here on SIGINT, SIGTERM and SIGHUP ask to stop. A second one ends the process. */
struct hd_interrupt *hd_stop_on_signals(void);
/* Ends by the signal, so that whoever waits for this process sees that it was asked to stop; with
 * the number 0 returns the status. */
int hd_end_by_signal(int number, int status);
/* "NAME.KIND.json" in the current directory, for a program's path; malloc'ed. */
char *hd_explored_path(const char *program, const char *kind);

#endif
