/* What packer and unpacker must agree on: the predictors, how they learn, and what a token says.
 * Both sides run the same code on the same events, so that the state never has to be stored.
 *
 * Events that share kind, flags and site are of one shape. A shape remembers which shapes came
 * after it, with which counts, and how its operand moved; an event that goes as predicted is the
 * token 0. */
#ifndef HEDDLE_TRACE_PACK_STATE_H
#define HEDDLE_TRACE_PACK_STATE_H

#include "trace/pack.h"

#include <string.h>

/* The token of an event: bits 0-1 say where its shape comes from, bit 2 that its counts are given,
 * bits 4-7 where its operand comes from. */
enum { SHAPE_NEXT = 0, SHAPE_SECOND, SHAPE_KNOWN, SHAPE_NEW };
enum { TOKEN_SHAPE = 3, TOKEN_COUNTS = 4, TOKEN_UNUSED = 8, TOKEN_OPERAND_SHIFT = 4 };
enum {
    OPERAND_STRIDE = 0, /* last of the shape + its stride */
    OPERAND_OTHER,      /* last of the shape + its other stride */
    OPERAND_RELATIVE,   /* as far from the previous operand as last time */
    OPERAND_RECENT,     /* slot of the small table of recent operands */
    OPERAND_OLDER,      /* slot of the large one */
    OPERAND_LAST_1,     /* distance from the shape's last operand in 1 .. 4 bytes */
    OPERAND_LAST_2,
    OPERAND_LAST_3,
    OPERAND_LAST_4,
    OPERAND_BASE_1, /* distance from the previous operand in 1 .. 3 bytes */
    OPERAND_BASE_2,
    OPERAND_BASE_3,
    OPERAND_WHOLE, /* all 6 bytes */
    OPERAND_WAYS
};

/* Columns in the order in which they are stored. The distances are split by byte, low ones first.
 */
enum {
    COLUMN_TOKEN = 0,
    COLUMN_SHAPE_LOW,
    COLUMN_SHAPE_HIGH,
    COLUMN_NEW,       /* kind, flags and 4 bytes of site of new shapes */
    COLUMN_CALLS_LOW, /* counts that were not as predicted */
    COLUMN_CALLS_HIGH,
    COLUMN_BRANCHES_LOW,
    COLUMN_BRANCHES_HIGH,
    COLUMN_RECENT,
    COLUMN_OLDER_LOW,
    COLUMN_OLDER_HIGH,
    COLUMN_BYTE_0,
    COLUMN_BYTE_5 = COLUMN_BYTE_0 + 5,
    COLUMNS
};
enum { NEW_SHAPE_BYTES = 6 };

#define OPERAND_MASK 0xffffffffffffull
#define FIRST_COUNTS 1u /* one hook call, no branch: what a new shape is expected to have */

enum { RECENT_BITS = 8, OLDER_BITS = 12, CONTEXTS = 256, BASES = 8 };

struct shape {
    _Alignas(64) uint64_t key; /* kind, flags and site */
    uint64_t last;
    uint64_t stride, other; /* modulo 2^48 */
    uint64_t relative;      /* operand - previous operand of its group */
    uint16_t next[2];       /* shapes that came after it; 0 = none */
    uint32_t next_counts[2];
    uint32_t counts;
};

/* Where a thread left off, for streams that several threads share. */
struct pack_context {
    uint64_t base;
    uint16_t previous;
};

struct pack_state {
    uint32_t shapes; /* in use, shape 0 included, which stands before the first event */
    uint16_t previous;
    uint16_t thread; /* modulo CONTEXTS */
    uint64_t base[BASES];
    struct pack_context context[CONTEXTS];
    uint64_t recent[1 << RECENT_BITS];
    uint64_t older[1 << OLDER_BITS];
    struct shape shape[HD_PACK_EVENTS + 1];
};

static inline uint64_t shape_key(uint64_t head, uint64_t tail) {
    return (head & 0xffff) | (uint64_t)(uint32_t)tail << 16;
}

