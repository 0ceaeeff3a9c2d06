/* Names for memory of a thread's stack: the frames that the thread had then tell whose local it is,
 * the trace tells where each frame began. */
#include "model/describe_place.h"

#include "base/alloc.h"
#include "base/search.h"

/* The owner's latest event that is not after `event`, HD_NONE. */
static uint32_t latest_of(const struct hd_model *model, uint32_t thread, uint32_t event) {
    const uint32_t *list = model->thread_event;
    uint32_t start = model->thread_start[thread], end = model->thread_start[thread + 1];
    uint32_t after = (uint32_t)hd_first_not(i, start, end, list[i] <= event);
    return after > start ? list[after - 1] : HD_NONE;
}

/* Bytes from the end of the stack down to where the innermost frame of each node begins, what is
 * not known of outer ones left out; HD_FRAME_UNKNOWN if one varies. Parents come before their
 * children. */
#define HD_FRAME_UNKNOWN UINT64_MAX
static const uint64_t *frame_starts(struct hd_describe *describe) {
    const struct hd_trace *trace = describe->trace;
    if (describe->frame_start != NULL) return describe->frame_start;
    uint64_t *start = describe->frame_start = hd_zalloc((size_t)trace->stacks + 1, sizeof *start);
    for (uint32_t node = 1; node < trace->stacks; node++) {
        uint64_t outer = start[hd_describe_outer(trace, node)];
        bool known = outer != HD_FRAME_UNKNOWN && trace->stack_step[node] != HD_STEP_VARIES;
        start[node] = known ? outer + trace->stack_step[node] : HD_FRAME_UNKNOWN;
    }
    return start;
}

/* The same of one; 0 if that is not known. */
static uint64_t frame_start(struct hd_describe *describe, uint32_t node) {
    if (describe->trace->stack_step[node] == 0) return 0;
    uint64_t start = frame_starts(describe)[node];
    return start != HD_FRAME_UNKNOWN ? start : 0;
}

/* hd_symbols_local, which walks over debug information, of what was not just asked for. */
static const char *in_frame(struct hd_describe *describe, uint32_t site, int64_t offset,
                            uint64_t size, bool inside) {
    struct hd_recent_local *recent =
        &describe->recent_local[(site * 31 + (uint64_t)offset) % HD_RECENT_LOCALS];
    if (!recent->used || recent->site != site || recent->offset != offset || recent->size != size ||
        recent->inside != inside) {
        const char *text =
            hd_symbols_local(hd_describe_symbols(describe), site, offset, size, inside);
        *recent = (struct hd_recent_local){text, size, offset, site, inside, true};
    }
    return recent->text;
}

const char *hd_describe_local(struct hd_describe *describe, uint32_t event, uint32_t block,
                              uint64_t address, uint64_t size) {
    const struct hd_model *model = describe->model;
    const struct hd_trace *trace = describe->trace;
    const struct hd_block *stack = &model->block[block];
    if (stack->type != HD_BLOCK_STACK || stack->alloc >= model->events) return NULL;
    uint32_t thread = model->thread[stack->alloc];
    uint32_t last = latest_of(model, thread, event);
    if (last == HD_NONE || address < stack->address) return NULL;
    uint64_t end = stack->address + stack->bytes;
    uint32_t site = model->site[last], inner_site = 0;
    uint64_t inner = 0; /* where the next inner frame begins, if that is known; it is not above */
    for (uint32_t node = hd_model_stack(model, last); node != 0 && node < trace->stacks;
         node = hd_describe_outer(trace, node)) {
        uint64_t below = frame_start(describe, node);
        uint64_t start = below != 0 && below <= stack->bytes ? end - below : 0;
        if (address < start) {
            /* parameters may be on the caller's side */
            const char *parameter =
                inner != 0 ? in_frame(describe, inner_site, (int64_t)(address - inner), size, false)
                           : NULL;
            if (parameter != NULL) return parameter;
            return in_frame(describe, site, (int64_t)(address - start), size, inner != 0);
        }
        inner = start;
        inner_site = site;
        site = trace->stack_site[node];
    }
    return NULL;
}
