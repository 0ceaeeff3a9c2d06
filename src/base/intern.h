/* Strings made small: equal strings get the same number, numbers count from 0 in the order of first
 * appearance. */
#ifndef HEDDLE_BASE_INTERN_H
#define HEDDLE_BASE_INTERN_H

#include "base/arena.h"
#include "base/vector.h"

#include <stdint.h>
#include <string.h>

#define HD_INTERN_NONE UINT32_MAX

struct hd_intern_entry {
    uint64_t first, second; /* short strings: their bytes; long ones: hash and 0 */
    uint32_t length;        /* plus one; 0 = empty slot */
    uint32_t id;
};

/* A zeroed table is an empty one. The names are NUL-terminated copies in the arena. */
struct hd_intern {
    struct hd_intern_entry *entry;
    uint32_t mask;
    struct hd_arena arena;
    HD_VECTOR(char *) name;
};

/* The number of a string. */
uint32_t hd_intern(struct hd_intern *table, const char *bytes, size_t length);
/* The same without adding it: HD_INTERN_NONE if it is not there. */
uint32_t hd_intern_find(const struct hd_intern *table, const char *bytes, size_t length);
void hd_intern_free(struct hd_intern *table);

/* The same in steps, for callers with many strings at hand: large tables are slow because of cache
 * misses, and those can be taken all at once. */
struct hd_intern_key {
    uint64_t first, second, hash;
};
uint64_t hd_intern_hash_long(const char *bytes, size_t length);
/* For 8 to 16 bytes the two words overlap; together with the length they still determine the
 * string. */
static inline struct hd_intern_key hd_intern_key(const char *bytes, size_t length) {
    struct hd_intern_key key = {0};
    if (length > 16) {
        key.first = key.hash = hd_intern_hash_long(bytes, length);
        return key;
    }
    if (length >= 8) {
        memcpy(&key.first, bytes, 8);
        memcpy(&key.second, bytes + length - 8, 8);
    } else if (length >= 4) {
        uint32_t low, high;
        memcpy(&low, bytes, 4);
        memcpy(&high, bytes + length - 4, 4);
        key.first = low | (uint64_t)high << 32;
    } else if (length > 0) {
        key.first = (uint8_t)bytes[0] | (uint64_t)(uint8_t)bytes[length / 2] << 8 |
                    (uint64_t)(uint8_t)bytes[length - 1] << 16;
    }
    uint64_t hash = (key.first ^ (uint64_t)length * ((uint64_t)1 << 56)) * 0x9e3779b97f4a7c15ull;
    hash = (hash ^ hash >> 32 ^ key.second) * 0xd6e8feb86659fd93ull;
    key.hash = hash ^ hash >> 32;
    return key;
}

uint32_t hd_intern_keyed(struct hd_intern *table, struct hd_intern_key key, const char *bytes,
                         size_t length);
uint32_t hd_intern_find_keyed(const struct hd_intern *table, struct hd_intern_key key,
                              const char *bytes, size_t length);
static inline void hd_intern_prefetch(const struct hd_intern *table, struct hd_intern_key key) {
    if (table->entry != NULL) __builtin_prefetch(&table->entry[(uint32_t)key.hash & table->mask]);
}

#endif
