/* Bit sets: see bitset.h. */
#include "base/bitset.h"

#include "base/alloc.h"

#include <string.h>

void hd_bitset_reserve(struct hd_bitset *set, size_t limit) {
    size_t words = limit / 64 + (limit % 64 != 0);
    if (words <= set->words) return;
    if (words < set->words * 2) words = set->words * 2;
    set->word = hd_realloc(set->word, words, sizeof *set->word);
    memset(set->word + set->words, 0, (words - set->words) * sizeof *set->word);
    set->words = words;
}

void hd_bitset_add(struct hd_bitset *set, size_t member) {
    hd_bitset_reserve(set, member + 1);
    set->word[member / 64] |= (uint64_t)1 << member % 64;
}

size_t hd_bitset_count(const struct hd_bitset *set) {
    size_t count = 0;
    for (size_t i = 0; i < set->words; i++) count += (size_t)__builtin_popcountll(set->word[i]);
    return count;
}

size_t hd_bitset_next(const struct hd_bitset *set, size_t from) {
    size_t i = from / 64;
    if (i >= set->words) return SIZE_MAX;
    uint64_t word = set->word[i] & UINT64_MAX << from % 64;
    while (word == 0) {
        if (++i == set->words) return SIZE_MAX;
        word = set->word[i];
    }
    return i * 64 + (size_t)__builtin_ctzll(word);
}

void hd_bitset_free(struct hd_bitset *set) {
    free(set->word);
    memset(set, 0, sizeof *set);
}
