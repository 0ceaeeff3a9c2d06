/* Reads binary traces (.hdt). The file is untrusted: nothing is used before its chunk's checksum
 * was right, and then every length, number and offset is still checked. A file that is damaged or
 * cut short is read up to its last good chunk. */
#include "base/alloc.h"
#include "base/varint.h"
#include "trace/format.h"
#include "trace/merge.h"
#include "trace/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { TRUSTED_EVENTS = 1 << 24, BESIDE_EVENTS = 1 << 18 };
#define MOST_EXPECTED (1ull << 40)

struct reader {
    const uint8_t *bytes;
    size_t length;
    const char *path;
    struct hd_builder *builder;
    uint32_t features;
    struct hd_event_store store;
    HD_VECTOR(char *) name[HD_NAME_LISTS];
    uint64_t events; /* in chunks so far */
    bool has_about, has_end;
};

bool hd_binary_recognise(const uint8_t *bytes, size_t length) {
    return length >= HD_FILE_MAGIC_BYTES && memcmp(bytes, HD_FILE_MAGIC, HD_FILE_MAGIC_BYTES) == 0;
}

/* A chunk that checks but does not say what it should. Told apart from other failures so that the
 * caller can keep what came before it. */
static bool malformed(struct hd_error *error, const char *what) {
    return hd_fail(error, HD_ERR_DAMAGED, "%s", what);
}

/* ---- chunks ------------------------------------------------------------------------------- */

static bool read_about(struct reader *r, struct hd_fields from, struct hd_error *error) {
    struct hd_trace *trace = r->builder->trace;
    uint32_t about = hd_get32(&from), origin = about & HD_ABOUT_FORMAT_MASK;
    hd_get32(&from); /* pid */
    trace->options.scheduler = hd_get32(&from);
    trace->options.policy = hd_get32(&from);
    trace->options.seed = hd_get64(&from);
    trace->options.quantum = hd_get32(&from);
    trace->options.full = hd_get32(&from);
    uint32_t children = hd_get32(&from);
    trace->options.children = children & 1;
    trace->options.process = children >> 1;
    trace->options.watchdog_ms = hd_get32(&from);
    size_t length;
    const char *command = hd_get_string(&from, &length);
    if (from.failed || from.at != from.size || r->has_about || origin > HD_FORMAT_RAPIDBIN ||
        (origin != HD_FORMAT_BINARY) != ((r->features & HD_FEATURE_NAMES) != 0))
        return malformed(error, "a corrupt ABOUT chunk");
    trace->format = origin;
    trace->hex_offsets = (about & HD_ABOUT_HEX_OFFSETS) != 0;
    trace->exact = origin != HD_FORMAT_BINARY || trace->options.scheduler == HD_SCHED_SERIAL;
    trace->command = hd_arena_copy(&r->builder->memory->arena, command, length);
    r->has_about = true;
    return true;
}

static bool read_module(struct reader *r, struct hd_fields from, struct hd_error *error) {
    struct hd_trace_module module = {0};
    module.text_lo = hd_get64(&from);
    module.text_hi = hd_get64(&from);
    module.bias = hd_get64(&from);
    module.image_lo = hd_get64(&from);
    module.image_hi = hd_get64(&from);
    module.site_base = hd_get32(&from);
    module.build_id_length = hd_get32(&from);
    if (module.build_id_length > sizeof module.build_id)
        return malformed(error, "a module whose build id is too long");
    hd_get_bytes(&from, module.build_id, module.build_id_length);
    size_t length;
    const char *path = hd_get_string(&from, &length);
    if (from.failed || from.at != from.size || module.text_lo > module.text_hi ||
        module.image_lo > module.image_hi)
        return malformed(error, "a corrupt MODULE chunk");
    module.path = hd_arena_copy(&r->builder->memory->arena, path, length);
    hd_vector_push(&r->builder->memory->module, module);
    return true;
}

static bool add_names(struct reader *r, const struct hd_file_chunk *chunk, const uint8_t *raw,
                      size_t length, struct hd_error *error) {
    const uint8_t *end = raw + length;
    for (uint32_t i = 0; i < chunk->count; i++) {
        uint64_t marked;
        size_t header = hd_varint_get(raw, (size_t)(end - raw), &marked);
        raw += header;
        if (header == 0 || (marked != 0 && marked - 1 > (size_t)(end - raw)))
            return malformed(error, "names that are cut short");
        char *name = NULL;
        if (marked != 0) {
            if (memchr(raw, '\0', (size_t)(marked - 1)) != NULL)
                return malformed(error, "a name with a NUL byte");
            name =
                hd_arena_copy(&r->builder->memory->arena, (const char *)raw, (size_t)(marked - 1));
            raw += marked - 1;
        } else if (chunk->stream != HD_NAMES_SITES) {
            return malformed(error, "something without a name");
        }
        hd_vector_push(&r->name[chunk->stream], name);
    }
    return raw == end || malformed(error, "more names than it says");
}

