/* Schedules that lead nowhere. Under the serial scheduler the same turns bring the program to the
 * same place: where a thread could not go on there, it can't in another schedule that begins with
 * them either, and that need not be run. */
#ifndef HEDDLE_EXPLORE_DEAD_ENDS_H
#define HEDDLE_EXPLORE_DEAD_ENDS_H

#include "base/map.h"
#include "run/run.h"
#include "run/schedule.h"

/* Zeroed: none is known. */
struct hd_dead_ends {
    struct hd_map stuck; /* by turns before and thread: the least mark that was not reached */
};

/* Remembers where a replay of the schedule got stuck, if it did. */
void hd_dead_ends_add(struct hd_dead_ends *ends, const struct hd_schedule *schedule,
                      const struct hd_result *run);
bool hd_dead_ends_has(const struct hd_dead_ends *ends, const struct hd_schedule *schedule);
void hd_dead_ends_free(struct hd_dead_ends *ends);

#endif
