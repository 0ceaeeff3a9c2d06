/* Events that a thread repeats, each with an operand that goes on by a stride: what comes out of a
 * stream of expected events (expect.h), and goes on as one thing where that is cheaper. */
#ifndef HEDDLE_TRACE_LOOP_H
#define HEDDLE_TRACE_LOOP_H

#include "trace/wire.h"

#include <stdbool.h>
#include <stddef.h>

struct hd_loop_event {
    struct hd_wire_event event; /* of the present round */
    uint64_t stride;            /* added to the operand, not the head, after each round */
};

#define HD_LOOP_LENGTH 256u /* longer ones are handled event by event */
#define HD_OPERAND_MASK (((uint64_t)1 << 48) - 1)

/* A stride, or the difference of two operands, with its sign. */
static inline int64_t hd_loop_signed(uint64_t stride) { return (int64_t)(stride << 16) >> 16; }

static inline void hd_loop_advance(struct hd_loop_event *body, size_t length, uint64_t rounds) {
    for (size_t i = 0; i < length; i++) body[i].event.head += (body[i].stride * rounds) << 16;
}

/* Writes rounds out; the loop goes on after them. */
static inline void hd_loop_unroll(struct hd_loop_event *body, size_t length, size_t rounds,
                                  struct hd_wire_event *out) {
    for (size_t r = 0; r < rounds; r++)
        for (size_t i = 0; i < length; i++) {
            *out++ = body[i].event;
            body[i].event.head += body[i].stride << 16;
        }
}

/* An access that says its size itself. */
static inline bool hd_loop_is_access(const struct hd_loop_event *e) {
    unsigned kind = hd_wire_kind(e->event.head);
    return (kind == HD_EV_READ || kind == HD_EV_WRITE) && hd_wire_flags(e->event.head) != 0;
}

/* A function that is entered or left, at the same depth in each round. */
static inline bool hd_loop_is_call(const struct hd_loop_event *e) {
    unsigned kind = hd_wire_kind(e->event.head);
    return (kind == HD_EV_PUSH || kind == HD_EV_POP) && hd_loop_signed(e->stride) == 0;
}

/* How many of the accesses from an address on, each a stride further, begin in the same page of so
 * many bytes (a power of two); at most `limit`. */
static inline uint64_t hd_loop_in_page(uint64_t address, int64_t stride, uint64_t page_bytes,
                                       uint64_t limit) {
    uint64_t offset = address & (page_bytes - 1), count;
    if (stride == 0) return limit;
    if (stride > 0)
        count = (page_bytes - offset + (uint64_t)stride - 1) / (uint64_t)stride;
    else
        count = offset / (0 - (uint64_t)stride) + 1;
    return count < limit ? count : limit;
}

/* Do all accesses of a range lie in one word of 8 bytes each? */
static inline bool hd_loop_in_words(uint64_t address, int64_t stride, unsigned bytes) {
    if (stride % 8 == 0) return (address & 7) + bytes <= 8;
    return bytes <= 8 && (bytes & (bytes - 1)) == 0 && ((address | (uint64_t)stride) % bytes) == 0;
}

#endif
