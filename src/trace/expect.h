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
 * Loops in loops: if a link's events come in rounds of the same number (a *trip*), after which the
 * operand makes another step, other counts come, or another link follows, that is expected too: the
 * link *turns*.
 *
 * Two steps: if a link's operand goes on by one of two steps, now this one, now that one, in no
 * order that is known (two lists that are merged), neither is expected: the link has a *choice*,
 * and one bit is kept for each of its events. If the same step comes often enough, that ends.
 *
 * Anywhere: a link whose operands have shown no order (what is found through hashes) *strays*. The
 * same operand as last time is expected, and nothing else is tried until a step, or a distance from
 * the event before, comes twice.
 *
 * Locks: a release that gives back the lock that its thread has taken last, as most do, is expected
 * to do so again, whichever lock that is: the link *gives back*.
 *
 * Links are named by their offset in the thread's table. Which one an event has is for the two
 * sides to find out, each in its own way; the event that has none (UNLINKED) says so. */
#ifndef HEDDLE_TRACE_EXPECT_H
#define HEDDLE_TRACE_EXPECT_H

#include "trace/wire.h"

#include <stdbool.h>

#define HD_LINK_BYTES 64u
#define HD_LINK_LONG_RUN 8 /* events after which a successor is not given up at its first miss */

enum { /* flags of a link */
       HD_LINK_RELATIVE = 1,
       HD_LINK_TURNS = 2,   /* `trip`, `other` and `exit` were right last time */
       HD_LINK_TURNING = 4, /* the next event is the first of a round; `rest` and `other_rest` are
                               exchanged */
       HD_LINK_DOUBTED = 8, /* the last turn was not as expected */
       HD_LINK_EITHER = 16, /* it has a choice: the step is `stride`, which came last, or `other`;
                               `distance` is the last operand */
       HD_LINK_WAVERS = 32, /* the last step that was not expected was `other`, and came soon */
       HD_LINK_STRAYS = 64, /* `operand` is the last one, `other` the last step, `stride` 0 */
       HD_LINK_LOST = 128,  /* the last operand was not expected, nor was the one before */
       HD_LINK_GIVES_BACK = 256 /* the operand is the lock that was taken last and is still held */
};
#define HD_LINK_SOON 16u /* events after which a step does not come soon */
#define HD_LINK_SURE 64u /* equal steps after which there is no choice any more */
struct hd_expected {
    uint64_t operand; /* expected next; HD_LINK_NOWHERE if that is not kept here */
    uint64_t stride;  /* from one operand to the next; if relative, the last operand stored */
    uint32_t rest;    /* upper half of the expected event's tail: its counts, or a PUSH's step */
    uint32_t next;    /* the link that came after it; 0: none */
    uint32_t count;   /* events to come in this round; if it does not turn, less those so far */
    uint32_t site;
    uint64_t other;    /* the last step that was not the stride */
    uint64_t distance; /* of the operand from that of the event before, when last stored; if it has
                          a choice, the last operand */
    uint32_t trip;     /* events of the last round */
    uint32_t exit;     /* the link that came after it at the last turn; 0: none */
    uint32_t other_rest;
    uint16_t shape; /* kind and flags; 0: the link is not in use */
    uint16_t flags;
};
_Static_assert(sizeof(struct hd_expected) == HD_LINK_BYTES, "a link is a cache line");
#define HD_LINK_NOWHERE UINT64_MAX /* no operand is that large */

#define HD_EXPECT_LOCKS 4u /* that are held are known; of more, these were taken last */
struct hd_expect {
    union {
        struct {
            uint32_t at;     /* link that is expected next; 0: nothing is */
            uint32_t before; /* of the latest event; 0: none */
        };
        uint64_t both;
    };
    uint64_t operand;         /* of the latest event that is not bookkeeping */
    uint64_t depth;           /* of calls */
    uint64_t met[2];          /* events that came as expected before the last two that did not */
    uint64_t choices;         /* reading: of the links to come that have one, the next in bit 0 */
    struct hd_expected *link; /* the one at 0 is never in use, and all zeros */
    uint64_t lock[HD_EXPECT_LOCKS]; /* held, the one that was taken last first; 0: none */
};

static inline struct hd_expected *hd_link_at(const struct hd_expect *e, uint32_t offset) {
    return (struct hd_expected *)((char *)e->link + offset);
}

