/* Cycles of dependencies: each waiter wants what the next one holds, all of different threads,
 * none under a lock that keeps another out, none must-ordered as a whole. Elementary: no resource
 * twice, since a state with such a cycle has a shorter one (two readers of one lock that both want
 * to write are the exception: one resource, two threads). */
#ifndef HEDDLE_PREDICT_LOCK_CYCLES_H
#define HEDDLE_PREDICT_LOCK_CYCLES_H

#include "predict/lock_graph.h"

/* Types of dependencies that together are known to deadlock. Longer cycles that have them all (the
 * same code with more objects) are the same bug and not looked for. */
struct hd_known_cycles {
    HD_VECTOR(uint32_t) type;  /* of each set, without repetition */
    HD_VECTOR(uint32_t) start; /* of each set, and its end */
};
void hd_known_cycles_add(struct hd_known_cycles *known, const uint32_t *type, uint32_t count);
void hd_known_cycles_free(struct hd_known_cycles *known);

struct hd_cycle_search {
    const struct hd_lock_graph *graph;
    const struct hd_known_cycles *known;
    uint64_t steps_left; /* dependencies looked at; when it is 0 the search has ended early */
    void *context;
    /* Called for each cycle with its dependencies. */
    void (*found)(void *context, const uint32_t *dependency, uint32_t length);
};

/* All cycles of one length. */
void hd_cycles_of_length(struct hd_cycle_search *search, uint32_t length);
/* No cycle can be longer: distinct threads, distinct resources. */
uint32_t hd_cycles_longest(const struct hd_lock_graph *graph);

#endif
