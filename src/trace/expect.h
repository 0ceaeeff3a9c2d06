/* What a thread is expected to do next, so that it need not be written down: the runtime stores
 * only events that were not expected, and how many came as expected before them. Whoever reads the
 * stream keeps the same expectations and puts those events back in (expand.h). So this header is,
 * beside wire.h, what the runtime shares with the analyser; like that it depends on the C library
 * alone.
 *
 * Events of the same kind, flags and site are one link. A link knows the whole event that is
 * expected at it next, and which link came after it. An operand is expected where the stride of the
 * link's last two operands leads; or, for what is found through pointers, as far from the operand
 * of the event before as last time (the link is *relative*); calls are expected to go one deeper,
 * and returns one back. An event is as expected only if every bit of it is.
 *
 * Links are named by their offset in the thread's table. Which one an event has is for the two
 * sides to find out, each in its own way; the event that has none (UNLINKED) says so. */
#ifndef HEDDLE_TRACE_EXPECT_H
#define HEDDLE_TRACE_EXPECT_H

#include "trace/wire.h"

#include <stdbool.h>

#define HD_LINK_BYTES 64u
#define HD_LINK_LONG_RUN 8 /* events after which a successor is not given up at its first miss */

struct hd_link {
    uint64_t operand; /* expected next; HD_LINK_NOWHERE if that is not kept here */
    uint64_t stride;  /* from one operand to the next */
    uint64_t rest;    /* upper half of the expected event's tail: its counts, or a PUSH's step */
    uint32_t next;    /* the link that came after it; 0: none */
    uint32_t site;
    uint64_t distance; /* of the operand from that of the event before, when last stored */
    uint64_t other;    /* the last step that was not the stride */
    uint64_t last;     /* the operand when last stored; used if `relative` */
    uint16_t shape;    /* kind and flags; 0: the link is not in use */
    bool relative;
    bool doubted; /* another link came after it last time */
};
_Static_assert(sizeof(struct hd_link) == HD_LINK_BYTES, "a link is a cache line");
#define HD_LINK_NOWHERE UINT64_MAX /* no operand is that large */

struct hd_expect {
    uint32_t at;          /* link that is expected next; 0: nothing is */
    uint32_t before;      /* of the latest event; 0: none */
    uint64_t operand;     /* of the latest event that is not bookkeeping */
    uint64_t depth;       /* of calls */
    struct hd_link *link; /* the one at 0 is never in use: its `rest` is UINT64_MAX */
};

static inline struct hd_link *hd_link_at(const struct hd_expect *e, uint32_t offset) {
    return (struct hd_link *)((char *)e->link + offset);
}

/* What makes a link. */
static inline uint64_t hd_link_key(uint64_t head, uint64_t tail) {
    return (head & 0xffff) << 32 | hd_wire_site(tail);
}

/* Events that are stored whatever is expected, and teach nothing: they are about the stream. */
static inline bool hd_is_of_stream(uint64_t head) {
    unsigned kind = hd_wire_kind(head);
    return kind == HD_EV_THREAD || kind == HD_EV_STAMP || kind == HD_EV_EXPECTED;
}

/* A COUNT has no site, and says something else each time. */
static inline bool hd_may_be_linked(uint64_t head) { return hd_wire_kind(head) != HD_EV_COUNT; }

static inline uint64_t hd_expected_operand(const struct hd_expect *e, const struct hd_link *l) {
    if (l->relative) return e->operand + l->distance;
    if ((l->shape & 0xff) == HD_EV_PUSH) return e->depth + 1;
    if ((l->shape & 0xff) == HD_EV_POP) return e->depth - 1;
    return l->operand;
}

static inline bool hd_is_expected(const struct hd_expect *e, uint64_t head, uint64_t tail) {
    const struct hd_link *l = hd_link_at(e, e->at);
    return l->shape == (head & 0xffff) && l->site == hd_wire_site(tail) && l->rest == tail >> 32 &&
           hd_expected_operand(e, l) == hd_wire_operand(head);
}

static inline struct hd_wire_event hd_expected_event(const struct hd_expect *e) {
    const struct hd_link *l = hd_link_at(e, e->at);
    return (struct hd_wire_event){
        hd_wire_head(l->shape & 0xff, (unsigned)l->shape >> 8, hd_expected_operand(e, l)),
        l->site | l->rest << 32};
}

/* The latest event was one of this kind and operand. */
static inline void hd_expect_past(struct hd_expect *e, unsigned kind, uint64_t operand) {
    if (kind < HD_EV_THREAD)
        e->operand = operand;
    else if (kind == HD_EV_PUSH || kind == HD_EV_POP)
        e->depth = operand;
}

/* The event that is expected has come. */
static inline void hd_expect_met(struct hd_expect *e) {
    struct hd_link *l = hd_link_at(e, e->at);
    uint64_t operand = hd_expected_operand(e, l);
    if (l->operand != HD_LINK_NOWHERE) l->operand = operand + l->stride;
    hd_expect_past(e, l->shape & 0xff, operand);
    e->before = e->at;
    e->at = l->next;
}

/* An operand that was not expected at a link which is known. A step that comes twice becomes the
 * stride. What is as far from the event before as last time is expected there from now on. */
static inline void hd_link_step(struct hd_link *l, uint64_t operand, uint64_t distance) {
    uint64_t step = operand - (l->relative ? l->last : l->operand - l->stride);
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

/* An event that was not expected, and its link (0: it has none); `met` is what it carries
 * (hd_carries_met), else 0. */
static inline void hd_expect_learn(struct hd_expect *e, uint32_t link, uint64_t head, uint64_t tail,
                                   uint64_t met) {
    uint64_t operand = hd_wire_operand(head), distance = operand - e->operand;
    unsigned kind = hd_wire_kind(head);
    struct hd_link *l = hd_link_at(e, link), *before = hd_link_at(e, e->before);
    hd_expect_past(e, kind, operand);
    if (link == 0) {
        e->at = e->before = 0;
        return;
    }
    bool depth = kind == HD_EV_PUSH || kind == HD_EV_POP;
    if (l->shape == 0) {
        *l = (struct hd_link){.shape = (uint16_t)head, .site = hd_wire_site(tail)};
    } else if (!depth) {
        hd_link_step(l, operand, distance);
    }
    l->operand = depth || l->relative ? HD_LINK_NOWHERE : operand + l->stride;
    l->rest = tail >> 32;
    l->distance = distance;
    l->last = operand;
    if (e->at != link && e->before != 0) {
        bool keep = before->next != 0 && met >= HD_LINK_LONG_RUN && !before->doubted;
        if (!keep) before->next = link;
        before->doubted = keep;
    }
    e->before = link;
    e->at = l->next;
}

/* Can the number of expected events before an event be stored in its count of calls? The event has
 * HD_WIRE_AFTER in its kind then, and counts one call. */
static inline bool hd_carries_met(uint64_t head, uint64_t tail, uint64_t met) {
    return hd_wire_kind(head) < HD_EV_THREAD && hd_wire_calls(tail) == 1 && met - 1 < 0xffff;
}
static inline uint64_t hd_tail_with_calls(uint64_t tail, uint64_t calls) {
    return (tail & ~(0xffffull << 32)) | calls << 32;
}
/* A STAMP or THREAD has it in its tail. */
static inline bool hd_stream_carries_met(uint64_t head, uint64_t met) {
    return hd_wire_kind(head) != HD_EV_EXPECTED && met <= UINT32_MAX;
}

#endif
