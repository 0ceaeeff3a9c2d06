/* Lists of numbers, sorted. */
#ifndef HEDDLE_MINE_NUMBERS_H
#define HEDDLE_MINE_NUMBERS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static inline int hd_compare_numbers(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

static inline void hd_sort_numbers(uint32_t *list, size_t size) {
    if (size > 1) qsort(list, size, sizeof *list, hd_compare_numbers);
}

#endif