/* Operands of one group are likely to be near each other: addresses; thread numbers; and so on. */
static inline unsigned operand_group(uint64_t key) {
    unsigned kind = key & 0xff;
    if (kind < HD_EV_THREAD) return kind >= HD_EV_FORK && kind <= HD_EV_END ? 1 : 0;
    return kind <= HD_EV_POP ? 2 + (kind - HD_EV_THREAD > 4 ? 4 : kind - HD_EV_THREAD) : 1;
}
_Static_assert(HD_EV_POP - HD_EV_THREAD == 5, "PUSH and POP share the last group, call depths");
_Static_assert(2 + 4 < BASES, "every group has its base");

static inline void state_reset(struct pack_state *s) {
    s->shapes = 1;
    s->previous = 0;
    s->thread = 0;
    memset(s->base, 0, sizeof s->base);
    memset(s->context, 0, sizeof s->context);
    memset(s->recent, 0, sizeof s->recent);
    memset(s->older, 0, sizeof s->older);
    memset(&s->shape[0], 0, sizeof s->shape[0]);
    s->shape[0].key = UINT64_MAX; /* no event's */
}

static inline void shape_init(struct shape *shape, uint64_t key) {
    memset(shape, 0, sizeof *shape);
    shape->key = key;
    shape->counts = FIRST_COUNTS;
}

static inline unsigned recent_slot(uint64_t operand) {
    return (unsigned)(operand * 0x9e3779b97f4a7c15ull >> (64 - RECENT_BITS));
}
static inline unsigned older_slot(uint64_t operand) {
    return (unsigned)(operand * 0x9e3779b97f4a7c15ull >> (64 - OLDER_BITS));
}
static inline void remember(struct pack_state *s, uint64_t operand) {
    s->recent[recent_slot(operand)] = operand;
    s->older[older_slot(operand)] = operand;
}

/* Counts are packed as calls in the lower half and branches in the upper one; of a PUSH, what else
 * stands there (wire.h). */
static inline uint32_t pack_counts(uint64_t head, uint64_t tail) {
    if (hd_wire_kind(head) == HD_EV_PUSH) return (uint32_t)(tail >> 32);
    return hd_wire_calls(tail) | hd_wire_branches(tail) << 16;
}
static inline uint32_t unpack_counts(uint64_t head, uint32_t counts) {
    if (hd_wire_kind(head) == HD_EV_PUSH) return counts;
    return hd_counts(counts & 0xffff, counts >> 16);
}

/* Learns from an event of shape `now` that came after s->previous, unless it was its `next[0]`. */
static inline void learn_order(struct shape *before, uint16_t now, uint32_t counts) {
    if (before->next[0] == 0) {
        before->next[0] = now;
        before->next_counts[0] = counts;
    } else if (before->next[1] == now) {
        before->next[1] = before->next[0];
        before->next_counts[1] = before->next_counts[0];
        before->next[0] = now;
        before->next_counts[0] = counts;
    } else {
        before->next[1] = now;
        before->next_counts[1] = counts;
    }
}

/* Learns an operand that was not where the stride led. */
static inline void learn_stride(struct shape *shape, uint64_t operand) {
    uint64_t step = (operand - shape->last) & OPERAND_MASK;
    uint64_t old = shape->stride;
    if (step == shape->other)
        shape->stride = step, shape->other = old;
    else
        shape->other = step;
}

/* A THREAD event: what comes next continues where that thread left off. */
static inline void switch_thread(struct pack_state *s, uint64_t operand) {
    s->context[s->thread] = (struct pack_context){.base = s->base[0], .previous = s->previous};
    s->thread = operand % CONTEXTS;
    s->base[0] = s->context[s->thread].base;
    s->previous = s->context[s->thread].previous;
}

/* Shapes without a site say little about what comes next: each is told apart by what came before.
 */
static inline uint32_t shape_context(uint64_t key, uint16_t previous) {
    return key >> 16 == 0 && (key & 0xff) != HD_EV_THREAD ? previous + 1u : 0;
}

#endif
