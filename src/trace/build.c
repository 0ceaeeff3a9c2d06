/* Filling a struct hd_trace, and freeing it: see build.h. */
#include "trace/build.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_EVENTS = 1024, FIRST_EXTRAS = 64 };

void hd_build_start(struct hd_builder *builder, struct hd_trace *trace,
                    enum hd_trace_format format) {
    memset(trace, 0, sizeof *trace);
    memset(builder, 0, sizeof *builder);
    trace->format = format;
    trace->kept = HD_KEEP_ALL;
    builder->most = HD_EVENT_LIMIT;
    builder->most_recorded = UINT64_MAX;
    trace->memory = builder->memory = hd_zalloc(1, sizeof *builder->memory);
    builder->trace = trace;
    /* the empty stack */
    trace->stack_parent = hd_zalloc(1, sizeof *trace->stack_parent);
    trace->stack_site = hd_zalloc(1, sizeof *trace->stack_site);
    trace->stack_step = hd_zalloc(1, sizeof *trace->stack_step);
    trace->stacks = 1;
}

#define RESIZE(column, count) ((column) = hd_realloc(column, count, sizeof *(column)))

static void resize_columns(struct hd_trace *trace, size_t count) {
    RESIZE(trace->thread, count);
    RESIZE(trace->kind, count);
    RESIZE(trace->flags, count);
    RESIZE(trace->operand, count);
    RESIZE(trace->site, count);
    RESIZE(trace->stack, count);
    RESIZE(trace->branches, count);
    RESIZE(trace->calls, count);
    if (trace->number != NULL) RESIZE(trace->number, count);
}

void hd_build_numbers(struct hd_builder *builder) {
    struct hd_trace *trace = builder->trace;
    RESIZE(trace->number, builder->capacity > 0 ? builder->capacity : 1);
    for (uint32_t i = 0; i < trace->events; i++) trace->number[i] = i;
}

bool hd_build_grow(struct hd_builder *builder, size_t more, struct hd_error *error) {
    size_t events = builder->trace->events;
    if (more > HD_EVENT_LIMIT - events || events > builder->most) {
        if (!builder->full) builder->full_at = (uint32_t)events;
        builder->full = true;
        return hd_fail(error, HD_ERR_LIMIT, "more than %zu events; record or cut a shorter trace",
                       builder->most);
    }
    size_t wanted = events + more, doubled = builder->capacity * 2;
    if (doubled > builder->most) doubled = builder->most;
    if (wanted < doubled) wanted = doubled;
    if (wanted < FIRST_EVENTS) wanted = FIRST_EVENTS;
    resize_columns(builder->trace, wanted);
    builder->capacity = wanted;
    return true;
}

void hd_build_cut(struct hd_builder *builder, uint32_t events) {
    struct hd_trace *trace = builder->trace;
    trace->events = events;
    while (trace->extras > 0 && trace->extra_event[trace->extras - 1] >= events) trace->extras--;
}

void hd_build_extra(struct hd_builder *builder, uint32_t event, uint64_t value) {
    struct hd_trace *trace = builder->trace;
    if (trace->extras == builder->extra_capacity) {
        size_t wanted = builder->extra_capacity == 0 ? FIRST_EXTRAS : builder->extra_capacity * 2;
        RESIZE(trace->extra_event, wanted);
        RESIZE(trace->extra_value, wanted);
        builder->extra_capacity = wanted;
    }
    trace->extra_event[trace->extras] = event;
    trace->extra_value[trace->extras++] = value;
}

bool hd_build_recorded(struct hd_builder *builder, uint64_t events, struct hd_error *error) {
    builder->trace->recorded += events;
    return builder->trace->recorded <= builder->most_recorded ||
           hd_fail(error, HD_ERR_LIMIT, "more than %llu events were recorded",
                   (unsigned long long)builder->most_recorded);
}

void hd_build_warn(struct hd_builder *builder, const char *format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    hd_vector_push(&builder->memory->warning,
                   hd_arena_copy(&builder->memory->arena, line, strlen(line)));
}

void hd_build_empty(struct hd_builder *builder) {
    struct hd_trace *trace = builder->trace;
    trace->events = trace->extras = trace->threads = 0;
    trace->stacks = 1;
    trace->hook_calls = trace->recorded = 0;
    builder->full = false;
}

void hd_build_finish(struct hd_builder *builder) {
    struct hd_trace *trace = builder->trace;
    struct hd_trace_memory *memory = builder->memory;
    if (builder->capacity > trace->events && trace->events > 0) {
        resize_columns(trace, trace->events);
        builder->capacity = trace->events;
    }
    if (trace->kept == HD_KEEP_ALL) trace->recorded = trace->events;
    trace->warnings = (uint32_t)memory->warning.size;
    trace->warning = memory->warning.data;
    trace->modules = (uint32_t)memory->module.size;
    trace->module = memory->module.data;
}

void hd_trace_free(struct hd_trace *trace) {
    if (trace == NULL) return;
    free(trace->thread);
    free(trace->kind);
    free(trace->flags);
    free(trace->operand);
    free(trace->site);
    free(trace->stack);
    free(trace->branches);
    free(trace->calls);
    free(trace->number);
    free(trace->extra_event);
    free(trace->extra_value);
    free(trace->stack_parent);
    free(trace->stack_site);
    free(trace->stack_step);
    struct hd_trace_memory *memory = trace->memory;
    if (memory != NULL) {
        hd_arena_free(&memory->arena);
        hd_intern_free(&memory->threads);
        hd_intern_free(&memory->variables);
        hd_intern_free(&memory->objects);
        hd_intern_free(&memory->sites);
        hd_vector_free(&memory->warning);
        hd_vector_free(&memory->module);
        free(memory);
    }
    memset(trace, 0, sizeof *trace);
}
