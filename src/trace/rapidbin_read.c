/* Reads RapidBin traces: a header of 18 bytes (16-bit number of threads, 32-bit numbers of locks
 * and variables, 64-bit number of events), then a word an event. Things are called T0, L0, V0 by
 * their numbers, sites by their number alone. */
#include "base/map.h"
#include "trace/build.h"
#include "trace/rapidbin_word.h"

#include <stdio.h>
#include <string.h>

/* Names of one kind of thing, made when its number comes up first. */
struct naming {
    const char *prefix;
    struct hd_intern *names;
    struct hd_map known; /* number -> index of its name */
    uint64_t last;       /* asked for, and its index: most are asked for again */
    uint32_t last_index;
};

struct reader {
    struct hd_builder *builder;
    const char *path;
    struct hd_error *error;
    struct naming threads, locks, variables, sites;
};

static uint64_t big_endian(const uint8_t *bytes, unsigned count) {
    uint64_t value = 0;
    for (unsigned i = 0; i < count; i++) value = value << 8 | bytes[i];
    return value;
}

/* A text never has the zero bytes that the counts of any real trace have. */
bool hd_rapidbin_recognise(const uint8_t *bytes, size_t length) {
    if (length < RAPIDBIN_HEADER) return false;
    uint64_t events = big_endian(bytes + 10, 8);
    return events >> 48 == 0 && memchr(bytes, 0, RAPIDBIN_HEADER) != NULL &&
           big_endian(bytes + 2, 4) >> 31 == 0 && big_endian(bytes + 6, 4) >> 31 == 0;
}

static uint32_t index_of(struct naming *naming, uint64_t number) {
    if (number == naming->last) return naming->last_index;
    uint32_t *known = hd_map_slot(&naming->known, number, HD_NONE);
    if (*known == HD_NONE) {
        char text[32];
        int length =
            snprintf(text, sizeof text, "%s%llu", naming->prefix, (unsigned long long)number);
        *known = hd_intern(naming->names, text, (size_t)length);
    }
    naming->last = number;
    return naming->last_index = *known;
}

static bool read_word(struct reader *r, uint64_t word, uint64_t number) {
    struct hd_trace *trace = r->builder->trace;
    unsigned op = word >> RAPIDBIN_OP_SHIFT & RAPIDBIN_OP_MASK;
    uint64_t decor = word >> RAPIDBIN_DECOR_SHIFT & RAPIDBIN_DECOR_MASK;
    if (op == RAPIDBIN_REQUEST) return true;
    if (op >= RAPIDBIN_OPS)
        return hd_fail(r->error, HD_ERR_FORMAT, "%s: event %llu has unknown operation %u", r->path,
                       (unsigned long long)number, op);
    uint64_t operand = 0;
    unsigned kind = hd_rapidbin_kind[op], flags = 0;
    uint32_t thread = index_of(&r->threads, word & RAPIDBIN_THREAD_MASK), object = thread;
    uint32_t site = index_of(&r->sites, word >> RAPIDBIN_SITE_SHIFT & RAPIDBIN_SITE_MASK);
    switch (hd_kind_class(kind)) {
    case HD_CLASS_ACCESS:
        object = index_of(&r->variables, decor);
        if (object >= (uint32_t)1 << (48 - HD_TEXT_SHIFT))
            return hd_fail(r->error, HD_ERR_LIMIT, "%s: too many variables", r->path);
        operand = (uint64_t)object << HD_TEXT_SHIFT;
        flags = 1;
        break;
    case HD_CLASS_LOCK:
        operand = index_of(&r->locks, decor);
        break;
    case HD_CLASS_THREAD:
        if (kind == HD_EV_FORK || kind == HD_EV_JOIN) object = index_of(&r->threads, decor);
        if (object >= HD_THREAD_LIMIT)
            return hd_fail(r->error, HD_ERR_LIMIT, "%s: event %llu: too many threads", r->path,
                           (unsigned long long)number);
        operand = object;
        break;
    default:
        operand = 1; /* a branch */
    }
    uint32_t at = trace->events++;
    trace->thread[at] = (uint16_t)thread;
    trace->kind[at] = (uint8_t)kind;
    trace->flags[at] = (uint8_t)flags;
    trace->operand[at] = operand;
    trace->site[at] = site;
    trace->stack[at] = 0;
    trace->branches[at] = kind == HD_EV_BRANCH;
    trace->calls[at] = 1;
    trace->has_branches |= kind == HD_EV_BRANCH;
    return true;
}

static void give_names(struct hd_builder *builder) {
    struct hd_trace *trace = builder->trace;
    struct hd_trace_memory *memory = builder->memory;
    trace->threads = (uint32_t)memory->threads.name.size;
    trace->thread_names = memory->threads.name.data;
    trace->variables = (uint32_t)memory->variables.name.size;
    trace->variable_names = memory->variables.name.data;
    trace->objects = (uint32_t)memory->objects.name.size;
    trace->object_names = memory->objects.name.data;
    trace->sites = (uint32_t)memory->sites.name.size;
    trace->site_names = memory->sites.name.data;
}

static bool read_words(struct reader *r, const uint8_t *bytes, uint64_t events,
                       struct hd_progress *progress) {
    if (!hd_build_reserve(r->builder, events, r->error)) return false;
    hd_progress_start(progress, "reading the trace", events);
    for (uint64_t i = 0; i < events; i++) {
        if (!read_word(r, big_endian(bytes + i * 8, 8), i)) return false;
        if (i % 65536 == 0) hd_progress_step(progress, i);
    }
    hd_progress_step(progress, events);
    return true;
}

bool hd_rapidbin_read(const uint8_t *bytes, size_t length, const char *path,
                      const struct hd_trace_options *options, struct hd_builder *builder,
                      struct hd_error *error) {
    struct hd_trace_memory *memory = builder->memory;
    struct hd_trace *trace = builder->trace;
    struct reader r = {.builder = builder,
                       .path = path,
                       .error = error,
                       .threads = {"T", &memory->threads, .last = UINT64_MAX},
                       .locks = {"L", &memory->objects, .last = UINT64_MAX},
                       .variables = {"V", &memory->variables, .last = UINT64_MAX},
                       .sites = {"", &memory->sites, .last = UINT64_MAX}};
    if (length < RAPIDBIN_HEADER)
        return hd_fail(error, HD_ERR_FORMAT, "%s: too short for a RapidBin trace", path);
    uint64_t claimed = big_endian(bytes + 10, 8), there = (length - RAPIDBIN_HEADER) / 8;
    trace->end.whole = claimed == there && (length - RAPIDBIN_HEADER) % 8 == 0;
    if (!trace->end.whole)
        snprintf(trace->end.missing, sizeof trace->end.missing,
                 "the header promises %llu events, the file has %llu", (unsigned long long)claimed,
                 (unsigned long long)there);
    bool good = read_words(&r, bytes + RAPIDBIN_HEADER, claimed < there ? claimed : there,
                           options->progress);
    hd_map_free(&r.threads.known);
    hd_map_free(&r.locks.known);
    hd_map_free(&r.variables.known);
    hd_map_free(&r.sites.known);
    trace->exact = true;
    trace->file_bytes = length;
    trace->stored_bytes = length - RAPIDBIN_HEADER;
    trace->raw_events = trace->hook_calls = trace->events;
    give_names(builder);
    return good;
}
