/* The event pairs of a group of conflicts, in the order in which they are worth deciding. */
#ifndef HEDDLE_FACTS_CONFLICT_PAIRS_H
#define HEDDLE_FACTS_CONFLICT_PAIRS_H

#include "facts/conflicts.h"

/* x comes before y in everything that a race must escape. For x, y of two threads this must be
 * monotone: it then holds for everything before x and everything after y too. */
typedef bool (*hd_before)(const void *context, uint32_t x, uint32_t y);

struct hd_conflict {
    uint32_t event[2]; /* of the group's first and second site */
    uint32_t location;
};

#define HD_NEAR_CONFLICTS 48

/* Zeroed at first; `begin` as often as wanted, then free.
 *
 * First the pairs that are nearest in the trace, the earliest first: they have the shortest
 * prefixes, and often the trace itself is nearly a witness. Then all the others. Only the first
 * event of each segment is taken from a list (segments.h says why), and only pairs that `before`
 * does not order. */
struct hd_conflict_pairs {
    const struct hd_conflicts *conflicts;
    hd_before before;
    const void *context;
    struct hd_conflict_bundles bundles; /* of the group */
    uint32_t bundle, end;
    uint32_t i, k, from, to;
    bool whole; /* every event, not only one of each segment */
    uint32_t near_count, near_at;
    struct hd_conflict near[HD_NEAR_CONFLICTS];
};

void hd_conflict_pairs_begin(struct hd_conflict_pairs *pairs, const struct hd_conflicts *conflicts,
                             uint32_t group, hd_before before, const void *context, bool whole);
void hd_conflict_pairs_free(struct hd_conflict_pairs *pairs);
bool hd_conflict_pairs_next(struct hd_conflict_pairs *pairs, struct hd_conflict *pair);

/* The first pair of the group that was begun that `before` leaves unordered. */
bool hd_conflict_pairs_find(struct hd_conflict_pairs *pairs, struct hd_conflict *pair);

#endif
