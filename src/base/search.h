/* Binary search, once. */
#ifndef HEDDLE_BASE_SEARCH_H
#define HEDDLE_BASE_SEARCH_H

#include <stdint.h>

/* The first number i of [low, high) for which `before` does not hold; high if it holds for all.
 * `before` is an expression in `i`; it must hold for a first part of the range and for nothing
 * after it: uint32_t step = hd_first_not(i, first, end, position[i] < wanted); */
#define hd_first_not(i, low, high, before)                              \
    __extension__({                                                     \
        __typeof__((high) + 0) hd_low = (low), hd_high = (high);        \
        while (hd_low < hd_high) {                                      \
            __typeof__((high) + 0) i = hd_low + (hd_high - hd_low) / 2; \
            if (before)                                                 \
                hd_low = i + 1;                                         \
            else                                                        \
                hd_high = i;                                            \
        }                                                               \
        hd_low;                                                         \
    })

/* In an ascending list: how many numbers are below `value`, which is where it is or would be put.
 */
static inline uint32_t hd_lower_bound(const uint32_t *list, uint32_t count, uint32_t value) {
    return hd_first_not(i, 0, count, list[i] < value);
}
/* How many are not above it. */
static inline uint32_t hd_upper_bound(const uint32_t *list, uint32_t count, uint32_t value) {
    return hd_first_not(i, 0, count, list[i] <= value);
}

#endif
