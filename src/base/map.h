/* A hash map from 64-bit keys to 32-bit values; keys are never removed. */
#ifndef HEDDLE_BASE_MAP_H
#define HEDDLE_BASE_MAP_H

#include <stdint.h>

struct hd_map_entry {
    uint64_t key;
    uint32_t value;
    uint32_t used;
};

/* A zeroed map is an empty one. */
struct hd_map {
    struct hd_map_entry *entry;
    uint32_t mask; /* slots - 1 */
    uint32_t count;
};

uint32_t hd_map_get(const struct hd_map *map, uint64_t key, uint32_t missing);
/* The value of a key, put in as `initial` if it is new; valid until the next call. */
uint32_t *hd_map_slot(struct hd_map *map, uint64_t key, uint32_t initial);
void hd_map_free(struct hd_map *map);

/* Spreads the bits of a key over all 64. */
static inline uint64_t hd_mix64(uint64_t key) {
    key = (key ^ key >> 32) * 0xd6e8feb86659fd93ull;
    key = (key ^ key >> 32) * 0xd6e8feb86659fd93ull;
    return key ^ key >> 32;
}

#endif
