/* Events on their way from the thread that makes them to the one that takes them: batches, of which
 * there are a few, so that memory is bounded. */
#ifndef HEDDLE_TRACE_HANDOVER_H
#define HEDDLE_TRACE_HANDOVER_H

#include "trace/expand.h"

enum {
    HD_BATCH_EVENTS = 8192,
    HD_BATCH_LEAST = 4096,
    HD_BATCH_ITEMS = 1024, /* many, since most loops are short */
    HD_BATCH_LOOP_BYTES = 1 << 17
};

/* Events of one stream, and a loop that comes after them. */
struct hd_batch_item {
    uint32_t stream, chunk; /* where they are from */
    uint32_t first, count;
    uint64_t raw_events;         /* decoded until then */
    struct hd_expand_loop *loop; /* NULL: none */
    bool cut;                    /* what was to come after them can't be made */
};
struct hd_batch {
    uint32_t events, items, loop_bytes;
    struct hd_batch_item item[HD_BATCH_ITEMS];
    struct hd_wire_event event[HD_BATCH_EVENTS];
    /* one after the other, without what their bodies do not use */
    _Alignas(struct hd_expand_loop) uint8_t loop[HD_BATCH_LOOP_BYTES];
};

struct hd_handover;
struct hd_handover *hd_handover_new(void);
void hd_handover_free(struct hd_handover *handover);

/* The maker's side. A batch with room for an item of HD_BATCH_LEAST events and a loop; NULL if the
 * taker wants no more. */
struct hd_batch *hd_handover_room(struct hd_handover *handover);
/* Where the next loop is to be made, and that it was. */
static inline struct hd_expand_loop *hd_batch_loop(struct hd_batch *batch) {
    return (struct hd_expand_loop *)(void *)(batch->loop + batch->loop_bytes);
}
static inline void hd_batch_add_loop(struct hd_batch *batch, size_t length) {
    size_t bytes = offsetof(struct hd_expand_loop, body) + length * sizeof(struct hd_loop_event);
    batch->loop_bytes += (uint32_t)bytes;
}
/* Waits until all is taken; false if the taker wants no more. */
bool hd_handover_drain(struct hd_handover *handover);
void hd_handover_end(struct hd_handover *handover);

/* The taker's side. The next batch, which is its own until it asks for another; NULL after the
 * last. */
const struct hd_batch *hd_handover_next(struct hd_handover *handover);
/* It wants no more; those that still come are to be passed over. */
void hd_handover_refuse(struct hd_handover *handover);

#endif
