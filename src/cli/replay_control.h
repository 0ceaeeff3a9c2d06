/* heddle replay on a file that has a control in place of turns (heddle expose's). */
#ifndef HEDDLE_CLI_REPLAY_CONTROL_H
#define HEDDLE_CLI_REPLAY_CONTROL_H

#include "run/run.h"
#include "run/schedule.h"

/* Runs the job under the control once (times 0), passing its status on, or that many times, and
 * prints what came of it; the exit status. */
int hd_replay_control(const struct hd_schedule *schedule, const struct hd_job *job,
                      const struct hd_host *host, uint32_t times, bool json, bool quiet);

#endif