/* What makes a link. */
static inline uint64_t hd_link_key(uint64_t head, uint64_t tail) {
    return (head & 0xffff) << 32 | hd_wire_site(tail);
}

/* Events that are stored whatever is expected, and teach nothing: they are about the stream. */
static inline bool hd_is_of_stream(uint64_t head) {
    unsigned kind = hd_wire_kind(head);
    return kind == HD_EV_THREAD || kind == HD_EV_STAMP;
}

/* A COUNT has no site, and says something else each time. */
static inline bool hd_may_be_linked(uint64_t head) { return hd_wire_kind(head) != HD_EV_COUNT; }

/* Where the operand of a link's next event is expected, or where its second step would lead. */
static inline uint64_t hd_link_operand(const struct hd_expect *e, const struct hd_expected *l,
                                       bool second) {
    if (l->flags & HD_LINK_RELATIVE) return second ? l->stride : e->operand + l->distance;
    if (l->flags & HD_LINK_EITHER) return l->distance + (second ? l->other : l->stride);
    if (l->flags & HD_LINK_GIVES_BACK) return e->lock[0];
    if ((l->shape & 0xff) == HD_EV_PUSH) return e->depth + 1;
    if ((l->shape & 0xff) == HD_EV_POP) return e->depth - 1;
    if (!second) return l->operand;
    uint64_t change = l->other - l->stride;
    return l->flags & HD_LINK_TURNING ? l->operand - change : l->operand + change;
}

/* The same when it came as expected, by its choice if it has one. */
static inline uint64_t hd_expected_operand(const struct hd_expect *e, const struct hd_expected *l) {
    return hd_link_operand(e, l, (l->flags & HD_LINK_EITHER) != 0 && (e->choices & 1) != 0);
}

/* An event that comes where there is a choice is not, unless whoever asks keeps that. */
static inline bool hd_is_expected(const struct hd_expect *e, uint64_t head, uint64_t tail) {
    const struct hd_expected *l = hd_link_at(e, e->at);
    return !(l->flags & HD_LINK_EITHER) && l->shape == (head & 0xffff) &&
           l->site == hd_wire_site(tail) && l->rest == tail >> 32 &&
           hd_expected_operand(e, l) == hd_wire_operand(head);
}

static inline struct hd_wire_event hd_expected_event(const struct hd_expect *e) {
    const struct hd_expected *l = hd_link_at(e, e->at);
    return (struct hd_wire_event){
        hd_wire_head(l->shape & 0xff, (unsigned)l->shape >> 8, hd_expected_operand(e, l)),
        l->site | (uint64_t)l->rest << 32};
}

static inline bool hd_takes_lock(unsigned kind) {
    return kind == HD_EV_ACQUIRE || kind == HD_EV_READ_ACQUIRE;
}
static inline bool hd_gives_lock(unsigned kind) {
    return kind == HD_EV_RELEASE || kind == HD_EV_READ_RELEASE;
}

static inline void hd_expect_lock(struct hd_expect *e, bool takes, uint64_t lock) {
    unsigned i = 0;
    if (takes) {
        for (i = HD_EXPECT_LOCKS - 1; i > 0; i--) e->lock[i] = e->lock[i - 1];
        e->lock[0] = lock;
        return;
    }
    while (i < HD_EXPECT_LOCKS && e->lock[i] != lock) i++;
    for (; i < HD_EXPECT_LOCKS; i++) e->lock[i] = i + 1 < HD_EXPECT_LOCKS ? e->lock[i + 1] : 0;
}

/* The latest event was one of this kind and operand. */
static inline void hd_expect_past(struct hd_expect *e, unsigned kind, uint64_t operand) {
    if (hd_takes_lock(kind) || hd_gives_lock(kind)) hd_expect_lock(e, hd_takes_lock(kind), operand);
    if (kind < HD_EV_THREAD)
        e->operand = operand;
    else if (kind == HD_EV_PUSH || kind == HD_EV_POP)
        e->depth = operand;
}

static inline void hd_link_exchange(struct hd_expected *l) {
    uint32_t rest = l->rest;
    l->rest = l->other_rest;
    l->other_rest = rest;
    l->flags ^= HD_LINK_TURNING;
}

