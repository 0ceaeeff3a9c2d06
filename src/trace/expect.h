/* What a thread is expected to do next, so that it need not be written down: the runtime stores
 * only events that were not expected, and how many came as expected before them. Whoever reads the
 * stream keeps the same expectations and puts those events back in (expand.h). So this header is,
 * beside wire.h, what the runtime shares with the analyser; like that it depends on the C library
 * alone.
 *
 * Events of the same kind, flags and site are one link. A link knows the whole event that is
 * expected at it next, and which link came after it. An operand is expected where the stride of the
 * link's last two operands leads, or, for what is found through pointers, as far from the operand
 * of the event before as last time. Call stacks, counts and synchronisation are links as well: an
 * event is as expected only if every bit of it is. */
#ifndef HEDDLE_TRACE_EXPECT_H
#define HEDDLE_TRACE_EXPECT_H

#include "trace/wire.h"

#include <stdbool.h>

#define HD_LINKS 4096u     /* 256 kB for a thread, touched as they are used */
#define HD_LINK_LONG_RUN 8 /* events after which a successor is not given up at its first miss */

struct hd_expected {
    uint64_t head, tail; /* of the event that is expected */
    uint64_t stride;     /* of the head, from one event to the next */
    uint64_t other;      /* the last step that was not the stride */
    uint64_t distance;   /* of the head from that of the event before, when last stored */
    uint64_t last;       /* the head when last stored; used if `relative` */
    struct hd_expected *next;
    uint32_t shape; /* kind and flags; 0: the link is not in use */
    bool relative;  /* the head is expected at a distance from the event before */
    bool doubted;   /* another link came after it last time */
};
_Static_assert(sizeof(struct hd_expected) == 64, "a link is a cache line");

/* All zero but for `at` and `before`, which are the first link: it is never in use. */
struct hd_expect {
    struct hd_expected *at;     /* expected next */
    struct hd_expected *before; /* of the latest event */
    uint64_t head;              /* of the latest event */
    uint64_t reserved[5];
    struct hd_expected link[HD_LINKS];
};

static inline void hd_expect_nothing(struct hd_expect *e) {
    e->at = e->before = &e->link[0];
    e->link[0].next = &e->link[0];
}

/* Events that are stored whatever is expected, and teach nothing: they are about the stream. */
static inline bool hd_is_of_stream(uint64_t head) {
    unsigned kind = hd_wire_kind(head);
    return kind == HD_EV_THREAD || kind == HD_EV_STAMP || kind == HD_EV_EXPECTED;
}

static inline void hd_expect_after(struct hd_expect *e, struct hd_expected *now, uint64_t head) {
    struct hd_expected *next = now->next;
    if (next->relative) next->head = head + next->distance;
    e->before = now;
    e->at = next;
    e->head = head;
}

/* The event that is expected has come. */
static inline void hd_expect_met(struct hd_expect *e) {
    struct hd_expected *now = e->at;
    uint64_t head = now->head;
    now->head = head + now->stride;
    hd_expect_after(e, now, head);
}

static inline struct hd_expected *hd_expect_link(struct hd_expect *e, uint64_t head,
                                                 uint64_t tail) {
    uint64_t key = (head & 0xffff) | (uint64_t)hd_wire_site(tail) << 16;
    uint32_t index = (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 40) & (HD_LINKS - 1);
    return &e->link[index != 0 ? index : 1];
}

/* An operand that was not expected at a link which is known. A step that comes twice becomes the
 * stride. What is as far from the event before as last time is expected there from now on. */
static inline void hd_expect_step(struct hd_expected *l, uint64_t head, uint64_t distance) {
    uint64_t step = head - (l->relative ? l->last : l->head - l->stride);
    if (l->relative) {
        if (step == l->other && distance != l->distance) {
            l->relative = false;
            l->stride = step;
        }
    } else if (step != l->stride) {
        if (step == l->other) {
            l->stride = step;
        } else if (distance == l->distance) {
            l->relative = true;
            l->stride = 0;
        }
    }
    if (step != l->stride) l->other = step;
}

/* An event that was not expected; `met` is what it carries (hd_carries_met), else 0. */
static inline void hd_expect_learn(struct hd_expect *e, uint64_t head, uint64_t tail,
                                   uint64_t met) {
    struct hd_expected *l = hd_expect_link(e, head, tail), *before = e->before;
    uint64_t distance = head - e->head;
    if (l->shape == (uint32_t)(head & 0xffff) && hd_wire_site(l->tail) == hd_wire_site(tail)) {
        hd_expect_step(l, head, distance);
    } else {
        l->shape = (uint32_t)(head & 0xffff);
        l->stride = l->other = 0;
        l->relative = l->doubted = false;
        l->next = &e->link[0];
    }
    l->head = head + l->stride;
    l->tail = tail;
    l->distance = distance;
    l->last = head;
    if (e->at != l && before != &e->link[0]) {
        bool keep = before->next != &e->link[0] && met >= HD_LINK_LONG_RUN && !before->doubted;
        if (!keep) before->next = l;
        before->doubted = keep;
    }
    hd_expect_after(e, l, head);
}

/* Can the number of expected events before an event be stored in its count of calls? The event has
 * HD_WIRE_AFTER in its kind then, and counts one call. */
static inline bool hd_carries_met(uint64_t head, uint64_t tail, uint64_t met) {
    return hd_wire_kind(head) < HD_EV_THREAD && hd_wire_calls(tail) == 1 && met - 1 < 0xffff;
}
static inline uint64_t hd_tail_with_calls(uint64_t tail, uint64_t calls) {
    return (tail & ~(0xffffull << 32)) | calls << 32;
}

#endif
