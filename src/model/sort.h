/* Sorting numbers in linear time, and a set of numbers with fast predecessor search. Private to
 * src/model/. */
#ifndef HEDDLE_MODEL_SORT_H
#define HEDDLE_MODEL_SORT_H

#include <stddef.h>
#include <stdint.h>

struct hd_keyed {
    uint64_t key;
    uint32_t value;
};

/* Sorts by key, keeping the order of equal keys. */
void hd_sort_keyed(struct hd_keyed *entry, size_t count);
void hd_sort_numbers(uint64_t *number, size_t count);

/* A set of numbers below a limit: a tree of bits, 64 to a node. */
#define HD_RANKED_LEVELS 6
struct hd_ranked {
    uint64_t *level[HD_RANKED_LEVELS]; /* 0: the members; n+1: which words of n are not zero */
    unsigned levels;
};
void hd_ranked_init(struct hd_ranked *set, uint32_t limit);
void hd_ranked_add(struct hd_ranked *set, uint32_t member);
void hd_ranked_remove(struct hd_ranked *set, uint32_t member);
/* The largest member below `bound`, UINT32_MAX if there is none. */
uint32_t hd_ranked_below(const struct hd_ranked *set, uint32_t bound);
void hd_ranked_free(struct hd_ranked *set);

#endif
