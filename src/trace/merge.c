/* One total order from the streams of a trace. Each stream is cut into segments by its STAMP
 * events; segments come in the order of their stamps, which were drawn from one counter that starts
 * at 1. */
#include "trace/merge.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "trace/expand.h"
#include "trace/fold.h"
#include "trace/handover.h"
#include "trace/lanes.h"
#include "trace/pack.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct source {
    uint32_t stream;
    uint32_t chunk;              /* being read, HD_NONE after the last */
    uint64_t stamp;              /* of the segment to be read next */
    bool opening;                /* nothing was read yet: the stamp is what the chunk header says */
    struct hd_wire_event *event; /* of the chunk; NULL until they are needed, or its records */
    uint8_t *record;
    size_t at; /* events, or bytes of records, that were taken */
    struct hd_expand_at expand;
};

enum { EXPANDED = 4096 }; /* events that are made at once from stored ones */

struct merge {
    const struct hd_event_store *store;
    struct hd_builder *builder;
    struct hd_unpacker *unpacker;
    struct hd_expand *expand; /* of records; NULL: all events are stored */
    struct hd_lanes *lanes;   /* for these */
    struct hd_wire_event *expanded;
    struct hd_expand_loop *loop; /* after these */
    uint64_t made;               /* events from stored ones */
    struct taking *beside;       /* they are taken by another thread; NULL: by this one */
    uint64_t beside_after;       /* so many */
    uint32_t *thread;            /* current one of each stream */
    struct hd_fold fold;
    /* The first of two readings, NULL in others. As long as nothing is shared it folds, too: then
     * it is the only one. */
    struct hd_sharing *looking;
    bool folding;
    uint32_t *folded_thread; /* current one of each stream */
    struct hd_progress *progress;
    uint64_t decoded;
    uint64_t expected;             /* one above the highest stamp that was used */
    bool stopped;                  /* corrupt events, or enough: what follows is left out */
    bool or_first, full;           /* hd_trace_options.or_first, and it came to that */
    bool late;                     /* the same of hd_trace_options.seconds */
    double seconds, until;         /* for a reading; of this one */
    uint64_t taken, taken_before;  /* events; by the reading before, if that was cut short */
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
static void stop_at(struct merge *m, uint32_t chunk, uint32_t stream, const char *why) {
    char line[256];
    snprintf(line, sizeof line, "all from offset %llu on, where stream %u holds %s",
             (unsigned long long)m->store->chunk.data[chunk].offset, stream, why);
    say_missing(m, line);
    m->stopped = true;
}

/* Is the time over, or has all been read that the reading before has seen? */
static bool is_late(const struct merge *m) {
    return m->seconds != 0 && (m->taken >= m->taken_before || hd_seconds_now() > m->until);
}

static bool is_full(const struct merge *m) {
    return m->or_first && m->looking == NULL && m->builder->full;
}

static bool decode_records(struct merge *m, const struct hd_event_chunk *chunk, uint8_t *record) {
    if (chunk->length == chunk->count) {
        memcpy(record, chunk->bytes, chunk->count);
        return true;
    }
    return hd_lanes_unpack(m->lanes, chunk->bytes, chunk->length, record, chunk->count);
}

static void stop(struct merge *m, const struct source *source, const char *why) {
    stop_at(m, source->chunk, source->stream, why);
}

static void decode(struct merge *m, struct source *source) {
    const struct hd_event_chunk *chunk = &m->store->chunk.data[source->chunk];
    bool good;
    source->at = 0;
    if (m->expand != NULL) {
        source->record = hd_alloc(chunk->count, 1);
        good = decode_records(m, chunk, source->record);
    } else {
        source->event = hd_alloc(chunk->count, sizeof *source->event);
        good = hd_unpack(m->unpacker, chunk->bytes, chunk->length, source->event, chunk->count);
        m->builder->trace->raw_events += good ? chunk->count : 0;
    }
    if (!good) stop(m, source, "events that cannot be unpacked");
    m->decoded += chunk->length;
    hd_progress_step(m->progress, m->decoded);
}

static void let_go(struct source *source) {
    free(source->event);
    free(source->record);
    source->event = NULL;
    source->record = NULL;
}

static uint64_t take_stamp(struct merge *m, struct source *source) {
    if (m->expand == NULL) return hd_wire_operand(source->event[source->at++].head);
    const struct hd_event_chunk *chunk = &m->store->chunk.data[source->chunk];
    size_t taken;
    uint64_t stamp = hd_expand_stamp(&source->expand, source->record + source->at,
                                     chunk->count - source->at, &taken);
    source->at += taken;
    return stamp;
}

/* Looks at events as they were recorded, or folds them: up to a STAMP or their end. */
static bool take(struct merge *m, uint32_t stream, const struct hd_wire_event *event, size_t count,
                 size_t *taken, struct hd_error *error) {
    if (m->looking == NULL)
        return hd_fold_events(&m->fold, event, count, &m->thread[stream], taken, error);
    hd_sharing_events(m->looking, event, count, &m->thread[stream], taken);
    if (m->folding) {
        struct hd_error ignored;
        size_t folded;
        m->folding =
            !hd_sharing_any(m->looking) &&
            hd_fold_events(&m->fold, event, *taken, &m->folded_thread[stream], &folded, &ignored) &&
            folded == *taken;
    }
    return true;
}

static bool take_loop(struct merge *m, uint32_t stream, struct hd_expand_loop *loop,
                      struct hd_error *error) {
    if (m->looking == NULL)
        return hd_fold_loop(&m->fold, loop->body, loop->length, loop->rounds, &m->thread[stream],
                            error);
    hd_sharing_loop(m->looking, loop->body, loop->length, loop->rounds, &m->thread[stream]);
    if (m->folding) {
        struct hd_error ignored;
        hd_loop_advance(loop->body, loop->length, 0 - loop->rounds);
        m->folding = !hd_sharing_any(m->looking) &&
                     hd_fold_loop(&m->fold, loop->body, loop->length, loop->rounds,
                                  &m->folded_thread[stream], &ignored);
    }
    return true;
}

/* Takes what was made of stored events. `cut`: what was to come after it can't be made. */
static bool take_made(struct merge *m, uint32_t stream, const struct hd_wire_event *event,
                      size_t count, struct hd_expand_loop *loop, bool cut, struct hd_error *error) {
    size_t taken;
    m->taken += count;
    if (!take(m, stream, event, count, &taken, error)) return false;
    if (loop != NULL && loop->rounds != 0) {
        m->taken += loop->rounds * loop->length;
        if (!take_loop(m, stream, loop, error)) return false;
    }
    if (!cut) return true;
    snprintf(m->fold.reason, sizeof m->fold.reason, "events that nothing led to");
    return hd_fail(error, HD_ERR_DAMAGED, "%s", m->fold.reason);
}

static bool count_made(struct merge *m, size_t made, const struct hd_expand_loop *loop,
                       struct hd_error *error) {
    m->made += made + loop->rounds * loop->length;
    return m->made <= m->store->most_expected ||
           hd_fail(error, HD_ERR_LIMIT, "more than %llu events",
                   (unsigned long long)m->store->most_expected);
}

static void count_stored(struct merge *m, struct source *source) {
    m->builder->trace->raw_events += source->expand.stored;
    source->expand.stored = 0;
}

/* ---- with a thread beside ----------------------------------------------------------------- */

/* Another thread takes the events that this one makes. */
struct taking {
    struct hd_handover *handover;
    pthread_t thread;
    bool late; /* is_late */
    bool good; /* if not: the error, and which item had it */
    struct hd_error error;
    struct hd_batch_item wrong;
};

static void *take_batches(void *context) {
    struct merge *m = context;
    struct taking *taking = m->beside;
    const struct hd_batch *batch;
    taking->good = true;
    while ((batch = hd_handover_next(taking->handover)) != NULL)
        for (uint32_t i = 0; taking->good && !taking->late && i < batch->items; i++) {
            const struct hd_batch_item *item = &batch->item[i];
            taking->late = is_late(m);
            if (taking->late) {
                taking->wrong = *item;
                hd_handover_refuse(taking->handover);
                break;
            }
            taking->good = take_made(m, item->stream, batch->event + item->first, item->count,
                                     item->loop, item->cut, &taking->error);
            if (taking->good) continue;
            taking->wrong = *item;
            hd_handover_refuse(taking->handover);
        }
    return NULL;
}

static void begin_beside(struct merge *m) {
    struct taking *taking = m->beside = hd_zalloc(1, sizeof *taking);
    taking->handover = hd_handover_new();
    if (pthread_create(&taking->thread, NULL, take_batches, m) == 0) return;
    hd_handover_free(taking->handover);
    free(taking);
    m->beside = NULL;
    m->beside_after = UINT64_MAX;
}

/* Waits until all is taken. `good`: whether all was made; `end`: what was known of the trace's end
 * before. */
static bool end_beside(struct merge *m, bool good, const struct hd_trace_end *end,
                       struct hd_error *error) {
    struct taking *taking = m->beside;
    hd_handover_end(taking->handover);
    pthread_join(taking->thread, NULL);
    m->beside = NULL;
    if (!taking->good && taking->error.code == HD_ERR_DAMAGED) { /* whatever came after it */
        m->builder->trace->end = *end;
        m->builder->trace->raw_events = taking->wrong.raw_events;
        stop_at(m, taking->wrong.chunk, taking->wrong.stream, m->fold.reason);
        good = true;
    } else if (taking->late || (!taking->good && is_full(m))) {
        m->builder->trace->end = *end;
        m->builder->trace->raw_events = taking->wrong.raw_events;
        m->full = !taking->good;
        m->late = taking->late;
        m->stopped = good = true;
    } else if (!taking->good) {
        *error = taking->error;
        good = false;
    }
    hd_handover_free(taking->handover);
    free(taking);
    return good;
}

/* ---- a reading ----------------------------------------------------------------------------- */

/* The same as take_some, for another thread to take. */
static bool hand_over_some(struct merge *m, struct source *source, struct hd_error *error) {
    const struct hd_event_chunk *chunk = &m->store->chunk.data[source->chunk];
    struct hd_batch *batch = hd_handover_room(m->beside->handover);
    if (batch == NULL) {
        m->stopped = true;
        return true;
    }
    struct hd_expand_loop *loop = hd_batch_loop(batch);
    size_t taken, room = HD_BATCH_EVENTS - batch->events;
    bool good;
    size_t made = hd_expand_records(m->expand, &source->expand, source->record + source->at,
                                    chunk->count - source->at, &taken, batch->event + batch->events,
                                    room < EXPANDED ? room : EXPANDED, loop, &good);
    source->at += taken;
    count_stored(m, source);
    if (!count_made(m, made, loop, error)) return false;
    batch->item[batch->items++] =
        (struct hd_batch_item){.stream = source->stream,
                               .chunk = source->chunk,
                               .first = batch->events,
                               .count = (uint32_t)made,
                               .raw_events = m->builder->trace->raw_events,
                               .loop = loop->rounds != 0 ? loop : NULL,
                               .cut = !good};
    batch->events += (uint32_t)made;
    if (loop->rounds != 0) hd_batch_add_loop(batch, loop->length);
    if (!good) m->stopped = true; /* the other thread says why */
    return true;
}

/* Takes events of the chunk, up to a STAMP or its end; of expected ones perhaps not all. */
static bool take_some(struct merge *m, struct source *source, struct hd_error *error) {
    const struct hd_event_chunk *chunk = &m->store->chunk.data[source->chunk];
    size_t count = chunk->count - source->at, taken = 0;
    if (m->expand == NULL) {
        bool good = take(m, source->stream, source->event + source->at, count, &taken, error);
        source->at += taken;
        return good;
    }
    if (m->beside == NULL && m->made >= m->beside_after) begin_beside(m);
    if (m->beside != NULL) return hand_over_some(m, source, error);
    bool good;
    size_t made = hd_expand_records(m->expand, &source->expand, source->record + source->at, count,
                                    &taken, m->expanded, EXPANDED, m->loop, &good);
    source->at += taken;
    count_stored(m, source);
    return count_made(m, made, m->loop, error) &&
           take_made(m, source->stream, m->expanded, made, m->loop, !good, error);
}

/* Is there more before the next STAMP of the chunk? */
static bool takes_on(const struct merge *m, const struct source *source) {
    const struct hd_event_chunk *chunk = &m->store->chunk.data[source->chunk];
    if (source->at == chunk->count) return false;
    if (m->expand == NULL) return hd_wire_kind(source->event[source->at].head) != HD_EV_STAMP;
    return !hd_expand_at_stamp(&source->expand, source->record + source->at,
                               chunk->count - source->at);
}

/* Events that were taken; all that were made are. */
static uint64_t recorded_so_far(struct merge *m) {
    if (m->beside != NULL && !hd_handover_drain(m->beside->handover)) m->stopped = true;
    return m->builder->trace->recorded;
}

/* Reads the segment at the top of the heap, and on as long as the stream itself has the next one.
 * Then the stream goes where its next segment belongs, or away. */
static bool run_source(struct merge *m, struct hd_error *error) {
    struct source *source = &m->heap.data[0];
    uint64_t stamp = source->stamp;
    bool opening = source->opening && stamp != 0;
    source->opening = false;
    while (source->chunk != HD_NONE) {
        if (source->event == NULL && source->record == NULL) decode(m, source);
        if (m->stopped) return true;
        const struct hd_event_chunk *chunk = &m->store->chunk.data[source->chunk];
        uint64_t events_before = opening ? recorded_so_far(m) : 0;
        bool good = true;
        while (good && !m->stopped && takes_on(m, source)) {
            m->late = m->beside == NULL && is_late(m);
            m->stopped = m->late;
            if (!m->stopped) good = take_some(m, source, error);
        }
        if (opening && recorded_so_far(m) != events_before && !m->stopped)
            return stop(m, source, "an event before its first stamp"), true;
        if (good && m->stopped) return true;
        if (!good && is_full(m)) return m->full = m->stopped = true;
        if (!good) {
            if (error->code != HD_ERR_DAMAGED) return false;
            return stop(m, source, m->fold.reason), true;
        }
        if (source->at == chunk->count) {
            let_go(source);
            source->chunk = chunk->next;
            continue;
        }
        uint64_t next = take_stamp(m, source);
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
                                .expand = {.thread = i},
                                .stamp = m->store->chunk.data[first].stamp,
                                .opening = true};
        push(m, source);
    }
    for (uint32_t i = 0; i < m->store->stream.size; i++) m->thread[i] = m->folded_thread[i] = i;
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
    m->stopped = m->late = false;
    m->until = hd_seconds_now() + m->seconds;
    m->made = m->taken = 0;
    m->builder->trace->raw_events = 0;
    m->beside_after = m->store->beside_after;
    struct hd_trace_end end = m->builder->trace->end;
    if (m->store->records) m->expand = hd_expand_new();
    open_sources(m);
    bool good = merge_all(m, damaged, error);
    if (m->beside != NULL) good = end_beside(m, good, &end, error);
    for (size_t i = 0; i < m->heap.size; i++) let_go(&m->heap.data[i]);
    m->heap.size = 0;
    hd_expand_free(m->expand);
    m->expand = NULL;
    return good;
}

