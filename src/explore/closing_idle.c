/* See closing_idle.h; the notes come from runtime/state.c. */
#include "explore/closing_idle.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/vector.h"
#include "explore/closing_view.h"

#include <stdlib.h>

/* A read since the thread did anything else. */
struct read {
    uint32_t event, step;
    uint64_t state; /* 0: not known */
};

struct waiting {
    HD_VECTOR(struct read) read;
    uint32_t steps; /* so far, without those that go */
    uint32_t kept;
    bool idle, last;  /* those that stay have, or end with, a round that goes nowhere */
    uint64_t state;   /* of the read that comes next */
    uint64_t high;    /* the stack that states cover ends here; 0: not known */
    uint64_t low;     /* and begins here at the lowest */
    bool wrote;       /* writes to it went */
    uint32_t blocked; /* the note of a wait that has not ended, HD_NONE */
};

uint64_t *closing_name_threads(const struct hd_trace *trace) {
    uint32_t *made = hd_zalloc(trace->threads, sizeof *made);
    uint64_t *id = hd_alloc(trace->threads, sizeof *id);
    for (uint32_t t = 0; t < trace->threads; t++) id[t] = hd_mix64(t == 0 ? 1 : 1000003ull + t);
    for (uint32_t e = 0; e < trace->events; e++) {
        uint32_t by = trace->thread[e];
        if (trace->kind[e] == HD_EV_FORK && trace->operand[e] < trace->threads)
            id[trace->operand[e]] = hd_mix64(id[by] * 31 + ++made[by]);
    }
    free(made);
    return id;
}

static bool is_state(const struct hd_trace *trace, uint32_t e) {
    return trace->kind[e] == HD_EV_NOTE && trace->flags[e] == HD_NOTE_STATE;
}

/* The thread is where it was: what it did since then goes, and this read takes the place of the one
 * there. */
static void go_back(struct hd_trace *trace, struct waiting *w, size_t to, uint32_t event,
                    uint8_t *dropped) {
    uint32_t first = w->read.data[to].event;
    trace->calls[event] = trace->calls[first];
    trace->branches[event] = trace->branches[first];
    for (size_t i = to; i < w->read.size; i++) {
        dropped[w->read.data[i].event] = 1;
        w->wrote |= trace->kind[w->read.data[i].event] == HD_EV_WRITE;
    }
    w->steps -= (uint32_t)(w->read.size - to);
    w->read.size = to;
}

/* To the part of the stack that states cover, or below it, where nothing lives. */
static bool is_own(const struct hd_trace *trace, const struct waiting *w, uint32_t e) {
    uint64_t address = trace->operand[e];
    return (trace->kind[e] == HD_EV_WRITE || trace->kind[e] == HD_EV_READ) &&
           trace->flags[e] != 0 && w->high != 0 && w->low != 0 && address >= w->low &&
           address + trace->flags[e] <= w->high;
}

/* Is all that it did from a step on about its own stack? Then that could not have been otherwise.
 */
static bool is_own_from(const struct hd_trace *trace, struct waiting *w, uint32_t step) {
    for (size_t i = w->read.size; i-- > 0 && w->read.data[i].step >= step;) {
        if (!is_own(trace, w, w->read.data[i].event)) return false;
        w->wrote = true;
    }
    return true;
}

/* A compare-and-exchange that succeeds. It may end rounds in which it failed. */
static bool is_exchange(const struct hd_trace *trace, uint32_t e) {
    return trace->kind[e] == HD_EV_ATOMIC_UPDATE && (trace->flags[e] & HD_ATOMIC_COMPARES) != 0;
}

/* Is the thread, before this event, as it was before an earlier one at the same place? */
static void end_round(struct hd_trace *trace, struct waiting *w, uint32_t e, uint8_t *dropped) {
    for (size_t i = 0; w->state != 0 && i < w->read.size; i++) {
        uint32_t before = w->read.data[i].event;
        if (w->read.data[i].state != w->state || trace->site[before] != trace->site[e] ||
            trace->operand[before] != trace->operand[e])
            continue;
        if (w->read.data[i].step < w->kept) {
            w->idle = true;
            w->last |= is_own_from(trace, w, w->kept);
            continue;
        }
        go_back(trace, w, i, e, dropped);
        break;
    }
}

