/* Lock sets: see locksets.h. */
#include "facts/locksets.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

void hd_locksets_init(struct hd_locksets *sets) {
    memset(sets, 0, sizeof *sets);
    sets->mask = 63;
    sets->slot = hd_zalloc(sets->mask + (size_t)1, sizeof *sets->slot);
    hd_vector_reserve(&sets->held, 16); /* room, so that the empty set has a place too */
    hd_locksets_number(sets, NULL, 0);
}

void hd_locksets_free(struct hd_locksets *sets) {
    hd_vector_free(&sets->set);
    hd_vector_free(&sets->held);
    free(sets->slot);
    sets->slot = NULL;
}

static void grow(struct hd_locksets *sets) {
    uint32_t mask = sets->mask * 2 + 1;
    uint32_t *slot = hd_zalloc(mask + (size_t)1, sizeof *slot);
    for (uint32_t i = 0; i < sets->set.size; i++) {
        uint32_t at = (uint32_t)sets->set.data[i].hash & mask;
        while (slot[at] != 0) at = (at + 1) & mask;
        slot[at] = i + 1;
    }
    free(sets->slot);
    sets->slot = slot;
    sets->mask = mask;
}

static int compare_held(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

uint32_t hd_locksets_number(struct hd_locksets *sets, uint32_t *held, uint32_t count) {
    if (count > 1) qsort(held, count, sizeof *held, compare_held);
    uint64_t hash = count == 0 ? 0 : XXH3_64bits(held, count * sizeof *held);
    uint32_t at = (uint32_t)hash & sets->mask;
    for (; sets->slot[at] != 0; at = (at + 1) & sets->mask) {
        const struct hd_lockset *set = &sets->set.data[sets->slot[at] - 1];
        if (set->hash == hash && set->count == count &&
            (count == 0 || memcmp(sets->held.data + set->start, held, count * sizeof *held) == 0))
            return sets->slot[at] - 1;
    }
    struct hd_lockset set = {.start = (uint32_t)sets->held.size, .count = count, .hash = hash};
    for (uint32_t i = 0; i < count; i++) {
        uint64_t bit = (uint64_t)1 << (held[i] / 2 % 64);
        set.any |= bit;
        if (held[i] % 2 == 0) set.writing |= bit;
        hd_vector_push(&sets->held, held[i]);
    }
    hd_vector_push(&sets->set, set);
    sets->slot[at] = (uint32_t)sets->set.size;
    if (sets->set.size * 2 > sets->mask) grow(sets);
    return (uint32_t)sets->set.size - 1;
}

bool hd_locksets_exclude_slow(const struct hd_locksets *sets, uint32_t a, uint32_t b) {
    const struct hd_lockset *left = &sets->set.data[a], *right = &sets->set.data[b];
    const uint32_t *held = sets->held.data;
    uint32_t i = 0, k = 0;
    while (i < left->count && k < right->count) {
        uint32_t mine = held[left->start + i], its = held[right->start + k];
        if (mine / 2 < its / 2)
            i++;
        else if (mine / 2 > its / 2)
            k++;
        else if (mine % 2 == 0 || its % 2 == 0)
            return true;
        else { /* both for reading; one of them may hold it for writing too, listed before */
            i++;
            k++;
        }
    }
    return false;
}
