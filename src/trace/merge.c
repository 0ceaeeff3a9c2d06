/* One total order from the streams of a trace. Each stream is cut into segments by its STAMP
 * events; segments come in the order of their stamps, which were drawn from one counter that starts
 * at 1. */
#include "trace/merge.h"
#include "base/alloc.h"
#include "trace/expand.h"
#include "trace/fold.h"
#include "trace/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct source {
    uint32_t stream;
    uint32_t chunk;              /* being read, HD_NONE after the last */
    uint32_t thread;             /* current one of the stream */
    uint64_t stamp;              /* of the segment to be read next */
    bool opening;                /* nothing was read yet: the stamp is what the chunk header says */
    struct hd_wire_event *event; /* of the chunk; NULL until it is needed */
    size_t at;
    struct hd_expand_at expand;
};

enum { EXPANDED = 4096 }; /* events that are made at once from stored ones */

struct merge {
    const struct hd_event_store *store;
    struct hd_builder *builder;
    struct hd_unpacker *unpacker;
    struct hd_expand *expand; /* NULL: all events are stored */
    struct hd_wire_event *expanded;
    struct hd_expand_loop *loop; /* after these */
    uint64_t made;               /* events from stored ones */
    struct hd_fold fold;
    struct hd_sharing *looking; /* the first of two readings, which makes no events; NULL */
    struct hd_progress *progress;
    uint64_t decoded;
    uint64_t expected;             /* one above the highest stamp that was used */
    bool stopped;                  /* corrupt events: what follows is left out */
    HD_VECTOR(struct source) heap; /* lowest stamp first; equal ones by stream */
};

/* ---- heap --------------------------------------------------------------------------------- */

static bool before(const struct source *a, const struct source *b) {
    return a->stamp != b->stamp ? a->stamp < b->stamp : a->stream < b->stream;
}

/* Puts the source at the top, whose stamp has grown, where it belongs. */
static void sift_down(struct merge *m) {
    struct source moving = m->heap.data[0];
    size_t at = 0;
    for (;;) {
        size_t child = at * 2 + 1;
        if (child >= m->heap.size) break;
        if (child + 1 < m->heap.size && before(&m->heap.data[child + 1], &m->heap.data[child]))
            child++;
        if (!before(&m->heap.data[child], &moving)) break;
        m->heap.data[at] = m->heap.data[child];
        at = child;
    }
    m->heap.data[at] = moving;
}

