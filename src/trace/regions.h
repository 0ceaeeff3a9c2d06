/* The memory a trace touches, cut into pieces that no event's range crosses. */
#ifndef HEDDLE_TRACE_REGIONS_H
#define HEDDLE_TRACE_REGIONS_H

#include "base/map.h"
#include "base/vector.h"
#include "trace/trace.h"

struct hd_region {
    uint64_t start, end;
};

struct hd_regions {
    HD_VECTOR(struct hd_region) region; /* ascending, disjoint */
    struct hd_map small;                /* start << 8 | size of ranges below 256 bytes -> region */
};

/* Of accesses and atomics, and of memory blocks too if `blocks`. */
void hd_regions_build(struct hd_regions *regions, const struct hd_trace *trace, bool blocks);
/* The region of a range that was counted in, or of part of one. */
uint32_t hd_regions_find(const struct hd_regions *regions, uint64_t start, uint64_t size);
void hd_regions_free(struct hd_regions *regions);

/* Does the event touch a range of memory? Says which. A size that the trace does not know counts as
 * one byte. */
bool hd_event_range(const struct hd_trace *trace, uint32_t event, uint64_t *start, uint64_t *size);

#endif
