/* Moves events from a session's shared memory into the trace file. See live.h. */
#define _GNU_SOURCE
#include "run/live.h"

#include "base/search.h"
#include "trace/token.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define MAX_STREAMS 65536u /* threads that a trace can number */

/* Events of a chunk end at its first zero head. */
static uint32_t chunk_events(const struct hd_wire_chunk *chunk) {
    return hd_first_not(i, 0, (uint32_t)HD_CHUNK_EVENTS,
                        __atomic_load_n(&chunk->event[i].head, __ATOMIC_ACQUIRE) != 0);
}

uint32_t hd_session_module_count(const struct hd_session *s) {
    uint32_t count = __atomic_load_n(&s->memory->module_count, __ATOMIC_ACQUIRE);
    return count < HD_MAX_MODULES ? count : HD_MAX_MODULES;
}

struct hd_trace_module hd_session_module(const struct hd_session *s, uint32_t number,
                                         char path[HD_MODULE_PATH]) {
    struct hd_wire_module from = s->memory->module[number];
    path[0] = '\0';
    if (from.path < HD_STRINGS_BYTES) {
        size_t most = HD_STRINGS_BYTES - from.path;
        if (most > HD_MODULE_PATH - 1) most = HD_MODULE_PATH - 1;
        strncat(path, s->memory->strings + from.path, most);
    }
    struct hd_trace_module module = {.path = path,
                                     .text_lo = from.text_lo,
                                     .text_hi = from.text_hi,
                                     .bias = from.bias,
                                     .image_lo = from.image_lo,
                                     .image_hi = from.image_hi,
                                     .site_base = from.site_base,
                                     .build_id_length = from.build_id_length};
    if (module.build_id_length > sizeof module.build_id) module.build_id_length = 0;
    memcpy(module.build_id, from.build_id, sizeof module.build_id);
    return module;
}

bool hd_session_modules(struct hd_live *live, struct hd_session *s) {
    uint32_t count = hd_session_module_count(s);
    for (; s->modules_written < count; s->modules_written++) {
        char path[HD_MODULE_PATH];
        struct hd_trace_module module = hd_session_module(s, s->modules_written, path);
        if (!hd_writer_module(s->writer, &module, live->error)) return false;
    }
    return true;
}

/* Chunks have records, unless every event is stored (trace/token.h). */
static bool has_records(const struct hd_live *live) {
    return live->channel->options.full == HD_FULL_EXPECTED;
}

/* What a chunk holds that is not in the file yet. */
struct pending {
    uint32_t stream, sequence;
    uint32_t index, count; /* events, or bytes of records, up to count are there */
    uint64_t met;     /* events that came as expected after them, in a chunk that nobody closed */
    uint64_t choices; /* of these */
    bool full;
};
static int by_sequence(const void *a, const void *b) {
    const struct pending *x = a, *y = b;
    if (x->stream != y->stream) return x->stream < y->stream ? -1 : 1;
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static size_t find_pending(const struct hd_live *live, const struct hd_session *s,
                           enum hd_drain what, struct pending *pending) {
    size_t found = 0;
    bool records = has_records(live);
    uint32_t used = __atomic_load_n(&s->memory->chunks_used, __ATOMIC_ACQUIRE);
    if (used > s->chunk_count) used = s->chunk_count;
    for (uint32_t i = 0; i < used; i++) {
        const struct hd_wire_chunk *chunk = hd_wire_chunk(s->memory, i);
        uint32_t state = __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE);
        bool full = state == HD_CHUNK_FULL || (what == HD_DRAIN_REST && state == HD_CHUNK_OPEN);
        if (!full && (what != HD_DRAIN_SO_FAR || state != HD_CHUNK_OPEN)) continue;
        /* An open chunk says whose it is only once it holds an event. */
        uint64_t expected = __atomic_load_n(&chunk->expected, __ATOMIC_ACQUIRE);
        uint32_t count = (uint32_t)(expected >> HD_MET_BITS);
        if (!records) count = chunk_events(chunk);
        if (count > HD_CHUNK_RECORDS) count = HD_CHUNK_RECORDS; /* the program can write anything */
        bool counts = state == HD_CHUNK_OPEN && full && records;
        if (full || count > s->written[i])
            pending[found++] = (struct pending){.stream = chunk->stream,
                                                .sequence = chunk->sequence,
                                                .index = i,
                                                .count = count,
                                                .met = counts ? HD_MET(expected) : 0,
                                                .choices = counts ? chunk->choices : 0,
                                                .full = full};
    }
    qsort(pending, found, sizeof *pending, by_sequence);
    /* what was counted in a chunk that has a successor stands there */
    for (size_t i = 0; i + 1 < found; i++)
        if (pending[i].stream == pending[i + 1].stream && pending[i + 1].count != 0)
            pending[i].met = 0;
    return found;
}

static void count_events(struct hd_live *live, const struct hd_session *s, uint64_t events) {
    live->result->recorded.data[s - live->session.data].wire_events += events;
}

