/* Names for heap memory: the structure that a block is for, by what its allocation is kept in, or
 * by the pointers that the program's accesses go through. */
#include "model/describe_place.h"

/* Functions between the allocation and who knows what it is for: wrappers of malloc. */
#define MOST_WRAPPERS 8
/* Accesses of a location that are asked what they go through. */
#define MOST_ASKED 64

/* ---- by the allocation ---------------------------------------------------------------------- */

static const struct hd_pointee *ask_callers(struct hd_describe *describe, uint32_t site,
                                            uint32_t node, uint64_t bytes) {
    const struct hd_trace *trace = describe->trace;
    for (unsigned i = 0; i < MOST_WRAPPERS; i++) {
        bool returned;
        const struct hd_pointee *type =
            hd_symbols_allocated(hd_describe_symbols(describe), site, bytes, &returned);
        if (type != NULL || !returned || node == 0 || node >= trace->stacks) return type;
        site = trace->stack_site[node];
        node = hd_describe_outer(trace, node);
    }
    return NULL;
}

static const struct hd_pointee *type_of_block(struct hd_describe *describe,
                                              const struct hd_block *block) {
    const struct hd_model *model = describe->model;
    if (block->type != HD_BLOCK_HEAP || block->alloc >= model->events) return NULL;
    uint32_t site = model->site[block->alloc], node = hd_model_stack(model, block->alloc);
    struct hd_recent_type *recent =
        &describe->recent_block[(site * 31 + node * 7 + block->bytes) % HD_RECENT_TYPES];
    if (!recent->used || recent->site != site || recent->node != node ||
        recent->bytes != block->bytes)
        *recent = (struct hd_recent_type){
            ask_callers(describe, site, node, block->bytes), block->bytes, 0, site, node, true};
    return recent->type;
}

/* ---- by the accesses ------------------------------------------------------------------------ */

static const struct hd_pointee *asked(struct hd_describe *describe, uint32_t event,
                                      uint64_t *offset) {
    const struct hd_model *model = describe->model;
    uint32_t site = model->site[event], write = hd_model_is_write(model, event);
    uint64_t size = hd_trace_size(model->trace, event);
    struct hd_recent_type *recent =
        &describe->recent_access[(site * 31 + size * 2 + write) % HD_RECENT_TYPES];
    if (!recent->used || recent->site != site || recent->node != write || recent->bytes != size) {
        uint64_t within = 0;
        const struct hd_pointee *type =
            hd_symbols_accessed(hd_describe_symbols(describe), site, size, write != 0, &within);
        *recent = (struct hd_recent_type){type, size, within, site, write, true};
    }
    *offset = recent->offset;
    return recent->type;
}

/* The first access that begins where the location does, and says what it goes through. */
static const struct hd_pointee *type_at_location(struct hd_describe *describe, uint32_t index,
                                                 uint64_t *start) {
    const struct hd_model *model = describe->model;
    const struct hd_location *location = &model->location[index];
    uint64_t block = model->block[location->block].address, offset;
    uint32_t end = model->location_start[index + 1];
    uint32_t first = model->location_start[index];
    for (uint32_t i = first; i < end && i < first + MOST_ASKED; i++) {
        uint32_t event = model->location_event[i];
        const uint32_t *list;
        if (hd_kind_class(model->kind[event]) != HD_CLASS_ACCESS ||
            hd_model_locations(model, event, &list) == 0 || list[0] != index)
            continue;
        const struct hd_pointee *type = asked(describe, event, &offset);
        if (type == NULL || location->address - block < offset) continue;
        *start = location->address - offset;
        return type;
    }
    return NULL;
}

const struct hd_pointee *hd_describe_structure(struct hd_describe *describe, uint32_t block,
                                               uint32_t location, uint64_t *start) {
    const struct hd_model *model = describe->model;
    *start = model->block[block].address;
    const struct hd_pointee *type = type_of_block(describe, &model->block[block]);
    if (type != NULL || location >= model->locations ||
        model->location[location].block >= model->blocks)
        return type;
    return type_at_location(describe, location, start);
}
