/* Lockset: candidates are what it keeps; forks and joins order the rest. */
#include "methods/methods.h"

static bool before(const struct hd_race_task *task, const void *prepared, uint32_t x, uint32_t y) {
    (void)prepared;
    return hd_clocks_before(task->candidates->fork_clocks, x, y);
}

static const struct hd_race_method race = {.before = before};
const struct hd_method hd_method_lockset = {.name = "lockset", .race = &race};
