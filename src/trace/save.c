/* A trace in memory to a binary file: one stream in the trace's order, with the bookkeeping events
 * that the reader folds away again. */
#include "base/alloc.h"
#include "base/vector.h"
#include "trace/convert.h"
#include "trace/format.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 4096 };

struct saver {
    const struct hd_trace *trace;
    struct hd_writer *writer;
    struct hd_error *error;
    uint32_t *depth; /* of every node of the call tree */
    uint32_t *path;  /* nodes by depth, while frames are entered */
    uint32_t *stack; /* per thread: node the reader will have */
    uint32_t thread; /* the reader will have */
    uint32_t extra;  /* cursor into the extras */
    struct hd_wire_event batch[BATCH];
    size_t pending;
    bool failed;
};

static void flush(struct saver *s) {
    if (!s->failed && s->pending > 0)
        s->failed = !hd_writer_events(s->writer, 0, s->batch, s->pending, s->error);
    s->pending = 0;
}

static void put(struct saver *s, unsigned kind, unsigned flags, uint64_t operand, uint64_t tail) {
    if (s->pending == BATCH) flush(s);
    s->batch[s->pending++] = (struct hd_wire_event){hd_wire_head(kind, flags, operand), tail};
}

/* Leaves frames up to what both stacks share, then enters the others, outermost first. */
static void go_to_stack(struct saver *s, uint32_t thread, uint32_t to) {
    const uint32_t *parent = s->trace->stack_parent;
    uint32_t from = s->stack[thread], common = to;
    while (s->depth[from] > s->depth[common]) from = parent[from];
    while (s->depth[common] > s->depth[from]) common = parent[common];
    while (from != common) from = parent[from], common = parent[common];
    if (common != s->stack[thread]) put(s, HD_EV_POP, 0, s->depth[common], 0);
    for (uint32_t node = to; node != common; node = parent[node]) s->path[s->depth[node]] = node;
    for (uint32_t depth = s->depth[common] + 1; depth <= s->depth[to]; depth++)
        put(s, HD_EV_PUSH, 0, depth,
            hd_wire_push_tail(s->trace->stack_site[s->path[depth]],
                              s->trace->stack_step[s->path[depth]]));
    s->stack[thread] = to;
}

static void save_event(struct saver *s, uint32_t e) {
    const struct hd_trace *trace = s->trace;
    uint32_t thread = trace->thread[e], calls = trace->calls[e];
    if (thread != s->thread) put(s, HD_EV_THREAD, 0, thread, 0);
    s->thread = thread;
    if (trace->stack[e] != s->stack[thread]) go_to_stack(s, thread, trace->stack[e]);
    if (s->extra < trace->extras && trace->extra_event[s->extra] == e)
        put(s, HD_EV_EXT, 0, trace->extra_value[s->extra++], 0);
    if (calls > UINT16_MAX) {
        put(s, HD_EV_COUNT, 0, calls, 0);
        calls = 0;
    }
    put(s, trace->kind[e], trace->flags[e], trace->operand[e],
        hd_wire_tail(trace->site[e], calls, trace->branches[e]));
}

static bool save_names(struct saver *s) {
    const struct hd_trace *trace = s->trace;
    return hd_writer_names(s->writer, HD_NAMES_THREADS, trace->thread_names, trace->threads,
                           s->error) &&
           hd_writer_names(s->writer, HD_NAMES_VARIABLES, trace->variable_names, trace->variables,
                           s->error) &&
           hd_writer_names(s->writer, HD_NAMES_OBJECTS, trace->object_names, trace->objects,
                           s->error) &&
           hd_writer_names(s->writer, HD_NAMES_SITES, trace->site_names, trace->sites, s->error);
}

static bool save_all(struct saver *s) {
    const struct hd_trace *trace = s->trace;
    for (uint32_t i = 0; i < trace->modules; i++) {
        if (!hd_writer_module(s->writer, &trace->module[i], s->error)) return false;
    }
    if (trace->format != HD_FORMAT_BINARY && !save_names(s)) return false;
    for (uint32_t e = 0; e < trace->events && !s->failed; e++) save_event(s, e);
    flush(s);
    return !s->failed;
}

bool hd_trace_save(const struct hd_trace *trace, const char *path, struct hd_error *error) {
    struct saver *s = hd_zalloc(1, sizeof *s);
    s->depth = hd_zalloc(trace->stacks, sizeof *s->depth);
    s->path = hd_zalloc(trace->stacks, sizeof *s->path);
    s->stack = hd_zalloc(trace->threads + 1ul, sizeof *s->stack);
    s->trace = trace;
    s->error = error;
    for (uint32_t i = 1; i < trace->stacks; i++) s->depth[i] = s->depth[trace->stack_parent[i]] + 1;
    struct hd_trace_about about = {.command = trace->command, .options = trace->options};
    if (trace->kept != HD_KEEP_ALL) about.options.full = 0;
    uint32_t origin = trace->format | (trace->hex_offsets ? HD_ABOUT_HEX_OFFSETS : 0);
    s->writer = hd_writer_create(
        path, &about, trace->format != HD_FORMAT_BINARY ? HD_FEATURE_NAMES : 0, origin, error);
    bool good = s->writer != NULL && save_all(s);
    if (good)
        good = hd_writer_finish(s->writer, &trace->end, trace->has_branches, error);
    else
        hd_writer_abandon(s->writer);
    free(s->depth);
    free(s->path);
    free(s->stack);
    free(s);
    return good;
}
