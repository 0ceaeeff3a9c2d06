/* Writes binary traces: see trace.h for the calls, format.h for the layout. Raw events wait in
 * memory, stream by stream, until there are enough for a chunk that packs well. */
#include "base/alloc.h"
#include "base/varint.h"
#include "base/vector.h"
#include "trace/format.h"
#include "trace/lanes.h"
#include "trace/pack.h"
#include "trace/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

/* Events that may wait in memory over all streams: 32 MB. */
enum { PENDING_LIMIT = 1 << 21, STREAM_LIMIT = 1 << 16 };

struct stream {
    struct hd_wire_event *event;
    uint32_t size, capacity;
    uint32_t sequence;
};

struct hd_writer {
    int fd;         /* -1: none */
    bool keep_open; /* standard output is not ours to close */
    char *path;
    uint64_t offset;
    struct hd_packer *packer;
    HD_VECTOR(struct stream) stream; /* by number */
    size_t pending;                  /* capacity of all streams together, in events */
    bool records;                    /* in place of events: they do not wait */
    struct hd_lanes *lanes;          /* for these; NULL until they are needed */
    unsigned pause; /* chunks that are not tried, because those before became hardly smaller */
    bool regular;   /* the last one that was tried became much smaller, which takes little time */
    /* while no core is idle: chunks that are not tried after one that was, and how many are left */
    unsigned leave_out, left_out;
    uint64_t events, chunks;
    bool failed; /* the file is no good any more: nothing further is written */
};

/* ---- chunks ------------------------------------------------------------------------------- */

static bool write_all(struct hd_writer *writer, const void *bytes, size_t length,
                      struct hd_error *error) {
    const char *at = bytes;
    while (length > 0) {
        ssize_t written = write(writer->fd, at, length);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            writer->failed = true;
            return hd_fail(error, HD_ERR_IO, "%s: cannot write: %s", writer->path,
                           strerror(written < 0 ? errno : ENOSPC));
        }
        at += written;
        length -= (size_t)written;
        writer->offset += (uint64_t)written;
    }
    return true;
}

static bool write_chunk(struct hd_writer *writer, struct hd_file_chunk header, const void *payload,
                        size_t length, struct hd_error *error) {
    if (writer->failed)
        return hd_fail(error, HD_ERR_IO, "%s: not written to after an earlier error", writer->path);
    if (length > UINT32_MAX)
        return hd_fail(error, HD_ERR_LIMIT, "%s: a chunk over 4 GB", writer->path);
    header.length = (uint32_t)length;
    header.checksum = hd_file_chunk_checksum(&header, payload, writer->offset);
    return write_all(writer, &header, sizeof header, error) &&
           write_all(writer, payload, length, error);
}

/* ---- events ------------------------------------------------------------------------------- */

/* The stamp that comes before the first event that is not bookkeeping, 0 if none does: the reader
 * can put the stream in its place without unpacking it. */
static uint64_t first_stamp(const struct hd_wire_event *event, size_t count) {
    for (size_t i = 0; i < count; i++) {
        unsigned kind = hd_wire_kind(event[i].head);
        if (kind == HD_EV_STAMP) return hd_wire_operand(event[i].head);
        if (hd_kind_class(kind) != HD_CLASS_BOOK) break;
    }
    return 0;
}

static bool store_events(struct hd_writer *writer, uint32_t number,
                         const struct hd_wire_event *event, size_t count, struct hd_error *error) {
    struct stream *stream = &writer->stream.data[number];
    const uint8_t *bytes;
    size_t length;
    hd_pack(writer->packer, event, count, &bytes, &length);
    struct hd_file_chunk header = {.type = HD_CHUNK_EVENTS_TYPE,
                                   .stream = number,
                                   .sequence = stream->sequence,
                                   .count = (uint32_t)count};
    if (stream->sequence == 0) header.stamp = first_stamp(event, count);
    if (!write_chunk(writer, header, bytes, length, error)) return false;
    stream->sequence++;
    writer->events += count;
    writer->chunks++;
    return true;
}

static bool store_stream(struct hd_writer *writer, uint32_t number, struct hd_error *error) {
    struct stream *stream = &writer->stream.data[number];
    if (stream->size == 0) return true;
    if (!store_events(writer, number, stream->event, stream->size, error)) return false;
    stream->size = 0;
    return true;
}

static void release_buffer(struct hd_writer *writer, struct stream *stream) {
    writer->pending -= stream->capacity;
    free(stream->event);
    stream->event = NULL;
    stream->capacity = 0;
}

