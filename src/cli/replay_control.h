/* heddle replay on a reproducer that has a control in place of turns (heddle expose's). */
#ifndef HEDDLE_CLI_REPLAY_CONTROL_H
#define HEDDLE_CLI_REPLAY_CONTROL_H

#include "run/steering.h"

/* Does the file hold a control? */
bool hd_is_control_file(const char *path);
/* Runs the program under the control once (times 0), passing its status on, or that many times,
 * and prints what came of it; the exit status. */
int hd_replay_control(const char *path, struct hd_program *program, uint64_t times, bool json,
                      bool quiet);
int hd_print_control(const char *path);

#endif