static bool read_names(struct reader *r, const struct hd_file_chunk *chunk, const uint8_t *payload,
                       struct hd_error *error) {
    uint32_t raw_length;
    if (chunk->stream >= HD_NAME_LISTS || chunk->length < sizeof raw_length ||
        (r->features & HD_FEATURE_NAMES) == 0)
        return malformed(error, "a corrupt NAMES chunk");
    memcpy(&raw_length, payload, sizeof raw_length);
    if (raw_length > HD_NAMES_BYTES + HD_NAME_LIMIT + HD_VARINT_BYTES)
        return malformed(error, "too many names in one chunk");
    uint8_t *raw = hd_alloc(1, raw_length);
    size_t made = ZSTD_decompress(raw, raw_length, payload + sizeof raw_length,
                                  chunk->length - sizeof raw_length);
    bool good = !ZSTD_isError(made) && made == raw_length
                    ? add_names(r, chunk, raw, raw_length, error)
                    : malformed(error, "names that cannot be decompressed");
    free(raw);
    return good;
}

static bool read_events(struct reader *r, const struct hd_file_chunk *chunk, const uint8_t *payload,
                        uint64_t offset, struct hd_error *error) {
    bool records = chunk->type == HD_CHUNK_RECORDS_TYPE;
    uint32_t most = records ? HD_RECORDS_LIMIT : HD_PACK_EVENTS;
    if (chunk->stream >= HD_THREAD_LIMIT || chunk->count == 0 || chunk->count > most ||
        (records && chunk->length > chunk->count) ||
        records != ((r->features & HD_FEATURE_RECORDS) != 0))
        return malformed(error, "a corrupt chunk of events");
    while (r->store.stream.size <= chunk->stream) {
        struct hd_event_stream none = {.first = HD_NONE, .last = HD_NONE};
        hd_vector_push(&r->store.stream, none);
    }
    struct hd_event_stream *stream = &r->store.stream.data[chunk->stream];
    if (chunk->sequence != stream->sequence)
        return malformed(error, "events out of their sequence");
    uint32_t number = (uint32_t)r->store.chunk.size;
    struct hd_event_chunk entry = {.bytes = payload,
                                   .length = chunk->length,
                                   .count = chunk->count,
                                   .offset = offset,
                                   .stamp = chunk->stamp,
                                   .next = HD_NONE};
    hd_vector_push(&r->store.chunk, entry);
    if (stream->first == HD_NONE)
        stream->first = number;
    else
        r->store.chunk.data[stream->last].next = number;
    stream->last = number;
    stream->sequence++;
    r->events += chunk->count;
    r->builder->trace->stored_bytes += sizeof *chunk + chunk->length;
    return true;
}

static bool read_end(struct reader *r, struct hd_fields from, struct hd_error *error) {
    struct hd_trace *trace = r->builder->trace;
    uint32_t flags = hd_get32(&from);
    int32_t status = (int32_t)hd_get32(&from);
    uint64_t lost = hd_get64(&from), events = hd_get64(&from), chunks = hd_get64(&from);
    size_t length;
    const char *missing = hd_get_string(&from, &length);
    if (from.failed || from.at != from.size || length >= sizeof trace->end.missing)
        return malformed(error, "a corrupt END chunk");
    if (events != r->events || chunks != r->store.chunk.size)
        return malformed(error, "an end that counts other events than are there");
    trace->end.exited = (flags & HD_END_EXITED) != 0;
    trace->end.signaled = (flags & HD_END_SIGNALED) != 0;
    trace->end.deadlocked = (flags & HD_END_DEADLOCKED) != 0;
    trace->has_branches = (flags & HD_END_BRANCHES) != 0;
    trace->end.status = status;
    trace->end.lost_events = lost;
    memcpy(trace->end.missing, missing, length);
    trace->end.missing[length] = '\0';
    trace->end.whole = length == 0;
    r->has_end = true;
    return true;
}

