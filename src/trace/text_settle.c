/* Settles what a text trace's lines leave open until all of them are known: see text_read.h. */
#include "base/alloc.h"
#include "trace/text_read.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool hd_text_fail(struct hd_text_reader *r, uint64_t line, const char *format, ...) {
    char what[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return hd_fail(r->error, HD_ERR_FORMAT, "%s:%llu: %s", r->path, (unsigned long long)line, what);
}

/* ---- threads ------------------------------------------------------------------------------ */

/* `fork(122)` where the thread writes itself T122: the number of T122, or HD_NONE. */
static uint32_t meant_thread(struct hd_text_reader *r, uint32_t thread) {
    const struct hd_intern *table = &r->builder->memory->threads;
    if (r->thread.data[thread].has_lines) return HD_NONE;
    const char *name = table->name.data[thread];
    size_t length = strlen(name);
    char *prefixed = hd_alloc(1, length + 2);
    prefixed[0] = 'T';
    memcpy(prefixed + 1, name, length + 1);
    uint32_t meant = hd_intern_find(table, prefixed, length + 1);
    free(prefixed);
    return meant != HD_INTERN_NONE && r->thread.data[meant].has_lines ? meant : HD_NONE;
}

/* Renumbers threads in the order of first mention, under whichever name. meant[i] is the thread
 * that name i means, HD_NONE if itself. */
static void renumber_threads(struct hd_text_reader *r, const uint32_t *meant) {
    struct hd_trace *trace = r->builder->trace;
    const struct hd_intern *table = &r->builder->memory->threads;
    uint32_t *number = r->thread_number, count = trace->threads, kept = 0;
    char **names = hd_arena_zalloc(&r->builder->memory->arena, count, sizeof *names);
    for (uint32_t i = 0; i < count; i++) number[i] = HD_NONE;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t thread = meant[i] != HD_NONE ? meant[i] : i;
        if (number[thread] == HD_NONE) {
            names[kept] = table->name.data[thread];
            number[thread] = kept++;
        }
        number[i] = number[thread];
    }
    for (uint32_t e = 0; e < trace->events; e++) {
        trace->thread[e] = (uint16_t)number[trace->thread[e]];
        if (trace->kind[e] >= HD_EV_FORK && trace->kind[e] <= HD_EV_END)
            trace->operand[e] = number[trace->operand[e]];
    }
    trace->threads = kept;
    trace->thread_names = names;
}

static void settle_threads(struct hd_text_reader *r) {
    struct hd_trace *trace = r->builder->trace;
    const struct hd_intern *table = &r->builder->memory->threads;
    uint32_t count = (uint32_t)r->thread.size, others = 0;
    const char *example = NULL;
    trace->threads = count;
    trace->thread_names = table->name.data;
    uint32_t *meant = hd_alloc(count, sizeof *meant);
    r->thread_number = hd_alloc(count, sizeof *r->thread_number);
    for (uint32_t i = 0; i < count; i++) {
        r->thread_number[i] = i;
        meant[i] = meant_thread(r, i);
        if (meant[i] == HD_NONE) continue;
        if (example == NULL)
            example = table->name.data[i];
        else
            others++;
    }
    if (example != NULL) {
        char more[48] = "";
        if (others > 0) snprintf(more, sizeof more, " (and %u more like it)", others);
        hd_build_warn(r->builder,
                      "%s: no thread %.50s, but T%.50s is one: fork and join of %.50s are "
                      "taken to mean it%s",
                      r->path, example, example, example, more);
        renumber_threads(r, meant);
    }
    free(meant);
}

/* ---- objects ------------------------------------------------------------------------------ */

static bool settle_waits(struct hd_text_reader *r) {
    struct hd_trace *trace = r->builder->trace;
    for (size_t i = 0; i < r->waits.size; i++) {
        struct hd_text_note wait = r->waits.data[i];
        uint32_t object = (uint32_t)trace->operand[wait.event];
        unsigned uses = r->object.data[object].uses;
        if ((uses & USE_SEMAPHORE) == 0) continue;
        if ((uses & USE_CONDITION) != 0)
            return hd_text_fail(r, wait.line, "wait(%.100s): it is both signalled and posted",
                                r->builder->memory->objects.name.data[object]);
        trace->kind[wait.event] = HD_EV_SEM_WAIT;
    }
    return true;
}

