/* Is there an order in which a pinned set of steps can run, each seeing what it is to see? Exact,
 * by search, with a budget. */
#ifndef HEDDLE_EXPLORE_CLOSING_ORDER_H
#define HEDDLE_EXPLORE_CLOSING_ORDER_H

#include "base/vector.h"
#include "explore/closing_view.h"

enum closing_verdict { CLOSING_IMPOSSIBLE, CLOSING_POSSIBLE, CLOSING_UNDECIDED };

struct closing_question {
    const struct closing_view *view;
    const uint32_t *steps; /* by thread: how many of its first steps run */
    /* One of them, or what its thread is blocked in at the end of the run, sees something else. */
    uint32_t reader;
    const uint32_t *from;        /* one use for each of its own that reads */
    bool writes;                 /* it is to be taken for one that writes what it reads */
    bool expires;                /* the time of its wait is up: no signal need come before */
    const uint32_t *reader_past; /* by thread: steps that come before it */
};

typedef HD_VECTOR(uint32_t) closing_events;

/* The order, if there is one, goes to *order; `reader` is the last of it if it is no step. */
enum closing_verdict closing_order(const struct closing_question *question, closing_events *order);

#endif