static void push(struct merge *m, struct source source) {
    hd_vector_push(&m->heap, source);
    size_t at = m->heap.size - 1;
    while (at > 0 && before(&source, &m->heap.data[(at - 1) / 2])) {
        m->heap.data[at] = m->heap.data[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    m->heap.data[at] = source;
}

/* ---- sources ------------------------------------------------------------------------------ */

static void say_missing(struct merge *m, const char *what) {
    struct hd_trace_end *end = &m->builder->trace->end;
    end->whole = false;
    if (end->missing[0] == '\0') snprintf(end->missing, sizeof end->missing, "%s", what);
}

/* The file checks, but what it holds was not made by a recorder. */
static void stop(struct merge *m, const struct source *source, const char *why) {
    const struct hd_event_chunk *chunk = &m->store->chunk.data[source->chunk];
    char line[256];
    snprintf(line, sizeof line, "all from offset %llu on, where stream %u holds %s",
             (unsigned long long)chunk->offset, source->stream, why);
    say_missing(m, line);
    m->stopped = true;
}

static void decode(struct merge *m, struct source *source) {
    const struct hd_event_chunk *chunk = &m->store->chunk.data[source->chunk];
    source->event = hd_alloc(chunk->count, sizeof *source->event);
    source->at = 0;
    if (!hd_unpack(m->unpacker, chunk->bytes, chunk->length, source->event, chunk->count))
        stop(m, source, "events that cannot be unpacked");
    m->decoded += chunk->length;
    m->builder->trace->raw_events += m->stopped ? 0 : chunk->count;
    hd_progress_step(m->progress, m->decoded);
}

/* Looks at events as they were recorded, or folds them: up to a STAMP or their end. */
static bool take(struct merge *m, struct source *source, const struct hd_wire_event *event,
                 size_t count, size_t *taken, struct hd_error *error) {
    if (m->looking == NULL)
        return hd_fold_events(&m->fold, event, count, &source->thread, taken, error);
    hd_sharing_events(m->looking, event, count, &source->thread, taken);
    return true;
}

static bool take_loop(struct merge *m, struct source *source, struct hd_error *error) {
    struct hd_expand_loop *loop = m->loop;
    if (m->looking == NULL)
        return hd_fold_loop(&m->fold, loop->body, loop->length, loop->rounds, &source->thread,
                            error);
    hd_sharing_loop(m->looking, loop->body, loop->length, loop->rounds, &source->thread);
    return true;
}

/* Takes events of the chunk, up to a STAMP or its end; of expected ones perhaps not all. */
static bool take_some(struct merge *m, struct source *source, struct hd_error *error) {
    const struct hd_event_chunk *chunk = &m->store->chunk.data[source->chunk];
    const struct hd_wire_event *event = source->event + source->at;
    size_t count = chunk->count - source->at, taken = 0;
    if (m->expand == NULL) {
        bool good = take(m, source, event, count, &taken, error);
        source->at += taken;
        return good;
    }
    bool good;
    struct hd_expand_loop *loop = m->loop;
    size_t of_these, made = hd_expand_events(m->expand, &source->expand, event, count, &taken,
                                             m->expanded, EXPANDED, loop, &good);
    source->at += taken;
    m->made += made + loop->rounds * loop->length;
    if (m->made > m->store->most_expected)
        return hd_fail(error, HD_ERR_LIMIT, "more than %llu events",
                       (unsigned long long)m->store->most_expected);
    if (!take(m, source, m->expanded, made, &of_these, error)) return false;
    if (loop->rounds != 0 && !take_loop(m, source, error)) return false;
    if (good) return true;
    snprintf(m->fold.reason, sizeof m->fold.reason, "events that nothing led to");
    return hd_fail(error, HD_ERR_DAMAGED, "%s", m->fold.reason);
}

/* Is there more before the next STAMP of the chunk? */
static bool takes_on(const struct merge *m, const struct source *source) {
    const struct hd_event_chunk *chunk = &m->store->chunk.data[source->chunk];
    if (source->at == chunk->count) return false;
    struct hd_wire_event next = source->event[source->at];
    if (m->expand == NULL) return hd_wire_kind(next.head) != HD_EV_STAMP;
    return !hd_expand_at_stamp(&source->expand, next);
}

/* Reads the segment at the top of the heap, and on as long as the stream itself has the next one.
 * Then the stream goes where its next segment belongs, or away. */
static bool run_source(struct merge *m, struct hd_error *error) {
    struct source *source = &m->heap.data[0];
    uint64_t stamp = source->stamp;
    bool opening = source->opening && stamp != 0;
    source->opening = false;
    while (source->chunk != HD_NONE) {
        if (source->event == NULL) decode(m, source);
        if (m->stopped) return true;
        const struct hd_event_chunk *chunk = &m->store->chunk.data[source->chunk];
        uint64_t events_before = m->builder->trace->recorded;
        bool good = true;
        while (good && takes_on(m, source)) good = take_some(m, source, error);
        if (opening && m->builder->trace->recorded != events_before)
            return stop(m, source, "an event before its first stamp"), true;
        if (!good) {
            if (error->code != HD_ERR_DAMAGED) return false;
            return stop(m, source, m->fold.reason), true;
        }
        if (source->at == chunk->count) {
            free(source->event);
            source->event = NULL;
            source->chunk = chunk->next;
            continue;
        }
        uint64_t next = hd_expand_stamp(&source->expand, source->event[source->at++]);
        if (opening) {
            if (next != stamp) return stop(m, source, "another first stamp than it says"), true;
            opening = false;
        } else if (next == m->expected) {
            m->expected++;
        } else {
            source->stamp = next;
            sift_down(m);
            return true;
        }
    }
    *source = m->heap.data[--m->heap.size];
    if (m->heap.size > 0) sift_down(m);
    return true;
}

/* ---- the whole ---------------------------------------------------------------------------- */

static void open_sources(struct merge *m) {
    for (uint32_t i = 0; i < m->store->stream.size; i++) {
        uint32_t first = m->store->stream.data[i].first;
        if (first == HD_NONE) continue;
        struct source source = {.stream = i,
                                .chunk = first,
                                .thread = i,
                                .expand = {.thread = i},
                                .stamp = m->store->chunk.data[first].stamp,
                                .opening = true};
        push(m, source);
    }
}

static bool merge_all(struct merge *m, bool damaged, struct hd_error *error) {
    while (m->heap.size > 0 && !m->stopped) {
        uint64_t stamp = m->heap.data[0].stamp;
        if (stamp != 0) {
            if (stamp < m->expected)
                return stop(m, &m->heap.data[0], "a stamp that is not new"), true;
            if (stamp > m->expected && damaged) {
                char line[128];
                snprintf(line, sizeof line, "events from stamp %llu on",
                         (unsigned long long)m->expected);
                say_missing(m, line);
                return true;
            }
            m->expected = stamp + 1;
        }
        if (!run_source(m, error)) return false;
    }
    return true;
}

/* One reading of everything. */
static bool read_all(struct merge *m, bool damaged, struct hd_error *error) {
    m->expected = 1;
    m->stopped = false;
    m->made = 0;
    m->builder->trace->raw_events = 0;
    if (m->store->expected) m->expand = hd_expand_new();
    open_sources(m);
    bool good = merge_all(m, damaged, error);
    for (size_t i = 0; i < m->heap.size; i++) free(m->heap.data[i].event);
    m->heap.size = 0;
    hd_expand_free(m->expand);
    m->expand = NULL;
    return good;
}

/* The first of two readings. It need not stop where the second does, but has seen all that comes
 * before; what is missing, and why nothing can be shown, is said by the second. */
static void look_for_sharing(struct merge *m, bool damaged, struct hd_sharing *sharing) {
    struct hd_trace_end end = m->builder->trace->end;
    struct hd_error ignored;
    m->looking = sharing;
    (void)read_all(m, damaged, &ignored);
    m->looking = NULL;
    m->builder->trace->end = end;
    hd_sharing_again(sharing);
}

bool hd_merge(const struct hd_event_store *store, bool damaged, enum hd_trace_keep keep,
              struct hd_builder *builder, struct hd_progress *progress, struct hd_error *error) {
    struct merge m = {.store = store, .builder = builder, .progress = progress};
    struct hd_sharing *sharing = keep == HD_KEEP_SHARED ? hd_sharing_new(0) : NULL;
    m.unpacker = hd_unpacker_new();
    if (store->expected) {
        m.expanded = hd_alloc(EXPANDED, sizeof *m.expanded);
        m.loop = hd_zalloc(1, sizeof *m.loop);
    }
    hd_fold_start(&m.fold, builder);
    if (sharing != NULL) look_for_sharing(&m, damaged, sharing);
    if (keep != HD_KEEP_ALL) hd_fold_filter(&m.fold, sharing);
    bool good = read_all(&m, damaged, error) && hd_fold_finish(&m.fold, error);
    hd_vector_free(&m.heap);
    hd_unpacker_free(m.unpacker);
    free(m.expanded);
    free(m.loop);
    hd_fold_free(&m.fold);
    hd_sharing_free(sharing);
    return good;
}
