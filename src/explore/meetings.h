/* Where the accesses of a suspicion meet in a run: a thread does what comes first and what comes
 * second, in two critical sections, and another thread does what is to come in between, on the same
 * memory. And the order of the run's events that brings them together.
 *
 * An analysis of the source knows `row[i].key`, not which row. If another thread adds a row, the
 * one that was read stays as it was, but the block as a whole read something that is not so any
 * more: how many rows there are. So, after the access itself, all others of its section are tried.
 */
#ifndef HEDDLE_EXPLORE_MEETINGS_H
#define HEDDLE_EXPLORE_MEETINGS_H

#include "facts/analysis.h"
#include "finding/finding.h"

/* Events of a run. */
struct hd_meeting {
    uint32_t first, between, second;
    uint32_t stop;        /* where the thread of `second` has to wait: the section's beginning */
    uint32_t from, until; /* the section of `between`, or that alone */
    bool by_block;        /* `first` is another access of the section that was named */
};

struct hd_meetings {
    HD_VECTOR(struct hd_meeting) list;
    unsigned roles;     /* bits: accesses of these roles are in the run */
    bool in_one_thread; /* one thread does the first and then the second */
};

/* The meetings of a run, the most promising first, not more than a few of every two threads. The
 * views of a `view` may come in either order. */
void hd_meetings_find(struct hd_analysis *run, const struct hd_finding *suspicion,
                      struct hd_meetings *meetings);
void hd_meetings_free(struct hd_meetings *meetings);
/* Did the run itself do it: first, between, second? With or without the other accesses of the first
 * section. */
bool hd_meeting_is_shown(struct hd_analysis *run, const struct hd_finding *suspicion,
                         bool by_block);

/* The order: all that comes before, without the section of `between`; then that; and `second`'s
 * section is next (the last event). Into *spans, from the arena. False if must-order forbids it. */
bool hd_meeting_order(struct hd_analysis *run, const struct hd_meeting *meeting,
                      struct hd_arena *arena, struct hd_span **spans, uint32_t *count);

#endif
