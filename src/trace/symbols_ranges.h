/* Address ranges that nest (units, functions, inlined calls, symbols), and the innermost one around
 * an address. */
#ifndef HEDDLE_TRACE_SYMBOLS_RANGES_H
#define HEDDLE_TRACE_SYMBOLS_RANGES_H

#include <stdint.h>

struct hd_range {
    uint64_t lo, hi;
    uint32_t value;
    uint32_t outer; /* the range around this one, HD_NONE */
};

struct hd_ranges {
    struct hd_range *item;
    uint32_t count, capacity;
};

/* Empty ranges are left out. Of equal ranges the one with the larger value is the inner one. */
void hd_ranges_add(struct hd_ranges *ranges, uint64_t lo, uint64_t hi, uint32_t value);
/* To be called between the last add and the first find. */
void hd_ranges_finish(struct hd_ranges *ranges);
/* Index of the innermost range around the address, HD_NONE if there is none. */
uint32_t hd_ranges_find(const struct hd_ranges *ranges, uint64_t address);
void hd_ranges_free(struct hd_ranges *ranges);

#endif
