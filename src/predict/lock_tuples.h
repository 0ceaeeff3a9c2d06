/* The event tuples of one cycle, those first that are near each other in the trace, and only those
 * that must-order does not make impossible. */
#ifndef HEDDLE_PREDICT_LOCK_TUPLES_H
#define HEDDLE_PREDICT_LOCK_TUPLES_H

#include "engine/questions.h"
#include "predict/lock_graph.h"

struct hd_tuples {
    const struct hd_lock_graph *graph;
    const uint32_t *dependency; /* the cycle */
    uint32_t length;
    bool near;       /* still at those that are near */
    uint32_t pivot;  /* position of the shortest list */
    uint32_t at;     /* in it */
    uint32_t depth;  /* positions chosen */
    uint32_t *index; /* per position: instance of its waiter */
    uint32_t *end;   /* per position: where the run of instances that fit ends */
};

/* `index` and `end`: room for `length` numbers each. `near`: first those that are near (which come
 * again later). */
void hd_tuples_begin(struct hd_tuples *tuples, const struct hd_lock_graph *graph,
                     const uint32_t *dependency, uint32_t length, bool near, uint32_t *index,
                     uint32_t *end);
enum hd_tuples_step { HD_TUPLE, HD_TUPLE_SKIPPED, HD_TUPLES_END };
/* The next tuple is in `index`, or one was looked at that cannot be. */
enum hd_tuples_step hd_tuples_next(struct hd_tuples *tuples);

/* Where the thread of a position waits. */
static inline const struct hd_wait_instance *
hd_tuple_instance(const struct hd_lock_graph *graph, uint32_t dependency, uint32_t index) {
    const struct hd_waiter *waiter = &graph->waiter.data[graph->dependency.data[dependency].waiter];
    return &graph->instance.data[waiter->start + index];
}

/* The question whether all can wait there; relaxed by the numbers of branches, if not NULL
 * (hd_query.branches). */
bool hd_tuple_ask(const struct hd_lock_graph *graph, const uint32_t *dependency,
                  const uint32_t *index, uint32_t length, const uint32_t *branches,
                  struct hd_question *question);

#endif