/* A lock that is taken in read mode anywhere is a read-write lock everywhere. */
static void settle_locks(struct hd_text_reader *r) {
    struct hd_trace *trace = r->builder->trace;
    if (!r->has_read_locks) return;
    for (uint32_t e = 0; e < trace->events; e++) {
        if (hd_kind_class(trace->kind[e]) == HD_CLASS_LOCK &&
            (r->object.data[trace->operand[e]].uses & USE_READ_LOCK) != 0)
            trace->flags[e] = HD_LOCK_RWLOCK;
    }
}

static bool settle_blocked(struct hd_text_reader *r) {
    struct hd_trace *trace = r->builder->trace;
    struct hd_trace_memory *memory = r->builder->memory;
    for (size_t i = 0; i < r->blocked.size; i++) {
        struct hd_text_note note = r->blocked.data[i];
        size_t length = strlen(note.name);
        uint32_t object = hd_intern_find(&memory->objects, note.name, length);
        uint32_t variable = hd_intern_find(&memory->variables, note.name, length);
        uint32_t thread = hd_intern_find(&memory->threads, note.name, length);
        unsigned uses = object == HD_INTERN_NONE ? 0 : r->object.data[object].uses;
        uint64_t operand = object;
        unsigned type = 0;
        if ((uses & USE_LOCK) != 0)
            type = HD_WAIT_LOCK;
        else if ((uses & USE_BARRIER) != 0)
            type = HD_WAIT_BARRIER;
        else if ((uses & USE_SEMAPHORE) != 0)
            type = HD_WAIT_SEM;
        else if ((uses & (USE_CONDITION | USE_WAITED)) != 0)
            type = HD_WAIT_COND;
        else if (thread != HD_INTERN_NONE)
            type = HD_WAIT_JOIN, operand = r->thread_number[thread];
        else if (variable != HD_INTERN_NONE)
            type = HD_WAIT_ONCE, operand = (uint64_t)variable << HD_TEXT_SHIFT;
        else
            return hd_text_fail(r, note.line,
                                "blocked(%.100s): no lock, condition, barrier, semaphore or thread "
                                "of the trace has that name",
                                note.name);
        trace->operand[note.event] = operand;
        trace->flags[note.event] = (uint8_t)type;
    }
    return true;
}

static void settle_frees(struct hd_text_reader *r) {
    struct hd_trace *trace = r->builder->trace;
    for (size_t i = 0; i < r->frees.size; i++) {
        uint32_t extra = r->frees.data[i].event;
        uint64_t address = trace->operand[trace->extra_event[extra]];
        uint64_t extent = r->variable.data[address >> HD_TEXT_SHIFT].extent;
        trace->extra_value[extra] = extent - (address & ((1u << HD_TEXT_SHIFT) - 1));
    }
}

/* ---- names -------------------------------------------------------------------------------- */

static void give_names(struct hd_text_reader *r) {
    struct hd_trace *trace = r->builder->trace;
    struct hd_trace_memory *memory = r->builder->memory;
    size_t sites = memory->sites.name.size;
    char **site_names = hd_arena_zalloc(&memory->arena, sites + 1, sizeof *site_names);
    if (sites != 0) memcpy(site_names + 1, memory->sites.name.data, sites * sizeof *site_names);
    trace->sites = (uint32_t)sites + 1;
    trace->site_names = site_names;
    trace->variables = (uint32_t)memory->variables.name.size;
    trace->variable_names = memory->variables.name.data;
    trace->objects = (uint32_t)memory->objects.name.size;
    trace->object_names = memory->objects.name.data;
}

bool hd_text_settle(struct hd_text_reader *r) {
    settle_threads(r);
    if (!settle_waits(r) || !settle_blocked(r)) return false;
    settle_locks(r);
    settle_frees(r);
    give_names(r);
    return true;
}
