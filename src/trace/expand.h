/* Puts events that came as expected (expect.h) back into a stream. */
#ifndef HEDDLE_TRACE_EXPAND_H
#define HEDDLE_TRACE_EXPAND_H

#include "trace/loop.h"
#include "trace/token.h"

struct hd_expand;
struct hd_expand *hd_expand_new(void);
void hd_expand_free(struct hd_expand *expand);

/* Where a stream is. */
struct hd_expand_at {
    uint32_t thread; /* whose events follow */
    uint64_t met;    /* events to put in before the next stored one */
    bool counted;    /* `met` was taken from that one already */
    uint64_t stamp;  /* the latest */
    uint64_t stored; /* events that had a record so far */
};

/* Events that come round by round, after those in `out`; none if `rounds` is 0. */
struct hd_expand_loop {
    size_t length;
    uint64_t rounds;
    struct hd_loop_event body[HD_LOOP_LENGTH];
};

/* Takes records of one stream, up to a STAMP or their end, and makes at most `room` events of them.
 * *taken says how many bytes were taken; what is made of the next record may be in `out` in part.
 * Records are untrusted: *good is false if one is no record, or something is to be put in where
 * nothing was expected. With `loop`, what is put in many times is not in `out` but there, and comes
 * after it. */
size_t hd_expand_records(struct hd_expand *expand, struct hd_expand_at *at, const uint8_t *record,
                         size_t length, size_t *taken, struct hd_wire_event *out, size_t room,
                         struct hd_expand_loop *loop, bool *good);

/* Is the next record a STAMP, and all in that comes before it? Whoever takes that calls
 * hd_expand_stamp. */
bool hd_expand_at_stamp(const struct hd_expand_at *at, const uint8_t *record, size_t length);
uint64_t hd_expand_stamp(struct hd_expand_at *at, const uint8_t *record, size_t length,
                         size_t *taken);

#endif