static bool read_chunk(struct reader *r, const struct hd_file_chunk *chunk, const uint8_t *payload,
                       uint64_t offset, struct hd_error *error) {
    struct hd_fields from = {.bytes = (uint8_t *)payload, .size = chunk->length};
    if (!r->has_about && chunk->type != HD_CHUNK_ABOUT)
        return malformed(error, "something before the record about the run");
    switch (chunk->type) {
    case HD_CHUNK_ABOUT:
        return read_about(r, from, error);
    case HD_CHUNK_MODULE:
        return read_module(r, from, error);
    case HD_CHUNK_NAMES:
        return read_names(r, chunk, payload, error);
    case HD_CHUNK_EVENTS_TYPE:
    case HD_CHUNK_RECORDS_TYPE:
        return read_events(r, chunk, payload, offset, error);
    case HD_CHUNK_END:
        return read_end(r, from, error);
    default:
        return hd_fail(error, HD_ERR_UNSUPPORTED,
                       "%s: a chunk of unknown type 0x%08x at offset %llu; a newer heddle wrote it",
                       r->path, chunk->type, (unsigned long long)offset);
    }
}

/* ---- the file ----------------------------------------------------------------------------- */

static bool read_header(struct reader *r, struct hd_error *error) {
    struct hd_file_header header;
    if (r->length < sizeof header)
        return hd_fail(error, HD_ERR_DAMAGED, "%s: cut short within its header, nothing to read",
                       r->path);
    memcpy(&header, r->bytes, sizeof header);
    if (header.checksum != hd_file_header_checksum(&header))
        return hd_fail(error, HD_ERR_DAMAGED, "%s: the header is damaged, nothing to read",
                       r->path);
    if (header.version != HD_FILE_VERSION)
        return hd_fail(error, HD_ERR_UNSUPPORTED,
                       "%s: trace format version %u, this heddle reads version %u", r->path,
                       header.version, HD_FILE_VERSION);
    if (header.features & HD_FEATURE_OLD)
        return hd_fail(error, HD_ERR_UNSUPPORTED,
                       "%s: a full recording of an older heddle, which this one does not read; "
                       "record the program again",
                       r->path);
    uint32_t unknown = header.features & ~(uint32_t)HD_FEATURES_KNOWN;
    if (unknown != 0)
        return hd_fail(error, HD_ERR_UNSUPPORTED,
                       "%s: uses trace features 0x%x that this heddle does not know; read it with "
                       "a newer one",
                       r->path, unknown);
    r->features = header.features;
    return true;
}

static void say_missing(struct reader *r, uint64_t offset, const char *why) {
    struct hd_trace_end *end = &r->builder->trace->end;
    end->whole = false;
    snprintf(end->missing, sizeof end->missing, "all from offset %llu of %zu on: %.150s",
             (unsigned long long)offset, r->length, why);
}

/* Reads chunks up to the end or the first that is no good; that is not a failure. */
static bool read_chunks(struct reader *r, struct hd_error *error) {
    uint64_t offset = sizeof(struct hd_file_header);
    while (!r->has_end) {
        struct hd_file_chunk chunk;
        if (offset == r->length)
            return say_missing(r, offset, "the recording was cut short before its end"), true;
        if (r->length - offset < sizeof chunk)
            return say_missing(r, offset, "the file is cut short"), true;
        memcpy(&chunk, r->bytes + offset, sizeof chunk);
        const uint8_t *payload = r->bytes + offset + sizeof chunk;
        if (chunk.length > r->length - offset - sizeof chunk)
            return say_missing(r, offset, "the file is damaged or cut short"), true;
        if (chunk.checksum != hd_file_chunk_checksum(&chunk, payload, offset))
            return say_missing(r, offset, "a checksum is wrong"), true;
        if (!read_chunk(r, &chunk, payload, offset, error)) {
            if (error->code != HD_ERR_DAMAGED) return false;
            return say_missing(r, offset, error->message), true;
        }
        offset += sizeof chunk + chunk.length;
    }
    if (offset != r->length) say_missing(r, offset, "there are bytes after the end of the trace");
    return true;
}

/* Memory that has a name ends where the name's addresses do. */
static bool within_name(const struct hd_trace *trace, uint32_t event) {
    uint64_t span = (uint64_t)1 << HD_TEXT_SHIFT, offset = trace->operand[event] & (span - 1);
    return hd_trace_size(trace, event) <= span - offset;
}

/* Operands, sites and threads of a trace with names must have one. */
static bool check_names(struct reader *r) {
    const struct hd_trace *trace = r->builder->trace;
    for (uint32_t i = 0; i < trace->events; i++) {
        enum hd_event_class class = hd_kind_class(trace->kind[i]);
        uint64_t operand = trace->operand[i];
        if (trace->site[i] >= r->name[HD_NAMES_SITES].size) return false;
        if (trace->kind[i] == HD_EV_FENCE || trace->kind[i] == HD_EV_BRANCH) continue;
        if (trace->kind[i] == HD_EV_BLOCKED) {
            if (trace->flags[i] == HD_WAIT_JOIN)
                class = HD_CLASS_THREAD;
            else if (trace->flags[i] == HD_WAIT_ONCE)
                class = HD_CLASS_ACCESS;
            else
                class = HD_CLASS_LOCK;
        }
        switch (class) {
        case HD_CLASS_ACCESS:
        case HD_CLASS_ATOMIC:
        case HD_CLASS_MEMORY:
            if (operand >> HD_TEXT_SHIFT >= r->name[HD_NAMES_VARIABLES].size) return false;
            if (trace->kind[i] != HD_EV_BLOCKED && !within_name(trace, i)) return false;
            break;
        case HD_CLASS_THREAD:
            if (operand >= trace->threads) return false;
            break;
        default:
            if (operand >= r->name[HD_NAMES_OBJECTS].size) return false;
        }
    }
    return trace->threads <= r->name[HD_NAMES_THREADS].size;
}