/* Keeps the memory of all streams together below the limit: the one that holds most has to go. */
static bool relieve(struct hd_writer *writer, struct hd_error *error) {
    while (writer->pending > PENDING_LIMIT) {
        uint32_t largest = 0;
        for (uint32_t i = 1; i < writer->stream.size; i++) {
            if (writer->stream.data[i].capacity > writer->stream.data[largest].capacity)
                largest = i;
        }
        if (!store_stream(writer, largest, error)) return false;
        release_buffer(writer, &writer->stream.data[largest]);
    }
    return true;
}

static void make_room(struct hd_writer *writer, struct stream *stream, size_t count) {
    size_t wanted = stream->size + count;
    if (wanted <= stream->capacity) return;
    if (wanted < stream->capacity * (size_t)2) wanted = stream->capacity * (size_t)2;
    wanted = (wanted + 63) & ~(size_t)63;
    if (wanted > HD_PACK_EVENTS) wanted = HD_PACK_EVENTS;
    stream->event = hd_realloc(stream->event, wanted, sizeof *stream->event);
    writer->pending += wanted - stream->capacity;
    stream->capacity = (uint32_t)wanted;
}

/* ---- records ------------------------------------------------------------------------------ */

static uint64_t first_stamp_of_records(const uint8_t *record, size_t length) {
    struct hd_token token;
    for (; hd_token_get(record, length, &token); record += token.length, length -= token.length) {
        if (token.link != HD_TOKEN_OTHER) break;
        if (token.other == HD_TOKEN_STAMP || token.other == HD_TOKEN_STAMP_NEAR) return token.value;
        if (token.other != HD_TOKEN_EVENT ||
            hd_kind_class(hd_wire_kind(token.event.head)) != HD_CLASS_BOOK)
            break;
    }
    return 0;
}

enum {
    RECORDS_PAUSE = 15,
    RECORDS_LEAST = 256,
    REGULAR = 4,
    LEAVE_OUT_LEAST = 16,
    LEAVE_OUT_MOST = 128
};

/* Returns how many bytes they are, compressed, at *packed; 0: it is not worth it. If no core is
 * idle, it is where they become much smaller; which is tried now and then, and less often where
 * they never do. */
static size_t pack_records(struct hd_writer *writer, const uint8_t *record, size_t length,
                           bool idle, const uint8_t **packed) {
    if (length < RECORDS_LEAST) return 0;
    if (!idle && !writer->regular && writer->left_out > 0) {
        writer->left_out--;
        return 0;
    }
    if (idle && writer->pause > 0) {
        writer->pause--;
        return 0;
    }
    if (writer->lanes == NULL) writer->lanes = hd_lanes_new();
    size_t stored = hd_lanes_pack(writer->lanes, record, length, packed);
    if (stored == 0 || stored > length - length / 8) writer->pause = RECORDS_PAUSE;
    writer->regular = stored != 0 && stored <= length / REGULAR;
    if (writer->regular || writer->leave_out == 0)
        writer->leave_out = LEAVE_OUT_LEAST;
    else if (writer->leave_out < LEAVE_OUT_MOST)
        writer->leave_out *= 2;
    writer->left_out = writer->leave_out;
    return stored < length ? stored : 0;
}

static struct stream *stream_of(struct hd_writer *writer, uint32_t number, struct hd_error *error) {
    if (number >= STREAM_LIMIT) {
        hd_fail(error, HD_ERR_LIMIT, "%s: stream %u, but streams go up to %u", writer->path, number,
                STREAM_LIMIT - 1);
        return NULL;
    }
    while (writer->stream.size <= number) hd_vector_push(&writer->stream, ((struct stream){0}));
    return &writer->stream.data[number];
}

bool hd_writer_records(struct hd_writer *writer, uint32_t number, const uint8_t *record,
                       size_t length, bool idle, struct hd_error *error) {
    struct stream *stream = stream_of(writer, number, error);
    if (stream == NULL) return false;
    const uint8_t *payload = record;
    size_t packed = pack_records(writer, record, length, idle, &payload);
    struct hd_file_chunk header = {.type = HD_CHUNK_RECORDS_TYPE,
                                   .stream = number,
                                   .sequence = stream->sequence,
                                   .count = (uint32_t)length};
    if (stream->sequence == 0) header.stamp = first_stamp_of_records(record, length);
    if (!write_chunk(writer, header, packed != 0 ? payload : record, packed != 0 ? packed : length,
                     error))
        return false;
    stream->sequence++;
    writer->events += length;
    writer->chunks++;
    return true;
}

