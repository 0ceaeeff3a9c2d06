/* String interning: see intern.h. Strings of up to 16 bytes, which is nearly all of them, are
 * compared inside the table without touching their copies. */
#include "base/intern.h"

#include "base/alloc.h"

#include <string.h>
#include <xxhash.h>

uint64_t hd_intern_hash_long(const char *bytes, size_t length) {
    return XXH3_64bits(bytes, length);
}

static inline struct hd_intern_entry *find(const struct hd_intern *table, struct hd_intern_key key,
                                           const char *bytes, size_t length) {
    for (uint32_t at = (uint32_t)key.hash & table->mask;; at = (at + 1) & table->mask) {
        struct hd_intern_entry *entry = &table->entry[at];
        if (entry->length == 0) return entry;
        if (entry->length != length + 1 || entry->first != key.first || entry->second != key.second)
            continue;
        if (length <= 16 || memcmp(table->name.data[entry->id], bytes, length) == 0) return entry;
    }
}

static void grow(struct hd_intern *table) {
    uint64_t slots = table->entry == NULL ? 64 : ((uint64_t)table->mask + 1) * 2;
    if (slots > (uint64_t)1 << 31) hd_out_of_memory();
    struct hd_intern_entry *larger = hd_zalloc(slots, sizeof *larger);
    struct hd_intern_entry *old = table->entry;
    uint64_t old_slots = old == NULL ? 0 : (uint64_t)table->mask + 1;
    table->entry = larger;
    table->mask = (uint32_t)(slots - 1);
    for (uint64_t i = 0; i < old_slots; i++) {
        if (old[i].length == 0) continue;
        const char *name = table->name.data[old[i].id];
        struct hd_intern_key key = hd_intern_key(name, old[i].length - 1);
        *find(table, key, name, old[i].length - 1) = old[i];
    }
    free(old);
}

uint32_t hd_intern_keyed(struct hd_intern *table, struct hd_intern_key key, const char *bytes,
                         size_t length) {
    if (length >= UINT32_MAX) hd_out_of_memory();
    if (table->entry == NULL) grow(table);
    struct hd_intern_entry *entry = find(table, key, bytes, length);
    if (entry->length != 0) return entry->id;
    if (table->name.size >= (table->mask + 1) / 2) {
        grow(table);
        entry = find(table, key, bytes, length);
    }
    char *copy = hd_arena_copy(&table->arena, bytes, length);
    *entry = (struct hd_intern_entry){.first = key.first,
                                      .second = key.second,
                                      .length = (uint32_t)length + 1,
                                      .id = (uint32_t)table->name.size};
    hd_vector_push(&table->name, copy);
    return entry->id;
}

uint32_t hd_intern(struct hd_intern *table, const char *bytes, size_t length) {
    return hd_intern_keyed(table, hd_intern_key(bytes, length), bytes, length);
}

uint32_t hd_intern_find_keyed(const struct hd_intern *table, struct hd_intern_key key,
                              const char *bytes, size_t length) {
    if (table->entry == NULL || length >= UINT32_MAX) return HD_INTERN_NONE;
    const struct hd_intern_entry *entry = find(table, key, bytes, length);
    return entry->length != 0 ? entry->id : HD_INTERN_NONE;
}

uint32_t hd_intern_find(const struct hd_intern *table, const char *bytes, size_t length) {
    return hd_intern_find_keyed(table, hd_intern_key(bytes, length), bytes, length);
}

void hd_intern_free(struct hd_intern *table) {
    free(table->entry);
    hd_arena_free(&table->arena);
    hd_vector_free(&table->name);
    memset(table, 0, sizeof *table);
}
