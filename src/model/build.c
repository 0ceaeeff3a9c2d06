/* hd_model_build: runs the passes and ties their results together; and frees a model. */
#include "model/build.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static uint64_t trace_bytes(const struct hd_trace *trace) {
    uint64_t event = sizeof *trace->thread + sizeof *trace->kind + sizeof *trace->flags +
                     sizeof *trace->operand + sizeof *trace->site + sizeof *trace->stack +
                     sizeof *trace->branches + sizeof(uint16_t) +
                     (trace->number != NULL ? sizeof *trace->number : 0);
    return trace->events * event +
           trace->extras * (uint64_t)(sizeof *trace->extra_event + sizeof *trace->extra_value) +
           trace->stacks * (uint64_t)(sizeof *trace->stack_parent + sizeof *trace->stack_site +
                                      sizeof *trace->stack_step);
}

static uint64_t model_bytes(const struct hd_model *model) {
    const struct hd_model_memory *memory = model->memory;
    uint64_t words = sizeof(uint32_t);
    uint64_t bytes = trace_bytes(&memory->trace);
    bytes += model->events * 2 * words; /* thread_event, event_section */
    bytes += hd_bit_words(model->events) * 3 * sizeof(uint64_t);
    bytes += (model->threads + 2) * words;
    if (memory->rank != NULL)
        bytes += ((model->events >> memory->rank_shift) + 1) * (uint64_t)model->threads * words;
    bytes += model->locations * (sizeof *model->location + 2 * words);
    bytes += (model->locations > 0 ? model->location_start[model->locations] : 0) * words;
    bytes += model->blocks * (sizeof *model->block + words);
    bytes += model->locks * (sizeof *model->lock + words);
    bytes += model->objects * sizeof *model->sync_object;
    bytes += model->sections * (sizeof *model->section + words);
    bytes += model->edges * (sizeof *model->edge + words);
    bytes += memory->many_calls * sizeof *memory->many_calls_list;
    bytes += (memory->scattered + (uint64_t)memory->several) * sizeof(struct hd_list);
    bytes += (memory->scattered_locations + memory->several_writes) * words;
    return bytes;
}

/* Hook calls between two events are few: two bytes do instead of four. Done in place. */
static void narrow_calls(struct hd_build *build) {
    struct hd_model_memory *memory = build->memory;
    uint32_t events = build->trace->events, *wide = build->trace->calls;
    uint16_t *narrow = memory->calls = (uint16_t *)wide;
    build->trace->calls = NULL;
    HD_VECTOR(struct hd_many_calls) many = {0};
    for (uint32_t e = 0; e < events; e++) {
        uint32_t calls = wide[e];
        struct hd_many_calls entry = {e, calls};
        if (calls >= UINT16_MAX) hd_vector_push(&many, entry);
        narrow[e] = calls < UINT16_MAX ? (uint16_t)calls : UINT16_MAX;
    }
    memory->many_calls_list = many.data;
    memory->many_calls = (uint32_t)many.size;
    memory->calls = hd_realloc(narrow, events, sizeof *narrow);
}

static void connect(struct hd_build *build) {
    struct hd_model *model = build->model;
    struct hd_model_memory *memory = build->memory;
    const struct hd_trace *trace = build->trace;
    model->trace = trace;
    model->events = trace->events;
    model->threads = trace->threads;
    model->thread = trace->thread;
    model->kind = trace->kind;
    model->flags = trace->flags;
    model->site = trace->site;
    model->stack = trace->stack;
    model->branches = trace->branches;
    model->calls = memory->calls;
    model->object = memory->object;
    model->from = memory->from;
    model->warning = memory->warning;
}

static bool run_passes(struct hd_build *build) {
    if (!hd_pass_threads(build) || !hd_pass_cells(build)) return false;
    build->trace->operand = NULL; /* its memory holds the object column now */
    return hd_pass_locations(build) && hd_pass_reads(build) && hd_pass_sections(build) &&
           hd_pass_order(build);
}

bool hd_model_build(struct hd_trace *trace, const struct hd_model_options *options,
                    struct hd_model *model, struct hd_error *error) {
    struct hd_model_memory *memory = hd_zalloc(1, sizeof *memory);
    memset(model, 0, sizeof *model);
    memory->trace = *trace;
    memory->operand = trace->operand;
    memset(trace, 0, sizeof *trace);
    model->memory = memory;
    trace = &memory->trace;
    struct hd_build build = {.trace = trace, .model = model, .memory = memory, .error = error};
    build.lenient = (options != NULL && options->lenient) || !trace->exact || !trace->end.whole;
    bool done = true;
    if (trace->threads > UINT16_MAX + 1u)
        done = hd_fail(error, HD_ERR_LIMIT, "%u threads; a model holds at most %u", trace->threads,
                       UINT16_MAX + 1u);
    else if (trace->events == UINT32_MAX)
        done = hd_fail(error, HD_ERR_LIMIT, "%u events; a model holds one less", trace->events);
    if (done) {
        memory->object = (uint32_t *)memory->operand;
        if (trace->events > 0) memory->from = memory->object + trace->events;
        narrow_calls(&build);
        connect(&build);
        done = run_passes(&build);
    }
    hd_vector_free(&build.cell);
    hd_vector_free(&build.block);
    hd_vector_free(&build.range_free);
    free(build.cell_place);
    hd_vector_free(&build.scattered);
    hd_vector_free(&build.scattered_location);
    hd_vector_free(&build.atomic_edge);
    if (!done) {
        hd_model_free(model);
        return false;
    }
    hd_rules_finish(&build);
    model->bytes = model_bytes(model);
    return true;
}

bool hd_model_load(const char *path, const struct hd_trace_options *trace_options,
                   const struct hd_model_options *options, struct hd_model *model,
                   struct hd_error *error) {
    struct hd_trace trace;
    memset(model, 0, sizeof *model);
    return hd_trace_load(path, trace_options, &trace, error) &&
           hd_model_build(&trace, options, model, error);
}

void hd_model_free(struct hd_model *model) {
    struct hd_model_memory *memory = model->memory;
    if (memory != NULL) {
        memory->trace.operand = memory->operand;
        hd_trace_free(&memory->trace);
        free(memory->calls);
        free(memory->many_calls_list);
        void *owned[] = {memory->thread_start,   memory->thread_event,
                         memory->event_section,  memory->location_start,
                         memory->location_event, memory->block_start,
                         memory->lock_start,     memory->lock_section,
                         memory->location,       memory->block,
                         memory->lock,           memory->sync_object,
                         memory->section,        memory->edge,
                         memory->edge_by_source, memory->has_in,
                         memory->has_out,        memory->span,
                         memory->number,         memory->scattered_list,
                         memory->several_list,   memory->scattered_location,
                         memory->several_write,  memory->rank};
        for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
        for (uint32_t i = 0; i < model->warnings; i++) free(memory->warning[i]);
        free(memory);
    }
    memset(model, 0, sizeof *model);
}
