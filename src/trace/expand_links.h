/* Inside the expansion of records (expand.h): what expand.c and expand_loop.c share. */
#ifndef HEDDLE_TRACE_EXPAND_LINKS_H
#define HEDDLE_TRACE_EXPAND_LINKS_H

#include "trace/expand.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* The links of a thread, which are found by the numbers that they have in records. */
struct links {
    struct hd_expect expect;
    uint32_t links, room; /* the one at 0 counts */
    struct link_slot {
        uint32_t number; /* 0: empty */
        uint32_t link;
    } * slot;
    uint32_t slots;
    /* where each link was met by the latest walk along them */
    struct link_mark {
        uint32_t walk, position;
    } * mark;
    uint32_t walk;
    uint32_t pause; /* events until the next walk, if the latest met a link with a choice */
};

enum {
    EXPAND_LEAST_EVENTS = 16 /* to be put in that may be worth a loop */
};

/* Locks that are given back, and calls: the operand of such an event that is expected, and what it
 * leaves behind. False if it is something else, and nothing was changed. */
static inline bool expand_between(struct hd_expect *e, const struct hd_expected *l,
                                  uint64_t *operand) {
    const unsigned ways = HD_LINK_RELATIVE | HD_LINK_EITHER | HD_LINK_GIVES_BACK;
    unsigned kind = l->shape & 0xff, way = l->flags & ways;
    if (l->operand != HD_LINK_NOWHERE) return false;
    if (way == HD_LINK_GIVES_BACK && hd_gives_lock(kind)) {
        *operand = e->operand = e->lock[0];
        hd_expect_lock(e, false, *operand);
        return true;
    }
    if (way != 0 || (kind != HD_EV_PUSH && kind != HD_EV_POP)) return false;
    *operand = e->depth += kind == HD_EV_PUSH ? 1 : UINT64_MAX;
    return true;
}

/* hd_expected_event and hd_expect_met, of an event that is expected: for most with what both need
 * worked out once. */
static inline __attribute__((always_inline)) struct hd_wire_event expand_next(struct hd_expect *e) {
    struct hd_expected *l = hd_link_at(e, e->at);
    unsigned shape = l->shape, flags = l->flags;
    uint64_t operand = l->operand;
    bool here = operand != HD_LINK_NOWHERE;
    if (unlikely((shape & 0xff) > HD_EV_WRITE ||
                 here == ((flags & (HD_LINK_RELATIVE | HD_LINK_EITHER)) != 0))) {
        if (!expand_between(e, l, &operand)) {
            struct hd_wire_event event = hd_expected_event(e);
            hd_expect_met(e);
            return event;
        }
    } else {
        if (here) {
            l->operand = operand + l->stride;
        } else if (flags & HD_LINK_RELATIVE) {
            operand = e->operand + l->distance;
        } else {
            bool second = (e->choices & 1) != 0;
            operand = l->distance + (second ? l->other : l->stride);
            hd_link_choose(l, operand, second);
            e->choices >>= 1;
        }
        e->operand = operand;
    }
    struct hd_wire_event event = {shape | operand << 16, l->site | (uint64_t)l->rest << 32};
    e->before = e->at;
    e->at = likely(--l->count != 0) ? l->next : hd_link_turn(l);
    return event;
}

/* Up to `count` events that are expected; returns how many there are. */
size_t expand_put(struct hd_expect *e, struct hd_wire_event *out, size_t count);

/* Of so many events that are to be put in, makes a loop if they are one. As many as *made says were
 * written to `out` before. If there is no loop, *singly says how many have to be put in before it
 * is worth another try. *steady, if the latest were a round; after the call, if those will be. */
bool expand_make_loop(struct links *links, uint64_t met, bool *steady, struct hd_expand_loop *loop,
                      struct hd_wire_event *out, size_t room, size_t *made, uint64_t *singly);

#endif
