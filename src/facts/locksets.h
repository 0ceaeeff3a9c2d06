/* Sets of held locks with their modes, each stored once and known by a number; 0 is the empty set.
 * Two accesses under sets that exclude each other can never be next at the same time. */
#ifndef HEDDLE_FACTS_LOCKSETS_H
#define HEDDLE_FACTS_LOCKSETS_H

#include "base/vector.h"

#include <stdbool.h>
#include <stdint.h>

struct hd_lockset {
    uint32_t start, count; /* of `held` */
    uint64_t any, writing; /* one bit for each lock, shared by locks with the same number mod 64 */
    uint64_t hash;
};

struct hd_locksets {
    HD_VECTOR(struct hd_lockset) set;
    HD_VECTOR(uint32_t) held; /* lock * 2 + (1 if held for reading), ascending */
    uint32_t *slot;           /* hash table of set numbers + 1 */
    uint32_t mask;
};

void hd_locksets_init(struct hd_locksets *sets);
/* The number of a set, given as lock * 2 + reading in any order; sorts the list. */
uint32_t hd_locksets_number(struct hd_locksets *sets, uint32_t *held, uint32_t count);
void hd_locksets_free(struct hd_locksets *sets);

/* Is there a lock in both, for writing in at least one of them? */
bool hd_locksets_exclude_slow(const struct hd_locksets *sets, uint32_t a, uint32_t b);
static inline bool hd_locksets_exclude(const struct hd_locksets *sets, uint32_t a, uint32_t b) {
    const struct hd_lockset *left = &sets->set.data[a], *right = &sets->set.data[b];
    if (((left->any & right->writing) | (left->writing & right->any)) == 0) return false;
    return hd_locksets_exclude_slow(sets, a, b);
}

#endif