/* Events that nobody expects, at the end of a stream of records. */
static bool store_as_records(struct hd_writer *writer, uint32_t number,
                             const struct hd_wire_event *event, size_t count,
                             struct hd_error *error) {
    for (size_t i = 0; i < count; i++) {
        uint8_t record[HD_TOKEN_BYTES];
        bool thread = hd_wire_kind(event[i].head) == HD_EV_THREAD;
        uint8_t *end = thread ? hd_token_put_other(record, HD_TOKEN_THREAD, 0,
                                                   hd_wire_operand(event[i].head), 4)
                              : hd_token_put_event(record, 0, event[i].head, event[i].tail, 0);
        if (!hd_writer_records(writer, number, record, (size_t)(end - record), false, error))
            return false;
    }
    return true;
}

bool hd_writer_events(struct hd_writer *writer, uint32_t number, const struct hd_wire_event *event,
                      size_t count, struct hd_error *error) {
    struct stream *stream = stream_of(writer, number, error);
    if (stream == NULL) return false;
    if (writer->records) return store_as_records(writer, number, event, count, error);
    while (count > 0) {
        if (stream->size == 0 && count >= HD_PACK_EVENTS) {
            if (!store_events(writer, number, event, HD_PACK_EVENTS, error)) return false;
            event += HD_PACK_EVENTS;
            count -= HD_PACK_EVENTS;
            continue;
        }
        size_t part = HD_PACK_EVENTS - stream->size;
        if (part > count) part = count;
        make_room(writer, stream, part);
        memcpy(stream->event + stream->size, event, part * sizeof *event);
        stream->size += (uint32_t)part;
        event += part;
        count -= part;
        if (stream->size == HD_PACK_EVENTS && !store_stream(writer, number, error)) return false;
    }
    return relieve(writer, error);
}

bool hd_writer_flush(struct hd_writer *writer, struct hd_error *error) {
    for (uint32_t i = 0; i < writer->stream.size; i++) {
        if (!store_stream(writer, i, error)) return false;
    }
    return true;
}

/* ---- records ------------------------------------------------------------------------------ */

static bool write_about(struct hd_writer *writer, const struct hd_trace_about *about,
                        uint32_t origin, struct hd_error *error) {
    const char *command = about->command != NULL ? about->command : "";
    size_t size = 64 + strlen(command);
    struct hd_fields to = {.bytes = hd_alloc(1, size), .size = size};
    hd_put32(&to, origin);
    hd_put32(&to, (uint32_t)about->pid);
    hd_put32(&to, about->options.scheduler);
    hd_put32(&to, about->options.policy);
    hd_put64(&to, about->options.seed);
    hd_put32(&to, about->options.quantum);
    hd_put32(&to, about->options.full);
    hd_put32(&to, (about->options.children & 1) | about->options.process << 1);
    hd_put32(&to, about->options.watchdog_ms);
    hd_put_string(&to, command);
    bool good =
        write_chunk(writer, (struct hd_file_chunk){.type = HD_CHUNK_ABOUT}, to.bytes, to.at, error);
    free(to.bytes);
    return good;
}

bool hd_writer_module(struct hd_writer *writer, const struct hd_trace_module *module,
                      struct hd_error *error) {
    const char *path = module->path != NULL ? module->path : "";
    size_t size = 128 + strlen(path);
    struct hd_fields to = {.bytes = hd_alloc(1, size), .size = size};
    uint32_t id_length = module->build_id_length;
    if (id_length > sizeof module->build_id) id_length = sizeof module->build_id;
    hd_put64(&to, module->text_lo);
    hd_put64(&to, module->text_hi);
    hd_put64(&to, module->bias);
    hd_put64(&to, module->image_lo);
    hd_put64(&to, module->image_hi);
    hd_put32(&to, module->site_base);
    hd_put32(&to, id_length);
    hd_put_bytes(&to, module->build_id, id_length);
    hd_put_string(&to, path);
    bool good = write_chunk(writer, (struct hd_file_chunk){.type = HD_CHUNK_MODULE}, to.bytes,
                            to.at, error);
    free(to.bytes);
    return good;
}

static bool write_names(struct hd_writer *writer, enum hd_name_list list, const uint8_t *raw,
                        size_t length, uint32_t count, struct hd_error *error) {
    size_t bound = ZSTD_compressBound(length);
    uint8_t *payload = hd_alloc(1, 4 + bound);
    uint32_t raw_length = (uint32_t)length;
    memcpy(payload, &raw_length, 4);
    size_t stored = ZSTD_compress(payload + 4, bound, raw, length, 3);
    if (ZSTD_isError(stored)) hd_out_of_memory(); /* nothing else can fail with that much room */
    struct hd_file_chunk header = {.type = HD_CHUNK_NAMES, .stream = list, .count = count};
    bool good = write_chunk(writer, header, payload, 4 + stored, error);
    free(payload);
    return good;
}