/* What a thread waits for when the run ends is an event. */
static void end_blocked(struct hd_trace *trace, uint32_t e) {
    uint64_t wait = hd_trace_extra(trace, e, 0);
    trace->kind[e] = HD_EV_BLOCKED;
    trace->flags[e] = (uint8_t)hd_wire_wait_type(wait);
    trace->calls[e] = (uint32_t)hd_wire_wait_calls(wait);
}

static void look_at(struct hd_trace *trace, struct waiting *w, uint32_t e, uint8_t *dropped) {
    if (w->blocked != HD_NONE) dropped[w->blocked] = 1;
    w->blocked = HD_NONE;
    if (trace->kind[e] == HD_EV_NOTE && trace->flags[e] == HD_NOTE_BLOCKED) {
        w->blocked = e;
        return;
    }
    if (is_state(trace, e)) {
        w->state = trace->operand[e];
        w->high = hd_trace_extra(trace, e, 0);
        dropped[e] = 1;
        return;
    }
    if (trace->kind[e] == HD_EV_WRITE && is_own(trace, w, e)) {
        struct read write = {e, w->steps++, 0};
        hd_vector_push(&w->read, write);
        w->state = 0;
        return;
    }
    if (trace->kind[e] == HD_EV_ALLOC && (trace->flags[e] & HD_BLOCK_TYPE_MASK) == HD_BLOCK_STACK)
        w->low = trace->operand[e];
    bool reads = trace->kind[e] == HD_EV_READ || trace->kind[e] == HD_EV_ATOMIC_READ;
    if (reads || is_exchange(trace, e)) end_round(trace, w, e, dropped);
    if (reads) {
        struct read read = {e, w->steps++, w->state};
        hd_vector_push(&w->read, read);
    } else {
        w->read.size = 0;
        w->steps += closing_is_step(trace->kind[e], trace->flags[e]);
    }
    w->state = 0;
}

static void compact(struct hd_trace *trace, const uint8_t *dropped) {
    uint32_t kept = 0, extras = 0, at = 0;
    for (uint32_t e = 0; e < trace->events; e++) {
        bool extra = at < trace->extras && trace->extra_event[at] == e;
        if (!dropped[e]) {
            if (extra) {
                trace->extra_event[extras] = kept;
                trace->extra_value[extras++] = trace->extra_value[at];
            }
            trace->thread[kept] = trace->thread[e];
            trace->kind[kept] = trace->kind[e];
            trace->flags[kept] = trace->flags[e];
            trace->operand[kept] = trace->operand[e];
            trace->site[kept] = trace->site[e];
            trace->stack[kept] = trace->stack[e];
            trace->branches[kept] = trace->branches[e];
            trace->calls[kept++] = trace->calls[e];
        }
        at += extra;
    }
    trace->events = kept;
    trace->extras = extras;
}

enum closing_idle closing_drop_idle(struct hd_trace *trace, const uint32_t *kept, uint32_t reader,
                                    uint8_t *wrote) {
    uint8_t *dropped = hd_zalloc(trace->events, 1);
    struct waiting *w = hd_zalloc(trace->threads, sizeof *w);
    for (uint32_t t = 0; t < trace->threads; t++) {
        w[t].kept = kept[t];
        w[t].blocked = HD_NONE;
    }
    for (uint32_t e = 0; e < trace->events; e++) look_at(trace, &w[trace->thread[e]], e, dropped);
    for (uint32_t t = 0; t < trace->threads; t++)
        if (w[t].blocked != HD_NONE) end_blocked(trace, w[t].blocked);
    compact(trace, dropped);
    enum closing_idle idle = CLOSING_NORMAL;
    for (uint32_t t = 0; t < trace->threads; t++) {
        if (w[t].idle && idle == CLOSING_NORMAL) idle = CLOSING_IDLE_STAYS;
        if (w[t].last && t == reader) idle = CLOSING_IDLE_LAST;
        wrote[t] = w[t].wrote;
        hd_vector_free(&w[t].read);
    }
    free(w);
    free(dropped);
    return idle;
}
