/* Nested address ranges: sorted once, found by binary search and a walk outwards. */
#include "trace/symbols_ranges.h"

#include "trace/symbols_pool.h"
#include "trace/trace.h"

#include <stdlib.h>

void hd_ranges_add(struct hd_ranges *ranges, uint64_t lo, uint64_t hi, uint32_t value) {
    if (lo >= hi) return;
    ranges->item =
        hd_pool_grow(ranges->item, ranges->count, &ranges->capacity, sizeof *ranges->item);
    ranges->item[ranges->count++] = (struct hd_range){lo, hi, value, HD_NONE};
}

static int outer_first(const void *left, const void *right) {
    const struct hd_range *a = left, *b = right;
    if (a->lo != b->lo) return a->lo < b->lo ? -1 : 1;
    if (a->hi != b->hi) return a->hi > b->hi ? -1 : 1;
    return (a->value > b->value) - (a->value < b->value);
}

void hd_ranges_finish(struct hd_ranges *ranges) {
    if (!ranges->count) return;
    qsort(ranges->item, ranges->count, sizeof *ranges->item, outer_first);
    uint32_t open = HD_NONE; /* innermost range that reaches the present one */
    for (uint32_t i = 0; i < ranges->count; i++) {
        while (open != HD_NONE && ranges->item[open].hi <= ranges->item[i].lo)
            open = ranges->item[open].outer;
        ranges->item[i].outer = open;
        open = i;
    }
}

uint32_t hd_ranges_find(const struct hd_ranges *ranges, uint64_t address) {
    uint32_t lo = 0, hi = ranges->count;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (ranges->item[middle].lo <= address)
            lo = middle + 1;
        else
            hi = middle;
    }
    uint32_t at = lo ? lo - 1 : HD_NONE;
    while (at != HD_NONE && ranges->item[at].hi <= address) at = ranges->item[at].outer;
    return at;
}

void hd_ranges_free(struct hd_ranges *ranges) {
    free(ranges->item);
    *ranges = (struct hd_ranges){0};
}
