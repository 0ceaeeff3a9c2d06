/* A hash map with open addressing, at most half full: see map.h. */
#include "base/map.h"

#include "base/alloc.h"

#include <string.h>

static struct hd_map_entry *find(const struct hd_map *map, uint64_t key) {
    uint32_t at = (uint32_t)hd_mix64(key) & map->mask;
    while (map->entry[at].used && map->entry[at].key != key) at = (at + 1) & map->mask;
    return &map->entry[at];
}

uint32_t hd_map_get(const struct hd_map *map, uint64_t key, uint32_t missing) {
    if (map->entry == NULL) return missing;
    const struct hd_map_entry *entry = find(map, key);
    return entry->used ? entry->value : missing;
}

static void grow(struct hd_map *map) {
    uint64_t slots = map->entry == NULL ? 16 : ((uint64_t)map->mask + 1) * 2;
    if (slots > (uint64_t)1 << 31) hd_out_of_memory();
    struct hd_map larger = {.entry = hd_zalloc(slots, sizeof *larger.entry),
                            .mask = (uint32_t)(slots - 1),
                            .count = map->count};
    if (map->entry != NULL) {
        for (uint64_t i = 0; i <= map->mask; i++) {
            if (map->entry[i].used) *find(&larger, map->entry[i].key) = map->entry[i];
        }
    }
    free(map->entry);
    *map = larger;
}

uint32_t *hd_map_slot(struct hd_map *map, uint64_t key, uint32_t initial) {
    if (map->entry == NULL) grow(map);
    struct hd_map_entry *entry = find(map, key);
    if (entry->used) return &entry->value;
    if (map->count >= (map->mask + 1) / 2) {
        grow(map);
        entry = find(map, key);
    }
    *entry = (struct hd_map_entry){.key = key, .value = initial, .used = 1};
    map->count++;
    return &entry->value;
}

void hd_map_free(struct hd_map *map) {
    free(map->entry);
    memset(map, 0, sizeof *map);
}
