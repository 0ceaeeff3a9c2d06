/* Filling a struct hd_trace, and freeing it: see build.h. */
#include "trace/build.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_EVENTS = 1024, FIRST_EXTRAS = 64 };

static bool out_of_memory(struct hd_error *error) {
    return hd_fail(error, HD_ERR_MEMORY, "out of memory while reading a trace");
}

bool hd_build_start(struct hd_builder *builder, struct hd_trace *trace, enum hd_trace_format format,
                    struct hd_error *error) {
    memset(trace, 0, sizeof *trace);
    memset(builder, 0, sizeof *builder);
    trace->format = format;
    trace->memory = builder->memory = calloc(1, sizeof *builder->memory);
    builder->trace = trace;
    /* the empty stack */
    trace->stack_parent = calloc(1, sizeof *trace->stack_parent);
    trace->stack_site = calloc(1, sizeof *trace->stack_site);
    trace->stacks = 1;
    return (trace->memory != NULL && trace->stack_parent != NULL && trace->stack_site != NULL) ||
           out_of_memory(error);
}

static bool resize(void *column, size_t count, size_t element) {
    void *old, *fresh;
    memcpy(&old, column, sizeof old);
    fresh = reallocarray(old, count, element);
    if (fresh == NULL) return false;
    memcpy(column, &fresh, sizeof fresh);
    return true;
}

static bool resize_columns(struct hd_trace *trace, size_t count) {
    return resize(&trace->thread, count, sizeof *trace->thread) &&
           resize(&trace->kind, count, sizeof *trace->kind) &&
           resize(&trace->flags, count, sizeof *trace->flags) &&
           resize(&trace->operand, count, sizeof *trace->operand) &&
           resize(&trace->site, count, sizeof *trace->site) &&
           resize(&trace->stack, count, sizeof *trace->stack) &&
           resize(&trace->branches, count, sizeof *trace->branches) &&
           resize(&trace->calls, count, sizeof *trace->calls);
}

bool hd_build_grow(struct hd_builder *builder, size_t more, struct hd_error *error) {
    size_t events = builder->trace->events;
    if (more > HD_EVENT_LIMIT - events)
        return hd_fail(error, HD_ERR_LIMIT, "more than %u events; record or cut a shorter trace",
                       HD_EVENT_LIMIT);
    size_t wanted = events + more, doubled = builder->capacity * 2;
    if (wanted < doubled) wanted = doubled;
    if (wanted < FIRST_EVENTS) wanted = FIRST_EVENTS;
    if (!resize_columns(builder->trace, wanted)) return out_of_memory(error);
    builder->capacity = wanted;
    return true;
}

bool hd_build_extra(struct hd_builder *builder, uint32_t event, uint64_t value,
                    struct hd_error *error) {
    struct hd_trace *trace = builder->trace;
    if (trace->extras == builder->extra_capacity) {
        size_t wanted = builder->extra_capacity == 0 ? FIRST_EXTRAS : builder->extra_capacity * 2;
        if (!resize(&trace->extra_event, wanted, sizeof *trace->extra_event) ||
            !resize(&trace->extra_value, wanted, sizeof *trace->extra_value))
            return out_of_memory(error);
        builder->extra_capacity = wanted;
    }
    trace->extra_event[trace->extras] = event;
    trace->extra_value[trace->extras++] = value;
    return true;
}

bool hd_build_warn(struct hd_builder *builder, struct hd_error *error, const char *format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    char *copy = hd_arena_copy(&builder->memory->arena, line, strlen(line));
    return (copy != NULL && hd_vector_push(&builder->memory->warning, copy)) ||
           out_of_memory(error);
}

void hd_build_finish(struct hd_builder *builder) {
    struct hd_trace *trace = builder->trace;
    struct hd_trace_memory *memory = builder->memory;
    if (builder->capacity > trace->events && trace->events > 0) {
        /* shrinking does not fail in a way that matters */
        if (resize_columns(trace, trace->events)) builder->capacity = trace->events;
    }
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
    free(trace->extra_event);
    free(trace->extra_value);
    free(trace->stack_parent);
    free(trace->stack_site);
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
