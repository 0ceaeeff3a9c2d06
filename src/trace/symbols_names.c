/* Names for converted traces. Memory is named by regions (what overlapping accesses tie together),
 * so that accesses that conflict in the binary trace touch the same variable in the text. */
#include "trace/symbols_names.h"
#include "base/alloc.h"

#include "base/map.h"
#include "trace/regions.h"
#include "trace/symbols_pool.h"

#include <stdlib.h>
#include <string.h>

#define PART_BYTES ((uint64_t)1 << HD_TEXT_SHIFT) /* a text variable has no more */

struct hd_symbol_names {
    const struct hd_trace *trace;
    struct hd_symbols *symbols;
    struct hd_pool *pool;
    struct hd_regions regions;
    const char **region_name; /* NULL: not named yet */
    uint32_t event, blocks;   /* allocations before this event */
};

struct hd_symbol_names *hd_symbol_names_open(const struct hd_trace *trace,
                                             struct hd_symbols *symbols) {
    struct hd_symbol_names *names = hd_zalloc(1, sizeof *names);
    names->trace = trace;
    names->symbols = symbols;
    names->pool = hd_pool_new();
    hd_regions_build(&names->regions, trace, true);
    names->region_name = hd_zalloc(names->regions.region.size, sizeof *names->region_name);
    return names;
}

void hd_symbol_names_close(struct hd_symbol_names *names) {
    if (!names) return;
    hd_regions_free(&names->regions);
    free(names->region_name);
    hd_pool_free(names->pool);
    free(names);
}

/* ---- variables ---------------------------------------------------------------------------- */

/* Blocks count over the run in the order of their allocation, as in `heddle dump`. */
static const char *block_name(struct hd_symbol_names *names, uint32_t event) {
    const struct hd_trace *trace = names->trace;
    if (event < names->event) names->event = names->blocks = 0;
    for (; names->event < event; names->event++)
        names->blocks += trace->kind[names->event] == HD_EV_ALLOC;
    switch (trace->flags[event] & HD_BLOCK_TYPE_MASK) {
    case HD_BLOCK_STACK:
        return hd_pool_format(names->pool, "stack_of_T%u", trace->thread[event]);
    case HD_BLOCK_MMAP:
        return hd_pool_format(names->pool, "map#%u", names->blocks);
    default:
        if (hd_trace_is_descriptor(trace, trace->operand[event]))
            return hd_pool_format(names->pool, "descriptor_%u#%u",
                                  hd_descriptor_number(trace->operand[event]), names->blocks);
        return hd_pool_format(names->pool, "heap#%u", names->blocks);
    }
}

/* A lock, condition variable, barrier or semaphore: an object at an address, not bytes. */
static bool is_about_object(const struct hd_trace *trace, uint32_t event) {
    uint64_t start, size;
    return !hd_event_range(trace, event, &start, &size);
}

static const char *variable(void *context, uint32_t event, uint64_t address, uint64_t *offset) {
    struct hd_symbol_names *names = context;
    const struct hd_trace *trace = names->trace;
    bool object = is_about_object(trace, event);
    *offset = 0;
    uint32_t index = names->regions.region.size ? hd_regions_find(&names->regions, address, 1) : 0;
    const struct hd_region *region =
        index < names->regions.region.size ? &names->regions.region.data[index] : NULL;
    if (!region || address < region->start || address >= region->end)
        return object ? hd_symbols_variable(names->symbols, address, 1, NULL, NULL) : NULL;
    const char **name = &names->region_name[index];
    if (!*name && trace->kind[event] == HD_EV_ALLOC)
        *name = block_name(names, event);
    else if (!*name && object)
        return hd_symbols_variable(names->symbols, address, 1, NULL, NULL);
    else if (!*name)
        *name = hd_symbols_variable(names->symbols, region->start, region->end - region->start,
                                    NULL, NULL);
    if (!*name) return NULL;
    *offset = address - region->start;
    if (*offset < PART_BYTES) return *name;
    uint64_t part = *offset / PART_BYTES;
    *offset %= PART_BYTES;
    return hd_pool_format(names->pool, "%s.part%llu", *name, (unsigned long long)part);
}

/* ---- sites -------------------------------------------------------------------------------- */

static const char *site(void *context, uint32_t number) {
    struct hd_symbol_names *names = context;
    const struct hd_frame *frame;
    uint32_t count = hd_symbols_site(names->symbols, number, &frame), at = 0;
    /* the innermost frame of the program's own code, as in `heddle dump` */
    while (at < count && hd_frame_is_system(&frame[at])) at++;
    if (at == count) at = 0;
    if (!frame[at].file) return strcmp(frame[at].function, "??") ? frame[at].function : NULL;
    if (!frame[at].column)
        return hd_pool_format(names->pool, "%s:%u", frame[at].file, frame[at].line);
    return hd_pool_format(names->pool, "%s:%u:%u", frame[at].file, frame[at].line,
                          frame[at].column);
}

struct hd_text_names hd_symbol_names_functions(struct hd_symbol_names *names) {
    return (struct hd_text_names){.context = names, .variable = variable, .site = site};
}
