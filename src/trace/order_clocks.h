/* What forks, joins and barriers order in every run, while a trace is read: a clock for each
 * thread. An *epoch* is a part of a thread's events that the same others are ordered with: its
 * number goes up where the thread lets others know of it, at a FORK, at a BARRIER_ARRIVE, and when
 * it is joined. What the model takes for must-order has more (model/order.c); this is a part of
 * it, so what is ordered here is ordered there. */
#ifndef HEDDLE_TRACE_ORDER_CLOCKS_H
#define HEDDLE_TRACE_ORDER_CLOCKS_H

#include "base/vector.h"

#include <stdbool.h>
#include <stdint.h>

/* Threads with higher numbers are ordered with nobody. */
#define HD_ORDER_THREADS 2048u

struct hd_order_thread {
    uint32_t *clock; /* of each thread, up to which epoch it is before this one */
    uint32_t size;
    uint32_t epoch;      /* its own; 0: nothing is known of it */
    uint64_t round;      /* of a barrier that it has arrived at and not left; 0: none */
    bool seen, over;     /* it has events; it has ended or was joined */
    bool from_elsewhere; /* nobody made it: it may have been there all the time */
};

struct hd_order_round {
    uint64_t number, object;
    uint32_t *clock;
    uint32_t size;
    uint32_t inside; /* threads that have not left */
};

/* A zeroed one is empty. */
struct hd_order_clocks {
    HD_VECTOR(struct hd_order_thread) thread;
    HD_VECTOR(struct hd_order_round) round; /* those that somebody is in; few */
    uint32_t changes;                       /* of anything that hd_order_before says */
};

void hd_order_free(struct hd_order_clocks *order);

/* An event of the thread comes. Needed before its first one, and after any hd_order_event. */
void hd_order_see(struct hd_order_clocks *order, uint32_t thread);
/* An event of a thread that was seen; those that order nothing are passed over. */
void hd_order_event(struct hd_order_clocks *order, uint32_t thread, unsigned kind, uint64_t operand,
                    uint64_t extra);

/* The present epoch of a thread that was seen. */
static inline uint32_t hd_order_epoch(const struct hd_order_clocks *order, uint32_t thread) {
    return thread < HD_ORDER_THREADS ? order->thread.data[thread].epoch : 1;
}

/* Is an epoch of a thread, also one that goes on, before what another one does now? */
static inline bool hd_order_before(const struct hd_order_clocks *order, uint32_t thread,
                                   uint32_t epoch, uint32_t now) {
    if (thread == now) return true;
    if (now >= HD_ORDER_THREADS || thread >= HD_ORDER_THREADS) return false;
    const struct hd_order_thread *t = &order->thread.data[now];
    return thread < t->size && t->clock[thread] >= epoch;
}

/* Was it there all the time, for all that is known? */
static inline bool hd_order_is_from_elsewhere(const struct hd_order_clocks *order,
                                              uint32_t thread) {
    return thread >= HD_ORDER_THREADS || order->thread.data[thread].from_elsewhere;
}

/* Up to which epoch each thread, up to *count, is before all that is still to come, but for threads
 * from elsewhere. To be freed. */
uint32_t *hd_order_past(const struct hd_order_clocks *order, uint32_t *count);

#endif
