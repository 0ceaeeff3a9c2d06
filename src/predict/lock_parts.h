/* Strongly connected parts of a directed graph (Tarjan): where cycles can be. */
#ifndef HEDDLE_PREDICT_LOCK_PARTS_H
#define HEDDLE_PREDICT_LOCK_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hd_lock_parts {
    uint32_t *part; /* per node; UINT32_MAX if it is on no cycle */
    uint32_t nodes;
    bool any; /* there is a cycle */
};

/* Edges as from << 32 | to. */
void hd_lock_parts_build(struct hd_lock_parts *parts, const uint64_t *edge, size_t edges,
                         uint32_t nodes);
void hd_lock_parts_free(struct hd_lock_parts *parts);

static inline bool hd_lock_parts_cyclic(const struct hd_lock_parts *parts, uint32_t node) {
    return parts->part[node] != UINT32_MAX;
}
static inline bool hd_lock_parts_share(const struct hd_lock_parts *parts, uint32_t a, uint32_t b) {
    return parts->part[a] != UINT32_MAX && parts->part[a] == parts->part[b];
}

#endif