/* The first of two readings. It need not stop where the second does, but has seen all that comes
 * before; what is missing, and why nothing can be shown, is said by the second. True if there need
 * be none: nothing is shared and nothing was wrong, so that all that is loaded was folded. */
static bool look_for_sharing(struct merge *m, bool damaged, bool marked,
                             struct hd_sharing *sharing) {
    struct hd_trace_end end = m->builder->trace->end;
    struct hd_error ignored;
    m->looking = sharing;
    m->folding = !damaged && !marked;
    if (m->folding) hd_fold_unshared(&m->fold);
    bool good = read_all(m, damaged, &ignored) && !m->stopped;
    m->looking = NULL;
    if (m->late) m->taken_before = m->taken;
    if (good && m->folding && hd_fold_finish(&m->fold, &ignored)) return true;
    m->builder->trace->end = end;
    hd_sharing_again(sharing);
    hd_fold_free(&m->fold);
    hd_build_empty(m->builder);
    hd_fold_start(&m->fold, m->builder);
    return false;
}

static void warn_about_rest(struct merge *m) {
    struct hd_trace *trace = m->builder->trace;
    trace->end.whole = false;
    hd_build_warn(m->builder, "only the first %llu recorded events are looked at: %s",
                  (unsigned long long)trace->recorded,
                  m->full ? "more do not fit in the memory allowed (--memory)"
                          : "to load more takes too long for the time allowed (--time)");
}

