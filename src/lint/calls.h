/* Who calls whom: direct calls, and calls through pointers by the type of the function. Functions
 * that never return (they report an error and end the program) have no callers: what is done on the
 * way to the end is no part of a block. */
#ifndef HEDDLE_LINT_CALLS_H
#define HEDDLE_LINT_CALLS_H

#include "base/bitset.h"
#include "source/source.h"

struct hd_calls {
    const struct hd_source *source;
    uint32_t *first; /* by step: its callees are [first, first + count) of `callee` */
    uint32_t *count;
    uint32_t *function;         /* by step: the function it is in */
    HD_VECTOR(uint32_t) callee; /* functions with a body */
};

void hd_calls_build(const struct hd_source *source, struct hd_calls *calls);
void hd_calls_free(struct hd_calls *calls);

static inline const uint32_t *hd_callees(const struct hd_calls *calls, uint32_t step) {
    return calls->callee.data + calls->first[step];
}

/* Functions that a call through a pointer may reach; with more than this the type says too little,
 * and neither values nor accesses are followed through it. */
#define HD_CALLEES_MOST 8u
static inline bool hd_calls_known(const struct hd_calls *calls, uint32_t step) {
    return calls->count[step] > 0 && calls->count[step] <= HD_CALLEES_MOST;
}

/* Adds the callees of a step, and all that they call, to a set of functions. `all`: through every
 * pointer, not only where few functions may be meant. */
void hd_calls_reach(const struct hd_calls *calls, uint32_t step, bool all,
                    struct hd_bitset *functions);
/* Adds a function and all that it calls. */
void hd_calls_reach_from(const struct hd_calls *calls, uint32_t function, bool all,
                         struct hd_bitset *functions);

#endif
