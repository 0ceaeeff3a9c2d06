/* Who waits for what while holding what: the dependencies of a trace that can be part of a cycle.
 * Waits that are alike (one thread, one place, one thing wanted, the same locks taken at the same
 * places) are one waiter with a list of events, however often they were repeated. What is kept lies
 * in a strongly connected part of the graph of locks; all else cannot deadlock.
 *
 * Things that can be waited for ("resources") are the locks, and, numbered after them, places where
 * a thread waits for the progress of others (condition, semaphore, join, barrier) while it holds a
 * lock: an acquire of another thread that must come before the end of such a wait "holds" it. */
#ifndef HEDDLE_PREDICT_LOCK_GRAPH_H
#define HEDDLE_PREDICT_LOCK_GRAPH_H

#include "base/intern.h"
#include "base/map.h"
#include "base/vector.h"
#include "facts/analysis.h"
#include "facts/locksets.h"

/* One instance of a waiter. */
struct hd_wait_instance {
    uint32_t event;  /* that the thread cannot execute: an acquire, a BLOCKED, the end of a wait */
    uint32_t behind; /* everything before this one is executed; of the end of a wait, the thread's
                        event before it, itself executed; otherwise the event again */
};

struct hd_waiter {
    uint32_t start, count; /* of hd_lock_graph.instance, in trace order */
    uint64_t all;          /* events in all; `count` are those that another does not speak for */
    uint32_t wants;        /* resource */
    uint32_t lockset;      /* locks held */
    uint16_t thread;
    bool reading; /* wants a lock for reading only */
    bool waits;   /* for progress, not for a lock */
};

/* A waiter by one of the things it holds. */
struct hd_dependency {
    uint32_t holds, wants; /* resources */
    uint32_t waiter;
    uint32_t type; /* code and kinds of locks: equal for the same bug with other objects */
    bool holds_reading, wants_reading;
};

/* A place where a thread waits for others' progress with a lock held. */
struct hd_wait_place {
    uint32_t kind;   /* enum hd_event_kind of its end */
    uint32_t object; /* condition variable, barrier, semaphore, thread */
    uint16_t thread;
};

struct hd_lock_graph {
    const struct hd_model *model;
    const struct hd_clocks *clocks;
    struct hd_locksets locksets;
    HD_VECTOR(struct hd_wait_instance) instance;
    HD_VECTOR(struct hd_waiter) waiter;
    HD_VECTOR(struct hd_dependency) dependency; /* by holds, wants, waiter */
    HD_VECTOR(struct hd_wait_place) place;
    uint32_t resources; /* locks, then places */
    uint32_t *out;      /* per resource, and one more: where its dependencies start */
    uint32_t types;
    /* signals and posts of each condition variable and semaphore */
    uint32_t *giver_start, *giver;
};

/* `whole`: every event is kept, also those that another speaks for. A graph without dependencies
 * has no clocks. */
void hd_lock_graph_build(struct hd_analysis *analysis, bool whole, struct hd_lock_graph *graph);
void hd_lock_graph_free(struct hd_lock_graph *graph);

static inline bool hd_resource_is_lock(const struct hd_lock_graph *graph, uint32_t resource) {
    return resource < graph->model->locks;
}
/* Would one who has the first lack the second? */
static inline bool hd_dependency_blocks(const struct hd_dependency *wanting,
                                        const struct hd_dependency *holding) {
    return wanting->wants == holding->holds && !(wanting->wants_reading && holding->holds_reading);
}
/* The section by which the thread of an instance holds a lock; HD_NONE if it does not. */
uint32_t hd_instance_section(const struct hd_model *model, const struct hd_wait_instance *instance,
                             uint32_t lock);

#endif
