/* Memory regions of a trace: see regions.h. */
#include "trace/regions.h"

#include "base/search.h"

#include <stdlib.h>
#include <string.h>

bool hd_event_range(const struct hd_trace *trace, uint32_t event, uint64_t *start, uint64_t *size) {
    switch (trace->kind[event]) {
    case HD_EV_READ:
    case HD_EV_WRITE:
    case HD_EV_ATOMIC_READ:
    case HD_EV_ATOMIC_WRITE:
    case HD_EV_ATOMIC_UPDATE:
    case HD_EV_ALLOC:
    case HD_EV_FREE:
        *size = hd_trace_size(trace, event);
        break;
    case HD_EV_ONCE_DONE:
    case HD_EV_ONCE_PASS:
        *size = 1;
        break;
    case HD_EV_BLOCKED:
        if (trace->flags[event] != HD_WAIT_ONCE) return false;
        *size = 1;
        break;
    default:
        return false;
    }
    if (*size == 0) *size = 1;
    *start = trace->operand[event];
    return true;
}

static int by_start(const void *a, const void *b) {
    const struct hd_region *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static bool is_small(uint64_t start, uint64_t size) { return size < 256 && start >> 56 == 0; }

static void add_range(struct hd_regions *regions, uint64_t start, uint64_t size) {
    if (is_small(start, size)) {
        uint32_t count = regions->small.count;
        hd_map_slot(&regions->small, start << 8 | size, 0);
        if (regions->small.count == count) return;
    }
    uint64_t end;
    if (__builtin_add_overflow(start, size, &end)) end = UINT64_MAX;
    hd_vector_push(&regions->region, ((struct hd_region){start, end}));
}

static void join_overlapping(struct hd_regions *regions) {
    size_t last = 0;
    qsort(regions->region.data, regions->region.size, sizeof *regions->region.data, by_start);
    for (size_t i = 1; i < regions->region.size; i++) {
        struct hd_region next = regions->region.data[i], *current = &regions->region.data[last];
        if (next.start >= current->end)
            regions->region.data[++last] = next;
        else if (next.end > current->end)
            current->end = next.end;
    }
    regions->region.size = last + 1;
}

static uint32_t search(const struct hd_regions *regions, uint64_t address) {
    uint32_t count = (uint32_t)regions->region.size;
    uint32_t after = hd_first_not(i, 0, count, regions->region.data[i].start <= address);
    return after > 0 ? after - 1 : 0;
}

void hd_regions_build(struct hd_regions *regions, const struct hd_trace *trace, bool blocks) {
    memset(regions, 0, sizeof *regions);
    for (uint32_t e = 0; e < trace->events; e++) {
        uint64_t start, size;
        if (!hd_event_range(trace, e, &start, &size)) continue;
        if (!blocks && hd_kind_class(trace->kind[e]) == HD_CLASS_MEMORY) continue;
        add_range(regions, start, size);
    }
    if (regions->region.size == 0) return;
    join_overlapping(regions);
    for (uint32_t i = 0; regions->small.count > 0 && i <= regions->small.mask; i++) {
        struct hd_map_entry *entry = &regions->small.entry[i];
        if (entry->used) entry->value = search(regions, entry->key >> 8);
    }
}

uint32_t hd_regions_find(const struct hd_regions *regions, uint64_t start, uint64_t size) {
    if (is_small(start, size)) {
        uint32_t known = hd_map_get(&regions->small, start << 8 | size, HD_NONE);
        if (known != HD_NONE) return known;
    }
    return search(regions, start);
}

void hd_regions_free(struct hd_regions *regions) {
    hd_vector_free(&regions->region);
    hd_map_free(&regions->small);
}
