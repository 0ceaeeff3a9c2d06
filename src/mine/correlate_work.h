/* What hd_correlate works on, shared by its two files. */
#ifndef HEDDLE_MINE_CORRELATE_WORK_H
#define HEDDLE_MINE_CORRELATE_WORK_H

#include "base/map.h"
#include "mine/closed.h"
#include "mine/correlate.h"

#include <stdbool.h>

struct hd_correlate_work {
    const struct hd_access_sets *sets;
    const struct hd_mine_options *options;
    struct hd_correlations *out;
    /* functions that access variable v (touches do not count): function[start[v] .. start[v + 1])
     */
    uint32_t *start, *function;
    uint32_t (*functions)[4]; /* by variable and mode: how many */
    bool *popular;            /* by variable */
    struct hd_closed_sets patterns;
    struct hd_map pair_seen;
};

/* Fills `set` and `member` of the result from the patterns and the list of pairs. */
void hd_correlate_sets(struct hd_correlate_work *work);

#endif