/* Its count is at 0: the event that came was the last of a round, or the first. What the next one
 * is expected to be; returns the link that is expected after this one. */
static inline uint32_t hd_link_turn(struct hd_expected *l) {
    if (l->flags & HD_LINK_EITHER) { /* the same step all the time */
        l->flags &= (uint16_t)~HD_LINK_EITHER;
        l->operand = l->distance + l->stride;
        return l->next;
    }
    if (!(l->flags & HD_LINK_TURNS)) return l->next; /* 2^32 events */
    if (l->flags & HD_LINK_TURNING) {
        hd_link_exchange(l);
        l->flags &= (uint16_t)~HD_LINK_DOUBTED;
        l->count = l->trip - 1;
        return l->next;
    }
    hd_link_exchange(l);
    l->count = 1;
    if (l->operand != HD_LINK_NOWHERE) l->operand += l->other - l->stride;
    return l->exit != 0 ? l->exit : l->next;
}

/* An event of a link that has a choice: it took the second step, or not. What comes last is what is
 * expected first. */
static inline void hd_link_choose(struct hd_expected *l, uint64_t operand, bool second) {
    /* without a branch, since which one it is can't be foreseen */
    uint64_t all = 0 - (uint64_t)second, change = (l->stride ^ l->other) & all;
    l->stride ^= change;
    l->other ^= change;
    l->count = (l->count & ~(uint32_t)all) | (HD_LINK_SURE & (uint32_t)all);
    l->distance = operand;
}

/* The event that is expected has come. */
static inline void hd_expect_met(struct hd_expect *e) {
    struct hd_expected *l = hd_link_at(e, e->at);
    uint64_t operand = hd_expected_operand(e, l);
    if (l->operand != HD_LINK_NOWHERE) {
        l->operand = operand + l->stride;
    } else if (l->flags & HD_LINK_EITHER) {
        hd_link_choose(l, operand, (e->choices & 1) != 0);
        e->choices >>= 1;
    }
    hd_expect_past(e, l->shape & 0xff, operand);
    e->before = e->at;
    e->at = --l->count != 0 ? l->next : hd_link_turn(l);
}

/* ---- learning ----------------------------------------------------------------------------------
 */

/* Events of the round so far. */
static inline uint32_t hd_link_round(const struct hd_expected *l) {
    if (l->flags & HD_LINK_TURNING) return 0;
    return (l->flags & HD_LINK_TURNS ? l->trip : 0) - l->count;
}

/* A round is over, or did not go as expected: the next event is the first of one. */
static inline void hd_link_new_round(struct hd_expected *l, bool as_last_time) {
    uint32_t round = hd_link_round(l);
    if (l->flags & HD_LINK_TURNING) hd_link_exchange(l);
    bool turns = as_last_time && round == l->trip && round >= 2;
    l->flags =
        (uint16_t)((l->flags & ~(HD_LINK_TURNS | HD_LINK_DOUBTED)) | (turns ? HD_LINK_TURNS : 0));
    l->trip = round;
    l->count = turns ? round : 0;
}

/* A turn came at the right time, but not as expected. Once is no reason to give it up. */
static inline bool hd_link_turned_otherwise(struct hd_expected *l) {
    if (!(l->flags & HD_LINK_TURNING)) return false;
    hd_link_exchange(l);
    l->count = l->trip;
    if (l->flags & HD_LINK_DOUBTED) {
        l->flags &= (uint16_t) ~(HD_LINK_TURNS | HD_LINK_DOUBTED);
        l->count = 0;
        return false;
    }
    l->flags |= HD_LINK_DOUBTED;
    return true;
}

/* Nothing that was expected of its operand came. */
static inline void hd_link_stray(struct hd_expected *l) {
    l->flags = (uint16_t)((l->flags & ~(HD_LINK_LOST | HD_LINK_WAVERS)) | HD_LINK_STRAYS);
    l->stride = 0;
}

/* An operand that was not expected at a link that is not relative. A step that comes twice becomes
 * the stride, unless it comes after as many events as last time: then the link turns. What is as
 * far from the event before as last time is expected there from now on. */
