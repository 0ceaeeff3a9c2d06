/* What a replay's trace says about the schedule it was to follow. */
#ifndef HEDDLE_RUN_REPLAY_CHECK_H
#define HEDDLE_RUN_REPLAY_CHECK_H

#include "run/replay.h"
#include "run/schedule.h"

/* Looks whether each of the first `turns` turns ended with the call that it should have, in the
 * order of the schedule: site and operation must match, addresses need not. The first that did not
 * is left in *divergence, unless that knows an earlier one. False if the trace can't be read. */
bool hd_replay_check(const struct hd_schedule *schedule, const char *trace_path, uint32_t turns,
                     struct hd_divergence *divergence);

#endif
