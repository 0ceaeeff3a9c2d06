/* Radix sort and bit tree: see sort.h. */
#include "model/sort.h"

#include "base/alloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11
#define DIGIT_VALUES (1u << DIGIT_BITS)
#define SMALL 48 /* up to here insertion sort is faster */

void hd_sort_keyed(struct hd_keyed *entry, size_t count) {
    uint64_t all = 0, common = ~(uint64_t)0;
    bool sorted = true;
    for (size_t i = 0; i < count; i++) {
        all |= entry[i].key;
        common &= entry[i].key;
        if (i > 0 && entry[i].key < entry[i - 1].key) sorted = false;
    }
    if (sorted) return;
    if (count <= SMALL) {
        for (size_t i = 1; i < count; i++) {
            struct hd_keyed moved = entry[i];
            size_t j = i;
            for (; j > 0 && entry[j - 1].key > moved.key; j--) entry[j] = entry[j - 1];
            entry[j] = moved;
        }
        return;
    }
    struct hd_keyed *other = hd_alloc(count, sizeof *other), *source = entry, *target = other;
    size_t *start = hd_alloc(DIGIT_VALUES, sizeof *start);
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        /* A digit that all keys share needs no pass: addresses differ in few of theirs. */
        if (((all ^ common) >> shift & (DIGIT_VALUES - 1)) == 0) continue;
        memset(start, 0, DIGIT_VALUES * sizeof *start);
        for (size_t i = 0; i < count; i++) start[source[i].key >> shift & (DIGIT_VALUES - 1)]++;
        size_t sum = 0;
        for (size_t d = 0; d < DIGIT_VALUES; d++) {
            size_t here = start[d];
            start[d] = sum;
            sum += here;
        }
        for (size_t i = 0; i < count; i++)
            target[start[source[i].key >> shift & (DIGIT_VALUES - 1)]++] = source[i];
        struct hd_keyed *swap = source;
        source = target;
        target = swap;
    }
    if (source != entry) memcpy(entry, source, count * sizeof *entry);
    free(other);
    free(start);
}

void hd_sort_numbers(uint64_t *number, size_t count) {
    bool sorted = true;
    for (size_t i = 1; i < count && sorted; i++) sorted = number[i - 1] <= number[i];
    if (sorted) return;
    if (count <= SMALL) {
        for (size_t i = 1; i < count; i++) {
            uint64_t moved = number[i];
            size_t j = i;
            for (; j > 0 && number[j - 1] > moved; j--) number[j] = number[j - 1];
            number[j] = moved;
        }
        return;
    }
    struct hd_keyed *entry = hd_alloc(count, sizeof *entry);
    for (size_t i = 0; i < count; i++) entry[i] = (struct hd_keyed){number[i], 0};
    hd_sort_keyed(entry, count);
    for (size_t i = 0; i < count; i++) number[i] = entry[i].key;
    free(entry);
}

void hd_ranked_init(struct hd_ranked *set, uint32_t limit) {
    *set = (struct hd_ranked){0};
    size_t words = limit;
    do {
        words = words / 64 + 1;
        set->level[set->levels++] = hd_zalloc(words, sizeof(uint64_t));
    } while (words > 1);
}

void hd_ranked_add(struct hd_ranked *set, uint32_t member) {
    for (unsigned l = 0; l < set->levels; l++) {
        uint64_t *word = &set->level[l][member / 64];
        uint64_t before = *word;
        *word = before | (uint64_t)1 << member % 64;
        if (before != 0) return;
        member /= 64;
    }
}

void hd_ranked_remove(struct hd_ranked *set, uint32_t member) {
    for (unsigned l = 0; l < set->levels; l++) {
        uint64_t *word = &set->level[l][member / 64];
        *word &= ~((uint64_t)1 << member % 64);
        if (*word != 0) return;
        member /= 64;
    }
}

uint32_t hd_ranked_below(const struct hd_ranked *set, uint32_t bound) {
    for (unsigned l = 0; l < set->levels; l++) {
        uint64_t below = set->level[l][bound / 64] & (((uint64_t)1 << bound % 64) - 1);
        bound /= 64;
        if (below == 0) continue;
        uint32_t found = bound * 64 + (63 - (uint32_t)__builtin_clzll(below));
        while (l-- > 0) found = found * 64 + (63 - (uint32_t)__builtin_clzll(set->level[l][found]));
        return found;
    }
    return UINT32_MAX;
}

void hd_ranked_free(struct hd_ranked *set) {
    for (unsigned l = 0; l < set->levels; l++) free(set->level[l]);
    *set = (struct hd_ranked){0};
}
