/* A cache of properties, after Mozilla's (js_FlushPropertyCache, js_PropertyCacheFill): `empty`
 * says whether there is anything in `table`. Every function that fills or wipes the table keeps or
 * checks the flag, but one: cache_forget_shape. */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define SLOTS 64

struct entry {
    unsigned shape, id;
    int slot;
};

struct property_cache {
    struct entry *table[SLOTS];
    bool empty;
    unsigned generation;
};

static unsigned place(unsigned shape, unsigned id) { return (shape ^ id * 31) % SLOTS; }

void cache_fill(struct property_cache *cache, struct entry *entry) {
    cache->table[place(entry->shape, entry->id)] = entry;
    cache->empty = false;
}

void cache_fill_at(struct property_cache *cache, unsigned at, struct entry *entry) {
    if (at >= SLOTS) return;
    cache->table[at] = entry;
    cache->empty = false;
}

void cache_fill_pair(struct property_cache *cache, struct entry *one, struct entry *other) {
    cache->table[place(one->shape, one->id)] = one;
    cache->table[place(other->shape, other->id)] = other;
    cache->empty = false;
}

bool cache_fill_if_free(struct property_cache *cache, struct entry *entry) {
    unsigned at = place(entry->shape, entry->id);
    if (cache->table[at] != NULL) return false;
    cache->table[at] = entry;
    cache->empty = false;
    return true;
}

struct entry *cache_replace(struct property_cache *cache, struct entry *entry) {
    unsigned at = place(entry->shape, entry->id);
    struct entry *old = cache->table[at];
    cache->table[at] = entry;
    cache->empty = false;
    return old;
}

void cache_flush(struct property_cache *cache) {
    if (cache->empty) return;
    for (unsigned i = 0; i < SLOTS; i++) cache->table[i] = NULL;
    cache->empty = true;
}

void cache_flush_half(struct property_cache *cache) {
    if (cache->empty) return;
    for (unsigned i = 0; i < SLOTS; i += 2) cache->table[i] = NULL;
}

void cache_drop(struct property_cache *cache, unsigned shape, unsigned id) {
    if (!cache->empty) cache->table[place(shape, id)] = NULL;
}

void cache_drop_id(struct property_cache *cache, unsigned id) {
    if (cache->empty) return;
    for (unsigned i = 0; i < SLOTS; i++)
        if (cache->table[i] != NULL && cache->table[i]->id == id) cache->table[i] = NULL;
}

void cache_age(struct property_cache *cache) {
    cache->generation++;
    if (cache->generation % 8 != 0 || cache->empty) return;
    memset(cache->table, 0, sizeof cache->table);
    cache->empty = true;
}

struct entry *cache_find(const struct property_cache *cache, unsigned shape, unsigned id) {
    if (cache->empty) return NULL;
    struct entry *entry = cache->table[place(shape, id)];
    return entry != NULL && entry->shape == shape && entry->id == id ? entry : NULL;
}

unsigned cache_count(const struct property_cache *cache) {
    unsigned count = 0;
    if (cache->empty) return 0;
    for (unsigned i = 0; i < SLOTS; i++) count += cache->table[i] != NULL;
    return count;
}

void cache_compact(struct property_cache *cache) {
    unsigned used = 0;
    for (unsigned i = 0; i < SLOTS; i++)
        if (cache->table[i] != NULL) cache->table[used++] = cache->table[i];
    cache->empty = used == 0;
}

void cache_rehash(struct property_cache *cache, struct entry *const *from, unsigned count) {
    for (unsigned i = 0; i < count; i++) cache->table[place(from[i]->shape, from[i]->id)] = from[i];
    cache->empty = count == 0;
}

/* The violation: the table may have become empty, and the flag is neither set nor looked at. */
void cache_forget_shape(struct property_cache *cache, unsigned shape) {
    for (unsigned i = 0; i < SLOTS; i++) {
        if (cache->table[i] == NULL) continue;
        if (cache->table[i]->shape == shape) cache->table[i] = NULL;
    }
}
