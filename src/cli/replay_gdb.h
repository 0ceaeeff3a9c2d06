/* heddle replay --gdb: the program in a debugger, under the schedule. */
#ifndef HEDDLE_CLI_REPLAY_GDB_H
#define HEDDLE_CLI_REPLAY_GDB_H

#include "run/run.h"

/* Returns gdb's status. */
int hd_replay_in_gdb(const struct hd_job *job, const struct hd_host *host);

#endif