bool hd_merge(const struct hd_event_store *store, bool damaged,
              const struct hd_trace_options *options, struct hd_builder *builder,
              struct hd_error *error) {
    struct merge m = {.store = store,
                      .builder = builder,
                      .progress = options->progress,
                      .or_first = options->or_first,
                      .seconds = options->seconds,
                      .taken_before = UINT64_MAX};
    enum hd_trace_keep keep = builder->trace->kept;
    bool shared = keep == HD_KEEP_SHARED || keep == HD_KEEP_CONCURRENT;
    struct hd_sharing *sharing = shared ? hd_sharing_new(0, 0, keep == HD_KEEP_CONCURRENT) : NULL;
    m.unpacker = hd_unpacker_new();
    if (store->records) {
        m.lanes = hd_lanes_new();
        m.expanded = hd_alloc(EXPANDED, sizeof *m.expanded);
        m.loop = hd_zalloc(1, sizeof *m.loop);
    }
    m.thread = hd_alloc(store->stream.size, sizeof *m.thread);
    m.folded_thread = hd_alloc(store->stream.size, sizeof *m.folded_thread);
    hd_fold_start(&m.fold, builder);
    bool good = sharing != NULL && look_for_sharing(&m, damaged, options->marks != 0, sharing);
    if (!good) {
        if (keep != HD_KEEP_ALL) hd_fold_filter(&m.fold, sharing, options->mark, options->marks);
        good = read_all(&m, damaged, error) && (m.full || hd_fold_finish(&m.fold, error));
        if (m.full) hd_fold_cut(&m.fold, builder->full_at);
    }
    if (good && (m.full || m.late)) warn_about_rest(&m);
    hd_vector_free(&m.heap);
    hd_unpacker_free(m.unpacker);
    hd_lanes_free(m.lanes);
    free(m.expanded);
    free(m.loop);
    free(m.thread);
    free(m.folded_thread);
    hd_fold_free(&m.fold);
    hd_sharing_free(sharing);
    return good;
}
