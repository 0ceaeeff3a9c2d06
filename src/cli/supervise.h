/* heddle campaign --supervise: starts a command that works on a campaign file, and starts it again
 * when it was killed, lost a machine, or gives no sign any more. */
#ifndef HEDDLE_CLI_SUPERVISE_H
#define HEDDLE_CLI_SUPERVISE_H

/* The exit status. */
int hd_supervise(const char *path, char **command, unsigned silence, unsigned fruitless);

#endif
