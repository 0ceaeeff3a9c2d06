/* Clocks of threads: see order_clocks.h. */
#include "trace/order_clocks.h"

#include "base/alloc.h"
#include "trace/wire.h"

#include <stdlib.h>
#include <string.h>

void hd_order_free(struct hd_order_clocks *order) {
    for (size_t i = 0; i < order->thread.size; i++) free(order->thread.data[i].clock);
    for (size_t i = 0; i < order->round.size; i++) free(order->round.data[i].clock);
    hd_vector_free(&order->thread);
    hd_vector_free(&order->round);
}

/* NULL if it has no clock. */
static struct hd_order_thread *thread_of(struct hd_order_clocks *order, uint64_t number) {
    if (number >= HD_ORDER_THREADS) return NULL;
    while (order->thread.size <= number) {
        struct hd_order_thread none = {0};
        hd_vector_push(&order->thread, none);
    }
    return &order->thread.data[number];
}

/* ---- clocks -------------------------------------------------------------------------------- */

static void make_room(uint32_t **clock, uint32_t *size, uint32_t needed) {
    if (needed <= *size) return;
    *clock = hd_realloc(*clock, needed, sizeof **clock);
    memset(*clock + *size, 0, (needed - *size) * sizeof **clock);
    *size = needed;
}

/* All that is before the other one is before this one, too. */
static void add_clock(uint32_t **clock, uint32_t *size, const uint32_t *other, uint32_t count) {
    make_room(clock, size, count);
    for (uint32_t i = 0; i < count; i++)
        if ((*clock)[i] < other[i]) (*clock)[i] = other[i];
}

static void add_epoch(uint32_t **clock, uint32_t *size, uint32_t thread, uint32_t epoch) {
    make_room(clock, size, thread + 1);
    if ((*clock)[thread] < epoch) (*clock)[thread] = epoch;
}

/* A thread, with its present epoch, is before whoever has the clock. */
static void add_thread(uint32_t **clock, uint32_t *size, uint32_t thread,
                       const struct hd_order_thread *t) {
    add_clock(clock, size, t->clock, t->size);
    add_epoch(clock, size, thread, t->epoch);
}

/* ---- events -------------------------------------------------------------------------------- */

void hd_order_see(struct hd_order_clocks *order, uint32_t thread) {
    struct hd_order_thread *t = thread_of(order, thread);
    if (t == NULL || (t->seen && !t->over)) return;
    /* The first one of all is where everything begins. One that was joined goes on: nobody knows
     * what it is ordered with. */
    bool first = true;
    for (size_t i = 0; i < order->thread.size && first; i++)
        first = order->thread.data[i].epoch == 0;
    if (t->over || (t->epoch == 0 && !first)) t->from_elsewhere = true;
    if (t->epoch == 0) t->epoch = 1;
    t->seen = true;
    t->over = false;
    order->changes++;
}

static void fork_thread(struct hd_order_clocks *order, uint32_t parent, uint64_t number) {
    struct hd_order_thread *child = thread_of(order, number), *t = thread_of(order, parent);
    if (child == NULL || t == NULL || child == t || child->epoch != 0) return;
    add_thread(&child->clock, &child->size, parent, t);
    child->epoch = 1;
    child->from_elsewhere = t->from_elsewhere;
    t->epoch++;
}

static void join_thread(struct hd_order_clocks *order, uint32_t parent, uint64_t number) {
    struct hd_order_thread *child = thread_of(order, number), *t = thread_of(order, parent);
    if (child == NULL || t == NULL || child == t || child->epoch == 0) return;
    add_thread(&t->clock, &t->size, (uint32_t)number, child);
    child->epoch++;
    child->over = true;
}

static struct hd_order_round *round_of(struct hd_order_clocks *order, uint64_t number) {
    for (size_t i = 0; i < order->round.size; i++)
        if (order->round.data[i].number == number) return &order->round.data[i];
    return NULL;
}

/* The thread is in no round any more. */
static void leave_round(struct hd_order_clocks *order, struct hd_order_thread *t) {
    struct hd_order_round *round = round_of(order, t->round);
    t->round = 0;
    if (round == NULL || --round->inside != 0) return;
    free(round->clock);
    *round = order->round.data[--order->round.size];
}

static void arrive(struct hd_order_clocks *order, uint32_t thread, uint64_t object,
                   uint64_t number) {
    struct hd_order_thread *t = thread_of(order, thread);
    if (t == NULL) return;
    if (t->round != 0) leave_round(order, t);
    if (number == 0) return;
    struct hd_order_round *round = round_of(order, number);
    if (round == NULL) {
        struct hd_order_round none = {.number = number, .object = object};
        hd_vector_push(&order->round, none);
        round = &order->round.data[order->round.size - 1];
    }
    if (round->object != object) return;
    add_thread(&round->clock, &round->size, thread, t);
    round->inside++;
    t->epoch++;
    t->round = number;
}

static void leave(struct hd_order_clocks *order, uint32_t thread, uint64_t object) {
    struct hd_order_thread *t = thread_of(order, thread);
    if (t == NULL || t->round == 0) return;
    const struct hd_order_round *round = round_of(order, t->round);
    if (round == NULL || round->object != object) return;
    add_clock(&t->clock, &t->size, round->clock, round->size);
    leave_round(order, t);
}

void hd_order_event(struct hd_order_clocks *order, uint32_t thread, unsigned kind, uint64_t operand,
                    uint64_t extra) {
    struct hd_order_thread *t = thread_of(order, thread);
    switch (kind) {
    case HD_EV_FORK:
        fork_thread(order, thread, operand);
        break;
    case HD_EV_JOIN:
        join_thread(order, thread, operand);
        break;
    case HD_EV_BARRIER_ARRIVE:
        arrive(order, thread, operand, extra);
        break;
    case HD_EV_BARRIER_LEAVE:
        leave(order, thread, operand);
        break;
    case HD_EV_END:
        if (t != NULL) t->over = true;
        break;
    default:
        return;
    }
    order->changes++;
}

/* ---- what is past -------------------------------------------------------------------------- */

uint32_t *hd_order_past(const struct hd_order_clocks *order, uint32_t *count) {
    uint32_t threads = *count = (uint32_t)order->thread.size;
    uint32_t *past = hd_alloc(threads, sizeof *past);
    memset(past, 0xff, threads * sizeof *past);
    for (uint32_t i = 0; i < threads; i++) {
        const struct hd_order_thread *t = &order->thread.data[i];
        if (t->epoch == 0 || t->over || t->from_elsewhere) continue;
        for (uint32_t k = 0; k < threads; k++) {
            uint32_t before = k == i ? t->epoch : k < t->size ? t->clock[k] : 0;
            if (before < past[k]) past[k] = before;
        }
    }
    return past;
}
