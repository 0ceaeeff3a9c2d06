/* Where in the source an event is: its frame as a programmer would name it, and its whole stack. */
#include "model/describe_place.h"

#include <stdlib.h>
#include <string.h>

/* Deeper stacks are cut at their outer end. */
#define DEEPEST_STACK 512
/* How many frames are looked at for one that is not the system's. */
#define SYSTEM_FRAMES 16

static uint64_t stack_key(uint32_t site, uint32_t node) { return (uint64_t)node << 32 | site; }

/* Keys of places that hold for any stack, and for one. */
static uint64_t site_key(uint32_t site) { return site; }
static uint64_t node_key(uint32_t site, uint32_t node) { return ((uint64_t)node + 1) << 32 | site; }

/* ---- stacks ------------------------------------------------------------------------------- */

struct builder {
    struct hd_frame frame[DEEPEST_STACK];
    uint32_t count;
};

/* The runtime calls signal handlers; that is nobody's business. */
static bool is_runtime(const struct hd_frame *frame) {
    return frame->module != NULL && strstr(frame->module, "libheddle_rt.so") != NULL;
}

static void add_site(struct hd_describe *describe, struct builder *builder, uint32_t site) {
    const struct hd_frame *frame;
    uint32_t count = hd_symbols_site(hd_describe_symbols(describe), site, &frame);
    for (uint32_t i = 0; i < count && builder->count < DEEPEST_STACK; i++)
        if (builder->count == 0 || !is_runtime(&frame[i]))
            builder->frame[builder->count++] = frame[i];
}

uint32_t hd_describe_outer(const struct hd_trace *trace, uint32_t node) {
    /* parents come before their children, so that a damaged tree can't loop */
    uint32_t parent = trace->stack_parent[node];
    return parent < node ? parent : 0;
}

static struct hd_frames build_stack(struct hd_describe *describe, uint32_t site, uint32_t node) {
    const struct hd_trace *trace = describe->trace;
    struct builder builder;
    builder.count = 0;
    add_site(describe, &builder, site);
    for (; node && node < trace->stacks && builder.count < DEEPEST_STACK;
         node = hd_describe_outer(trace, node))
        if (trace->stack_site[node]) add_site(describe, &builder, trace->stack_site[node]);
    /* what the C library does below main, and around a thread's function, is left out */
    while (builder.count > 1 && hd_frame_is_system(&builder.frame[builder.count - 1]))
        builder.count--;
    struct hd_frame *frame = hd_pool_alloc(describe->pool, builder.count * sizeof *frame);
    memcpy(frame, builder.frame, builder.count * sizeof *frame);
    return (struct hd_frames){frame, builder.count};
}

uint32_t hd_describe_stack(struct hd_describe *describe, uint32_t event,
                           const struct hd_frame **frames) {
    const struct hd_model *model = describe->model;
    *frames = NULL;
    if (event >= model->events || describe->trace->format != HD_FORMAT_BINARY ||
        describe->trace->site_names || !model->site[event])
        return 0;
    uint32_t site = model->site[event], node = hd_model_stack(model, event);
    uint32_t *slot = hd_map_slot(&describe->stacks, stack_key(site, node), HD_NONE);
    if (*slot == HD_NONE) {
        *slot = (uint32_t)describe->stack.size;
        struct hd_frames built = build_stack(describe, site, node);
        hd_vector_push(&describe->stack, built);
    }
    const struct hd_frames *stack =
        &describe->stack.data[hd_map_get(&describe->stacks, stack_key(site, node), 0)];
    *frames = stack->frame;
    return stack->count;
}

/* ---- the frame a programmer looks for ----------------------------------------------------- */

static const struct hd_named_frame *make_place(struct hd_describe *describe,
                                               const struct hd_frame *frame) {
    struct hd_named_frame *place = hd_pool_alloc(describe->pool, sizeof *place);
    *place = (struct hd_named_frame){.frame = *frame, .site = "", .function = ""};
    if (frame->file && frame->line)
        place->site = hd_pool_format(describe->pool, "%s:%u", frame->file, frame->line);
    else if (frame->file)
        place->site = frame->file;
    if (!frame->file && strstr(frame->function, "+0x"))
        place->site = frame->function; /* module+0xoffset */
    else if (strcmp(frame->function, "??") != 0)
        place->function = frame->function;
    return place;
}

static uint32_t add_place(struct hd_describe *describe, uint64_t key,
                          const struct hd_named_frame *place) {
    uint32_t *slot = hd_map_slot(&describe->places, key, 0);
    *slot = (uint32_t)describe->place.size;
    /* the vector holds pointers, so that places stay where they are when it grows */
    // NOLINTNEXTLINE(bugprone-sizeof-expression)
    hd_vector_push(&describe->place, place);
    return *slot;
}

/* The innermost frame decides for most sites. Where it is the system's (a member function of
 * std::atomic, say), the callers are asked, and the answer depends on the stack. */
static uint32_t find_place(struct hd_describe *describe, uint32_t site, uint32_t node) {
    const struct hd_trace *trace = describe->trace;
    const struct hd_frame *first, *frame;
    uint32_t count = hd_symbols_site(hd_describe_symbols(describe), site, &first), seen = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!hd_frame_is_system(&first[i]))
            return add_place(describe, site_key(site), make_place(describe, &first[i]));
    for (uint32_t at = node; at && at < trace->stacks && seen < SYSTEM_FRAMES;
         at = hd_describe_outer(trace, at)) {
        count = hd_symbols_site(hd_describe_symbols(describe), trace->stack_site[at], &frame);
        for (uint32_t i = 0; i < count; i++, seen++)
            if (!hd_frame_is_system(&frame[i]))
                return add_place(describe, node_key(site, node), make_place(describe, &frame[i]));
    }
    return add_place(describe, node_key(site, node), make_place(describe, first));
}

static const struct hd_named_frame *place_of(struct hd_describe *describe, uint32_t event) {
    uint32_t site = describe->model->site[event];
    uint32_t node = hd_model_stack(describe->model, event);
    uint32_t at = hd_map_get(&describe->places, site_key(site), HD_NONE);
    if (at == HD_NONE) at = hd_map_get(&describe->places, node_key(site, node), HD_NONE);
    if (at == HD_NONE) at = find_place(describe, site, node);
    return describe->place.data[at];
}

static bool has_own_sites(const struct hd_describe *describe) {
    return describe->trace->format != HD_FORMAT_BINARY || describe->trace->site_names;
}

const struct hd_frame *hd_describe_frame(struct hd_describe *describe, uint32_t event) {
    static const struct hd_frame unknown = {.function = "??", .module = "??"};
    if (event >= describe->model->events || has_own_sites(describe)) return &unknown;
    return &place_of(describe, event)->frame;
}

uint64_t hd_describe_number(const struct hd_describe *describe, uint32_t event) {
    return hd_trace_number(describe->model->trace, event);
}

const char *hd_describe_site(struct hd_describe *describe, uint32_t event) {
    const struct hd_model *model = describe->model;
    if (event >= model->events) return "";
    if (!has_own_sites(describe)) return place_of(describe, event)->site;
    uint32_t site = model->site[event];
    if (site >= describe->trace->sites || !describe->trace->site_names[site]) return "";
    return describe->trace->site_names[site];
}

const char *hd_describe_function(struct hd_describe *describe, uint32_t event) {
    if (event >= describe->model->events || has_own_sites(describe)) return "";
    return place_of(describe, event)->function;
}
