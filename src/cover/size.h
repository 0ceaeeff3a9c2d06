/* Sizes of property sets: exact as long as they are of use as numbers (up to 28 digits), powers of
 * ten beyond. */
#ifndef HEDDLE_COVER_SIZE_H
#define HEDDLE_COVER_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hd_size {
    bool exact;
    unsigned __int128 value; /* if exact */
    double log10;            /* otherwise, or always; -INFINITY for 0 */
};

struct hd_size hd_size_of(uint64_t value);
/* How many ways there are to interleave sequences of these lengths. */
struct hd_size hd_size_interleavings(const uint64_t *length, size_t count);
struct hd_size hd_size_add(struct hd_size a, struct hd_size b);
struct hd_size hd_size_times(struct hd_size a, uint64_t times);

/* "63063000"; beyond 20 digits "1.27 * 10^42". */
#define HD_SIZE_TEXT 64
void hd_size_text(struct hd_size size, char text[HD_SIZE_TEXT]);

#endif
