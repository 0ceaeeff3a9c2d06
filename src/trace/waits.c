/* Under the free scheduler a WAIT is logged by the thread that was woken, some time after the
 * signal. The thread was blocked all the while, so that the WAIT may be moved directly behind its
 * signal, where a total order wants it. */
#include "base/alloc.h"
#include "base/map.h"
#include "trace/merge.h"

#include <stdlib.h>
#include <string.h>

struct move {
    uint32_t wait, signal; /* events */
};

static int by_signal(const void *a, const void *b) {
    const struct move *x = a, *y = b;
    if (x->signal != y->signal) return x->signal < y->signal ? -1 : 1;
    return x->wait < y->wait ? -1 : x->wait > y->wait;
}

struct placement {
    struct hd_trace *trace;
    struct hd_map signals; /* number -> event */
    HD_VECTOR(struct move) move;
    uint32_t *order; /* new position -> old */
};

static bool is_signal(uint8_t kind) { return kind == HD_EV_SIGNAL || kind == HD_EV_BROADCAST; }

static void collect(struct placement *p) {
    struct hd_trace *trace = p->trace;
    for (uint32_t i = 0; i < trace->extras; i++) {
        uint32_t event = trace->extra_event[i];
        if (!is_signal(trace->kind[event])) continue;
        hd_map_slot(&p->signals, trace->extra_value[i], event);
    }
    if (p->signals.count == 0) return;
    for (uint32_t i = 0; i < trace->extras; i++) {
        uint32_t event = trace->extra_event[i];
        if (trace->kind[event] != HD_EV_WAIT) continue;
        uint32_t signal = hd_map_get(&p->signals, trace->extra_value[i], HD_NONE);
        if (signal == HD_NONE || signal + 1 == event) continue;
        hd_vector_push(&p->move, ((struct move){.wait = event, .signal = signal}));
    }
}

/* Program order comes first: a wait stays between the events of its own thread before and after it.
 * Leaves the moves that can be made. */
static void drop_impossible(struct placement *p) {
    struct hd_trace *trace = p->trace;
    struct neighbours {
        uint32_t before, after;
    } *near = hd_zalloc(p->move.size, sizeof *near);
    uint32_t *last = hd_alloc(trace->threads, sizeof *last);
    uint32_t *open = hd_alloc(trace->threads, sizeof *open); /* move that wants its `after` */
    for (uint32_t t = 0; t < trace->threads; t++) last[t] = open[t] = HD_NONE;
    uint32_t next = 0; /* moves are still in the order of their waits */
    for (uint32_t e = 0; e < trace->events; e++) {
        uint16_t thread = trace->thread[e];
        if (open[thread] != HD_NONE) near[open[thread]].after = e;
        open[thread] = HD_NONE;
        if (next < p->move.size && p->move.data[next].wait == e) {
            near[next] = (struct neighbours){.before = last[thread], .after = HD_NONE};
            open[thread] = next++;
        }
        last[thread] = e;
    }
    size_t kept = 0;
    for (size_t i = 0; i < p->move.size; i++) {
        struct move move = p->move.data[i];
        uint32_t before = near[i].before;
        bool after_own =
            before == HD_NONE || (before < move.signal && trace->kind[before] != HD_EV_WAIT);
        if (after_own && move.signal < near[i].after) p->move.data[kept++] = move;
    }
    p->move.size = kept;
    free(near);
    free(last);
    free(open);
}

static void make_order(struct placement *p) {
    struct hd_trace *trace = p->trace;
    qsort(p->move.data, p->move.size, sizeof *p->move.data, by_signal);
    p->order = hd_alloc(trace->events, sizeof *p->order);
    uint8_t *moved = hd_zalloc(trace->events, 1);
    for (size_t i = 0; i < p->move.size; i++) moved[p->move.data[i].wait] = 1;
    uint32_t at = 0;
    size_t next = 0;
    for (uint32_t e = 0; e < trace->events; e++) {
        if (!moved[e]) p->order[at++] = e;
        for (; next < p->move.size && p->move.data[next].signal == e; next++)
            p->order[at++] = p->move.data[next].wait;
    }
    free(moved);
}

#define PERMUTE(column)                                                                \
    do {                                                                               \
        for (uint32_t at = 0; at < trace->events; at++)                                \
            memcpy((char *)scratch + (size_t)at * sizeof *trace->column,               \
                   &trace->column[p->order[at]], sizeof *trace->column);               \
        memcpy(trace->column, scratch, (size_t)trace->events * sizeof *trace->column); \
    } while (0)

static int by_event(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return x[0] < y[0] ? -1 : x[0] > y[0];
}

static void permute(struct placement *p) {
    struct hd_trace *trace = p->trace;
    void *scratch = hd_alloc(trace->events, sizeof(uint64_t));
    uint64_t(*extra)[2] = hd_alloc(trace->extras, sizeof *extra);
    PERMUTE(thread);
    PERMUTE(kind);
    PERMUTE(flags);
    PERMUTE(operand);
    PERMUTE(site);
    PERMUTE(stack);
    PERMUTE(branches);
    PERMUTE(calls);
    PERMUTE(number);
    uint32_t *position = scratch;
    for (uint32_t at = 0; at < trace->events; at++) position[p->order[at]] = at;
    for (uint32_t i = 0; i < trace->extras; i++) {
        extra[i][0] = position[trace->extra_event[i]];
        extra[i][1] = trace->extra_value[i];
    }
    qsort(extra, trace->extras, sizeof *extra, by_event);
    for (uint32_t i = 0; i < trace->extras; i++) {
        trace->extra_event[i] = (uint32_t)extra[i][0];
        trace->extra_value[i] = extra[i][1];
    }
    free(scratch);
    free(extra);
}

void hd_place_waits(struct hd_builder *builder) {
    struct placement p = {.trace = builder->trace};
    collect(&p);
    if (p.move.size > 0) drop_impossible(&p);
    if (p.move.size > 0) {
        make_order(&p);
        if (p.trace->number == NULL) hd_build_numbers(builder);
        permute(&p);
    }
    hd_map_free(&p.signals);
    hd_vector_free(&p.move);
    free(p.order);
}