static bool give_names(struct reader *r, struct hd_error *error) {
    struct hd_trace *trace = r->builder->trace;
    if (!check_names(r))
        return hd_fail(error, HD_ERR_DAMAGED, "%s: an event refers to a name that is not there",
                       r->path);
    struct hd_arena *arena = &r->builder->memory->arena;
    char **copy[HD_NAME_LISTS];
    for (unsigned i = 0; i < HD_NAME_LISTS; i++) {
        copy[i] = hd_arena_zalloc(arena, r->name[i].size, sizeof(char *));
        if (r->name[i].size != 0)
            memcpy(copy[i], r->name[i].data, r->name[i].size * sizeof(char *));
    }
    /* threads that have a name but no event are threads too */
    trace->threads = (uint32_t)r->name[HD_NAMES_THREADS].size;
    trace->thread_names = copy[HD_NAMES_THREADS];
    trace->variables = (uint32_t)r->name[HD_NAMES_VARIABLES].size;
    trace->variable_names = copy[HD_NAMES_VARIABLES];
    trace->objects = (uint32_t)r->name[HD_NAMES_OBJECTS].size;
    trace->object_names = copy[HD_NAMES_OBJECTS];
    trace->sites = (uint32_t)r->name[HD_NAMES_SITES].size;
    trace->site_names = copy[HD_NAMES_SITES];
    return true;
}

/* A thread beside costs a tenth of a millisecond, and pays where there are many events. How many
 * there are is not known before they were made: a file of some kB may have millions. */
static uint64_t beside_after(const struct hd_trace_options *options) {
    if (options->threads == 0) return BESIDE_EVENTS;
    return options->threads > 1 ? 0 : UINT64_MAX;
}

static uint64_t readings_of(enum hd_trace_keep keep) {
    return keep == HD_KEEP_SHARED || keep == HD_KEEP_CONCURRENT ? 2 : 1;
}

bool hd_binary_read(const uint8_t *bytes, size_t length, const char *path,
                    const struct hd_trace_options *options, struct hd_builder *builder,
                    struct hd_error *error) {
    struct reader r = {.bytes = bytes, .length = length, .path = path, .builder = builder};
    struct hd_trace *trace = builder->trace;
    trace->file_bytes = length;
    bool good = read_header(&r, error) && read_chunks(&r, error);
    if (good && !r.has_about)
        good = hd_fail(error, HD_ERR_DAMAGED,
                       "%s: damaged or cut short at its start, nothing to read", path);
    if (good) {
        /* what everything else is made from is not a full recording any more */
        bool full = trace->options.full != 0 && trace->format == HD_FORMAT_BINARY;
        trace->kept = full ? options->keep : HD_KEEP_ALL;
        uint64_t readings = readings_of(trace->kept);
        hd_progress_start(options->progress, "reading the trace", trace->stored_bytes * readings);
        bool damaged = !r.has_end || !trace->end.whole;
        r.store.records = (r.features & HD_FEATURE_RECORDS) != 0;
        r.store.most_expected =
            options->most_expected != 0 ? options->most_expected : MOST_EXPECTED;
        r.store.beside_after = beside_after(options);
        /* what the headers say is only a hint: a small file could claim a lot */
        size_t expected = r.events < TRUSTED_EVENTS ? (size_t)r.events : TRUSTED_EVENTS;
        if (trace->kept != HD_KEEP_ALL) expected = 0;
        good = hd_build_reserve(builder, expected, error) &&
               hd_merge(&r.store, damaged, options, builder, error);
    }
    if (good && trace->options.scheduler == HD_SCHED_FREE) hd_place_waits(builder);
    if (good && (r.features & HD_FEATURE_NAMES) != 0) good = give_names(&r, error);
    hd_vector_free(&r.store.chunk);
    hd_vector_free(&r.store.stream);
    for (unsigned i = 0; i < HD_NAME_LISTS; i++) hd_vector_free(&r.name[i]);
    return good;
}