static inline void hd_link_step(struct hd_expected *l, uint64_t operand, uint64_t distance) {
    bool turning = (l->flags & HD_LINK_TURNING) != 0;
    uint64_t step = operand - (l->operand - (turning ? l->other : l->stride));
    if (turning && hd_link_turned_otherwise(l)) return;
    uint32_t round = hd_link_round(l);
    if (step == l->stride) return; /* it is its counts */
    bool again = step == l->other && round < HD_LINK_SOON && (l->shape & 0xff) <= HD_EV_WRITE;
    bool either = again && (l->flags & HD_LINK_WAVERS);
    l->flags = (uint16_t)((l->flags & ~HD_LINK_WAVERS) | (again ? HD_LINK_WAVERS : 0));
    if (round == 0) { /* another link came, and so began a round */
        l->other = step;
    } else if (either && !(round == l->trip && round >= 2)) {
        hd_link_new_round(l, false);
        l->flags = (uint16_t)((l->flags & ~HD_LINK_WAVERS) | HD_LINK_EITHER);
        l->other = l->stride;
        l->stride = step;
        l->count = HD_LINK_SURE;
    } else if (round == 1 && step == l->other) {
        l->other = l->stride;
        l->stride = step;
        hd_link_new_round(l, false);
    } else if (round == 1 && distance == l->distance) {
        l->flags |= HD_LINK_RELATIVE;
        hd_link_new_round(l, false);
    } else {
        bool lost = round == 1 && l->flags & HD_LINK_LOST;
        hd_link_new_round(l, step == l->other);
        l->other = step;
        l->flags = (uint16_t)((l->flags & ~HD_LINK_LOST) | (round == 1 ? HD_LINK_LOST : 0));
        if (lost) hd_link_stray(l);
    }
}

/* An operand of a link that strays, and does not turn: does it go on straying? */
static inline bool hd_link_strays_on(const struct hd_expected *l, uint64_t operand,
                                     uint64_t distance) {
    uint64_t step = operand - l->operand;
    return step == 0 || (step != l->other && distance != l->distance);
}

/* Then this is what it has learned. */
static inline void hd_link_strayed_on(struct hd_expected *l, uint64_t operand, uint64_t distance) {
    if (operand != l->operand) l->other = operand - l->operand;
    l->operand = operand;
    l->distance = distance;
}

/* An operand of a link that strays, which is not the same as last time. */
static inline void hd_link_strayed(struct hd_expected *l, uint64_t operand, uint64_t distance) {
    uint64_t step = operand - l->operand;
    if (step == l->other) {
        l->flags &= (uint16_t)~HD_LINK_STRAYS;
        l->stride = step;
        l->count = 0;
    } else if (distance == l->distance) {
        l->flags ^= HD_LINK_STRAYS | HD_LINK_RELATIVE;
        l->count = 0;
    }
    l->other = step;
}

/* The same of a link that has a choice. A jump is no reason to give that up, two are. */
#define HD_LINK_JUMPED (HD_LINK_SURE + 1)
static inline void hd_link_chose(struct hd_expected *l, uint64_t operand) {
    uint64_t step = operand - l->distance;
    if (step == l->stride || step == l->other) {
        hd_link_choose(l, operand, step != l->stride);
    } else if (l->count != HD_LINK_JUMPED) {
        l->count = HD_LINK_JUMPED + 1;
    } else {
        l->flags &= (uint16_t)~HD_LINK_EITHER;
        l->other = step;
        l->count = 0;
    }
}

/* An operand of a relative link, or its counts, that were not expected. */
static inline void hd_link_parted(struct hd_expected *l, uint64_t step, uint64_t distance) {
    if (distance != l->distance && step == l->other) {
        l->flags &= (uint16_t)~HD_LINK_RELATIVE;
        l->stride = step;
    } else if (distance != l->distance && !(l->flags & HD_LINK_TURNS)) {
        bool lost = hd_link_round(l) == 1 && l->flags & HD_LINK_LOST;
        hd_link_new_round(l, false);
        l->flags |= HD_LINK_LOST;
        if (lost) {
            l->flags &= (uint16_t)~HD_LINK_RELATIVE;
            hd_link_stray(l);
        }
    }
    l->other = step;
}