static bool write_events(struct hd_live *live, struct hd_session *s, uint32_t stream,
                         const struct hd_wire_event *event, uint32_t count) {
    if (!s->has_branches) {
        uint64_t any = 0;
        for (uint32_t i = 0; i < count; i++)
            if (hd_wire_kind(event[i].head) < HD_EV_THREAD) any |= hd_wire_branches(event[i].tail);
        s->has_branches = any != 0;
    }
    count_events(live, s, count);
    return hd_writer_events(s->writer, stream, event, count, live->error);
}

/* Is there a core that nobody needs, to compress on? The kernel says how many threads of the whole
 * machine could run at this moment, the recorder among them; what counts is the mean over some
 * chunks. */
static bool has_idle_core(struct hd_live *live) {
    char text[64] = "";
    unsigned running = 0;
    int fd = live->looked++ % 4 == 0 ? open("/proc/loadavg", O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0 && read(fd, text, sizeof text - 1) > 0) sscanf(text, "%*s %*s %*s %u", &running);
    if (fd >= 0) close(fd);
    if (running != 0) live->running += ((double)running - live->running) / 8;
    return live->running < get_nprocs() + 0.5;
}

static bool write_records(struct hd_live *live, struct hd_session *s, uint32_t stream,
                          const uint8_t *record, size_t length) {
    if (s->memory->has_branches) s->has_branches = true;
    return hd_writer_records(s->writer, stream, record, length, has_idle_core(live), live->error);
}

static bool write_pending(struct hd_live *live, struct hd_session *s, const struct pending *p) {
    const struct hd_wire_chunk *chunk = hd_wire_chunk(s->memory, p->index);
    uint32_t from = s->written[p->index];
    bool records = has_records(live);
    if (p->count > from) {
        s->written[p->index] = (uint16_t)p->count;
        if (!(records ? write_records(live, s, p->stream, chunk->record + from, p->count - from)
                      : write_events(live, s, p->stream, chunk->event + from, p->count - from)))
            return false;
    }
    if (p->full && records) count_events(live, s, chunk->events + p->met);
    if (p->met == 0) return true;
    uint8_t record[2 * HD_TOKEN_BYTES], *end = record;
    if (p->choices != 0) end = hd_token_put_choices(end, p->choices);
    end = hd_token_put_other(end, HD_TOKEN_MET, p->met, 0, 0);
    return write_records(live, s, p->stream, record, (size_t)(end - record));
}

bool hd_session_startup(struct hd_live *live, struct hd_session *s) {
    struct hd_wire_chunk chunk;
    if (!hd_session_modules(live, s)) return false;
    uint32_t chunks = 0;
    for (off_t at = 0; pread(live->startup, &chunk, sizeof chunk, at) == (ssize_t)sizeof chunk;
         at += (off_t)sizeof chunk, chunks++) {
        size_t bytes = chunk.expected >> HD_MET_BITS;
        if (bytes > HD_CHUNK_RECORDS) bytes = HD_CHUNK_RECORDS;
        if (has_records(live)) count_events(live, s, chunk.events);
        if (!(has_records(live) ? write_records(live, s, 0, chunk.record, bytes)
                                : write_events(live, s, 0, chunk.event, chunk_events(&chunk))))
            return false;
    }
    hd_vector_push(&s->next_sequence, chunks);
    return true;
}

static void free_chunk(const struct hd_live *live, struct hd_session *s, uint32_t index) {
    struct hd_wire_chunk *chunk = hd_wire_chunk(s->memory, index);
    size_t used = has_records(live) ? offsetof(struct hd_wire_chunk, record) : sizeof *chunk;
    memset((char *)chunk + sizeof chunk->state, 0, used - sizeof chunk->state);
    s->written[index] = 0;
    __atomic_fetch_sub(&s->memory->full_chunks, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&chunk->state, HD_CHUNK_FREE, __ATOMIC_RELEASE);
    __atomic_fetch_add(&s->memory->freed, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &s->memory->freed, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* Where a stream's next sequence number is kept; NULL for a stream that can't be. */
static uint32_t *next_of(struct hd_session *s, uint32_t stream) {
    if (stream >= MAX_STREAMS) return NULL;
    while (s->next_sequence.size <= stream) hd_vector_push(&s->next_sequence, 0);
    return &s->next_sequence.data[stream];
}

/* While the target runs, a chunk may become full after its successor was looked at:
 * a chunk is written only when its turn in its stream has come, and otherwise the next time. */
bool hd_session_drain(struct hd_live *live, struct hd_session *s, enum hd_drain what) {
    if (s->writer == NULL) return false;
    struct pending pending[HD_MAX_CHUNKS];
    size_t found = find_pending(live, s, what, pending);
    if (found == 0) return false;
    if (!hd_session_modules(live, s)) {
        hd_session_fail(live, s);
        return true;
    }
    for (size_t i = 0; i < found; i++) {
        const struct pending *p = &pending[i];
        uint32_t *next = next_of(s, p->stream);
        if (what != HD_DRAIN_REST && next != NULL && p->sequence != *next) continue;
        if (!write_pending(live, s, p)) {
            hd_session_fail(live, s);
            return true;
        }
        if (!p->full) continue;
        if (next != NULL) *next = p->sequence + 1;
        free_chunk(live, s, p->index);
    }
    return true;
}
