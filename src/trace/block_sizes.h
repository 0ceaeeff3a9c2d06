/* How large the blocks of a trace are, by address: a FREE need not say it. */
#ifndef HEDDLE_TRACE_BLOCK_SIZES_H
#define HEDDLE_TRACE_BLOCK_SIZES_H

#include "base/map.h"
#include "base/vector.h"
#include "trace/wire.h"

/* A zeroed one is empty. */
struct hd_block_sizes {
    struct hd_map number; /* address -> index into bytes */
    HD_VECTOR(uint64_t) bytes;
};

/* An ALLOC. A block that stays in its place never gets smaller here: what it had is still its own
 * when it is freed. */
static inline void hd_block_sizes_alloc(struct hd_block_sizes *sizes, uint64_t address,
                                        unsigned flags, uint64_t bytes) {
    uint32_t fresh = (uint32_t)sizes->bytes.size;
    uint32_t at = *hd_map_slot(&sizes->number, address, fresh);
    if (at == fresh)
        hd_vector_push(&sizes->bytes, bytes);
    else if ((flags & HD_BLOCK_GROWN) == 0 || sizes->bytes.data[at] < bytes)
        sizes->bytes.data[at] = bytes;
}

/* What a FREE frees, which says so many bytes itself (0: nothing). */
static inline uint64_t hd_block_sizes_free(const struct hd_block_sizes *sizes, uint64_t address,
                                           uint64_t bytes) {
    uint32_t at = hd_map_get(&sizes->number, address, UINT32_MAX);
    return at != UINT32_MAX && sizes->bytes.data[at] > bytes ? sizes->bytes.data[at] : bytes;
}

static inline void hd_block_sizes_release(struct hd_block_sizes *sizes) {
    hd_map_free(&sizes->number);
    hd_vector_free(&sizes->bytes);
}

#endif