bool hd_writer_names(struct hd_writer *writer, enum hd_name_list list, char *const *name,
                     uint32_t count, struct hd_error *error) {
    HD_VECTOR(uint8_t) raw = {0};
    uint32_t first = 0;
    bool good = true;
    for (uint32_t i = 0; good && i < count; i++) {
        /* 0 is no name, otherwise the length + 1 and the bytes */
        size_t length = name[i] != NULL ? strlen(name[i]) : 0;
        if (length >= HD_NAME_LIMIT) {
            good = hd_fail(error, HD_ERR_LIMIT, "%s: a name of %zu bytes", writer->path, length);
            break;
        }
        hd_vector_reserve(&raw, HD_VARINT_BYTES + length);
        raw.size += hd_varint_put(raw.data + raw.size, name[i] != NULL ? length + 1 : 0);
        if (length != 0) memcpy(raw.data + raw.size, name[i], length);
        raw.size += length;
        if (raw.size >= HD_NAMES_BYTES || i + 1 == count) {
            good = write_names(writer, list, raw.data, raw.size, i + 1 - first, error);
            first = i + 1;
            raw.size = 0;
        }
    }
    hd_vector_free(&raw);
    return good;
}

/* ---- life of a writer --------------------------------------------------------------------- */

void hd_writer_abandon(struct hd_writer *writer) {
    if (writer == NULL) return;
    if (writer->fd >= 0 && !writer->keep_open) close(writer->fd);
    for (size_t i = 0; i < writer->stream.size; i++) free(writer->stream.data[i].event);
    hd_vector_free(&writer->stream);
    hd_packer_free(writer->packer);
    hd_lanes_free(writer->lanes);
    free(writer->path);
    free(writer);
}

struct hd_writer *hd_writer_create(const char *path, const struct hd_trace_about *about,
                                   uint32_t features, uint32_t origin, struct hd_error *error) {
    struct hd_writer *writer = hd_zalloc(1, sizeof *writer);
    writer->path = hd_strdup(path);
    writer->records = (features & HD_FEATURE_RECORDS) != 0;
    if (!writer->records) writer->packer = hd_packer_new();
    writer->keep_open = strcmp(path, "-") == 0;
    writer->fd = writer->keep_open ? STDOUT_FILENO
                                   : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (writer->fd < 0) {
        hd_fail(error, HD_ERR_IO, "%s: cannot create: %s", path, strerror(errno));
        hd_writer_abandon(writer);
        return NULL;
    }
    struct hd_file_header header = {.version = HD_FILE_VERSION, .features = features};
    memcpy(header.magic, HD_FILE_MAGIC, HD_FILE_MAGIC_BYTES);
    header.checksum = hd_file_header_checksum(&header);
    if (!write_all(writer, &header, sizeof header, error) ||
        !write_about(writer, about, origin, error)) {
        hd_writer_abandon(writer);
        return NULL;
    }
    return writer;
}

struct hd_writer *hd_writer_open(const char *path, const struct hd_trace_about *about,
                                 struct hd_error *error) {
    uint32_t features = about->options.full == HD_FULL_EXPECTED ? HD_FEATURE_RECORDS : 0;
    return hd_writer_create(path, about, features, HD_FORMAT_BINARY, error);
}

bool hd_writer_finish(struct hd_writer *writer, const struct hd_trace_end *end, bool has_branches,
                      struct hd_error *error) {
    bool good = hd_writer_flush(writer, error);
    if (good) {
        uint8_t bytes[64 + sizeof end->missing];
        struct hd_fields to = {.bytes = bytes, .size = sizeof bytes};
        hd_put32(&to, (end->exited ? HD_END_EXITED : 0) | (end->signaled ? HD_END_SIGNALED : 0) |
                          (end->deadlocked ? HD_END_DEADLOCKED : 0) |
                          (has_branches ? HD_END_BRANCHES : 0));
        hd_put32(&to, (uint32_t)end->status);
        hd_put64(&to, end->lost_events);
        hd_put64(&to, writer->events);
        hd_put64(&to, writer->chunks);
        hd_put_string(&to, end->missing);
        good =
            write_chunk(writer, (struct hd_file_chunk){.type = HD_CHUNK_END}, bytes, to.at, error);
    }
    if (!writer->keep_open) {
        if (close(writer->fd) != 0 && good)
            good = hd_fail(error, HD_ERR_IO, "%s: cannot write: %s", writer->path, strerror(errno));
        writer->fd = -1;
    }
    hd_writer_abandon(writer);
    return good;
}
