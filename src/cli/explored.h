/* What `heddle hunt` and `heddle expose` have in common besides the explorer: the default name of
 * the file for a failure. */
#ifndef HEDDLE_CLI_EXPLORED_H
#define HEDDLE_CLI_EXPLORED_H

/* "NAME.KIND.json" in the current directory, for a program's path; malloc'ed. */
char *hd_explored_path(const char *program, const char *kind);

#endif
