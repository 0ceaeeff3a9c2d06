/* A set of small numbers as bits; grows when a member beyond its end is added. */
#ifndef HEDDLE_BASE_BITSET_H
#define HEDDLE_BASE_BITSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A zeroed set is an empty one. */
struct hd_bitset {
    uint64_t *word;
    size_t words;
};

/* Makes room for members below `limit`. */
void hd_bitset_reserve(struct hd_bitset *set, size_t limit);
void hd_bitset_add(struct hd_bitset *set, size_t member);
size_t hd_bitset_count(const struct hd_bitset *set);
/* The smallest member >= from, SIZE_MAX if there is none. */
size_t hd_bitset_next(const struct hd_bitset *set, size_t from);
void hd_bitset_free(struct hd_bitset *set);

static inline bool hd_bitset_has(const struct hd_bitset *set, size_t member) {
    return member / 64 < set->words && (set->word[member / 64] >> member % 64 & 1) != 0;
}
static inline void hd_bitset_remove(struct hd_bitset *set, size_t member) {
    if (member / 64 < set->words) set->word[member / 64] &= ~((uint64_t)1 << member % 64);
}

#endif
