/* Closed frequent itemsets of a list of transactions: the sets of items that at least `min_support`
 * transactions contain and that no larger set contains just as often. The algorithm is FPclose
 * (Grahne and Zhu 2003): a prefix tree of the transactions, one conditional tree for each item, and
 * a second prefix tree of the sets found so far that tells whether a set is closed. */
#ifndef HEDDLE_MINE_CLOSED_H
#define HEDDLE_MINE_CLOSED_H

#include "base/vector.h"

#include <stdbool.h>
#include <stdint.h>

/* Items are numbers below `items`. Those of transaction t are item[start[t] .. start[t + 1]), each
 * at most once, in any order. */
struct hd_transactions {
    const uint32_t *start, *item;
    uint32_t count;
    uint32_t items;
};

/* Set s: item[start[s] .. start[s + 1]), ascending, contained in support[s] transactions. */
struct hd_closed_sets {
    HD_VECTOR(uint32_t) item;
    HD_VECTOR(uint32_t) start; /* one more than there are sets */
    HD_VECTOR(uint32_t) support;
    bool cut_short; /* there are more than `most_sets` */
};

static inline uint32_t hd_closed_sets_count(const struct hd_closed_sets *sets) {
    return (uint32_t)sets->support.size;
}

/* A dense database can have exponentially many sets: the search stops at `most_sets` and says so.
 * `min_support` 0 counts as 1. */
void hd_closed_mine(const struct hd_transactions *transactions, uint32_t min_support,
                    uint32_t most_sets, struct hd_closed_sets *sets);
void hd_closed_sets_free(struct hd_closed_sets *sets);

#endif
