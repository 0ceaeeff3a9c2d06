/* heddle replay --gdb: the program in a debugger, with the schedule in force. */
#ifndef HEDDLE_CLI_REPLAY_GDB_H
#define HEDDLE_CLI_REPLAY_GDB_H

#include "run/replay.h"

/* Returns gdb's status. */
int hd_replay_in_gdb(const struct hd_program *program, const struct hd_schedule *schedule,
                     const struct hd_replay_options *options);

#endif