/* An event that was not expected, at a link that is known. */
static inline void hd_link_missed(struct hd_expected *l, uint64_t operand, uint64_t distance,
                                  uint32_t rest) {
    bool first = (l->flags & HD_LINK_TURNING) != 0;
    if (l->flags & HD_LINK_RELATIVE) {
        uint64_t step = operand - l->stride; /* which is the last one */
        if (first) (void)hd_link_turned_otherwise(l);
        hd_link_parted(l, step, distance);
    } else if (l->flags & HD_LINK_EITHER) {
        hd_link_chose(l, operand);
    } else if (l->flags & HD_LINK_STRAYS) {
        if (operand != l->operand) hd_link_strayed(l, operand, distance);
    } else if (l->operand != HD_LINK_NOWHERE) {
        hd_link_step(l, operand, distance);
        first = first || hd_link_round(l) == 0;
    } else if (first) {
        (void)hd_link_turned_otherwise(l);
    }
    if (first)
        l->other_rest = rest;
    else
        l->rest = rest;
}

/* A link that is new, or of a release that gives back the lock that was taken last where it was
 * another, or the other way round. */
static inline void hd_link_begins_anew(struct hd_expected *l, bool gives_back, uint32_t rest) {
    const unsigned known = HD_LINK_RELATIVE | HD_LINK_TURNS | HD_LINK_TURNING | HD_LINK_DOUBTED |
                           HD_LINK_EITHER | HD_LINK_WAVERS | HD_LINK_STRAYS | HD_LINK_LOST |
                           HD_LINK_GIVES_BACK;
    l->flags = (uint16_t)((l->flags & ~known) | (gives_back ? HD_LINK_GIVES_BACK : 0));
    l->stride = l->other = 0;
    l->count = l->trip = 0;
    l->rest = l->other_rest = rest;
}

/* Another link came after it than was expected. After a long run that is a turn, and so it is if
 * the same link came at the last one; else what came is expected from now on. */
static inline void hd_link_left(struct hd_expected *l, uint32_t came, uint64_t met) {
    if (l->flags & HD_LINK_EITHER) {
        l->exit = l->next;
        l->next = came;
        return;
    }
    if (l->flags & HD_LINK_TURNING) {
        if (came != l->next) {
            l->exit = came;
            return;
        }
        if (l->operand != HD_LINK_NOWHERE) l->operand += l->stride - l->other;
        (void)hd_link_turned_otherwise(l); /* the round goes on */
        return;
    }
    bool again = came == l->exit, turn = again || met >= HD_LINK_LONG_RUN;
    if (l->next != 0 && hd_link_round(l) >= 2 && turn) {
        hd_link_new_round(l, again);
        l->exit = came;
        return;
    }
    hd_link_new_round(l, false);
    l->exit = l->next;
    l->next = came;
}

static inline void hd_expect_counted(struct hd_expect *e, uint64_t met) {
    e->met[0] = e->met[1];
    e->met[1] = met;
}

/* An event that was not expected, and its link (0: it has none), after so many that were. */
static inline void hd_expect_learn(struct hd_expect *e, uint32_t link, uint64_t head, uint64_t tail,
                                   uint64_t met) {
    uint64_t operand = hd_wire_operand(head), distance = operand - e->operand;
    unsigned kind = hd_wire_kind(head);
    struct hd_expected *l = hd_link_at(e, link);
    bool gives_back = hd_gives_lock(kind) && operand == e->lock[0];
    hd_expect_past(e, kind, operand);
    hd_expect_counted(e, met);
    if (link == 0) {
        e->at = e->before = 0;
        return;
    }
    if (e->at != link && e->before != 0) hd_link_left(hd_link_at(e, e->before), link, met);
    bool depth = kind == HD_EV_PUSH || kind == HD_EV_POP;
    if (l->shape == 0 || gives_back != ((l->flags & HD_LINK_GIVES_BACK) != 0)) {
        l->shape = (uint16_t)head;
        l->site = hd_wire_site(tail);
        hd_link_begins_anew(l, gives_back, (uint32_t)(tail >> 32));
    } else {
        hd_link_missed(l, operand, distance, (uint32_t)(tail >> 32));
    }
    bool relative = (l->flags & HD_LINK_RELATIVE) != 0, either = (l->flags & HD_LINK_EITHER) != 0;
    if (relative) l->stride = operand;
    l->operand = depth || relative || either || gives_back ? HD_LINK_NOWHERE : operand + l->stride;
    l->distance = either ? operand : distance;
    e->before = link;
    e->at = --l->count != 0 ? l->next : hd_link_turn(l);
}

#endif
