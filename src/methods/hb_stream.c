/* Streaming happens-before. A clock's component is one more than the last event known of a thread,
 * so an event is its own epoch: a is before b if b's thread knew more than a of a's thread.
 *
 * As long as no two accesses of a location raced, its last write and the reads since then say all
 * (Flanagan and Freund, FastTrack): whatever is unordered with an older access is unordered with
 * one of these. After the first race that no longer holds, and each pair of sites is wanted: then
 * the location keeps the latest access of each thread, site and mode. The latest is enough: if it
 * is ordered before an access, the earlier ones are too. */
#include "methods/hb_stream.h"

#include "base/alloc.h"
#include "base/map.h"
#include "facts/conflicts.h"
#include "facts/site.h"

#include <stdlib.h>
#include <string.h>

/* What a location remembers. */
struct shadow {
    uint32_t write; /* event, HD_NONE if none */
    uint32_t read;  /* single read since the write; with `many` a chain of records instead */
    uint8_t state;  /* enum state */
    bool many;
};
enum state { FAST, LISTED, IGNORED };

/* The latest access of a thread (and when listed, of a site and mode) of a location. */
struct record {
    uint32_t event, next;
    uint32_t site;
    uint16_t thread;
    uint8_t mode;
};

struct stream {
    const struct hd_model *model;
    struct hd_streamed_races *races;
    uint32_t threads;
    uint32_t *clock;                   /* per thread: `threads` numbers */
    uint32_t *lock_clock, *read_clock; /* per lock: write releases, read releases */
    bool *read_released;               /* per lock: read_clock has something */
    struct shadow *shadow;
    HD_VECTOR(struct record) record;
    uint32_t free_record;
    struct hd_map site_number, pair_number;
    HD_VECTOR(uint32_t) * open;
    uint32_t *next_end;
    /* must-order: the clock of a source lives until its last edge */
    struct source {
        uint32_t event, edges, row;
    } * source;
    uint32_t sources, *edge_source;
    HD_VECTOR(uint32_t) row; /* `threads` numbers each */
    HD_VECTOR(uint32_t) free_row;
};

static uint32_t *clock_of(const struct stream *s, uint32_t thread) {
    return s->clock + (size_t)thread * s->threads;
}

static void join(uint32_t *restrict into, const uint32_t *restrict from, uint32_t threads) {
    for (uint32_t i = 0; i < threads; i++) into[i] = from[i] > into[i] ? from[i] : into[i];
}

/* ---- accesses ----------------------------------------------------------------------------------
 */

static bool knows(const struct stream *s, const uint32_t *clock, uint32_t event) {
    return clock[s->model->thread[event]] > event;
}

static uint32_t new_record(struct stream *s, struct record record) {
    if (s->free_record != HD_NONE) {
        uint32_t at = s->free_record;
        s->free_record = s->record.data[at].next;
        s->record.data[at] = record;
        return at;
    }
    if (s->record.size >= HD_NONE - 1) hd_out_of_memory();
    hd_vector_push(&s->record, record);
    return (uint32_t)s->record.size - 1;
}

static void free_chain(struct stream *s, uint32_t chain) {
    while (chain != HD_NONE) {
        uint32_t next = s->record.data[chain].next;
        s->record.data[chain].next = s->free_record;
        s->free_record = chain;
        chain = next;
    }
}

static uint32_t site_of(struct stream *s, uint32_t event) {
    const uint32_t *location;
    hd_model_locations(s->model, event, &location);
    return hd_site_number(s->model, &s->site_number, event, location[0]);
}

static void report(struct stream *s, uint32_t location, const struct record *a,
                   const struct record *b) {
    uint32_t low = a->site < b->site ? a->site : b->site;
    uint32_t high = a->site < b->site ? b->site : a->site;
    uint32_t fresh = (uint32_t)s->races->list.size;
    uint32_t *slot = hd_map_slot(&s->pair_number, (uint64_t)low << 32 | high, fresh);
    if (*slot == fresh) {
        struct hd_streamed_race race = {.event = {a->event, b->event}, .location = location};
        hd_vector_push(&s->races->list, race);
    }
    s->races->list.data[*slot].instances++;
}

/* Puts an access into the list of a location; with a clock, after comparing it with the others. */
static void list_access(struct stream *s, uint32_t location, uint32_t event,
                        const uint32_t *clock) {
    struct shadow *shadow = &s->shadow[location];
    struct record mine = {.event = event,
                          .thread = s->model->thread[event],
                          .site = site_of(s, event),
                          .mode = (uint8_t)hd_access_mode(s->model, event)};
    uint32_t own = HD_NONE;
    for (uint32_t i = shadow->read; i != HD_NONE; i = s->record.data[i].next) {
        const struct record *other = &s->record.data[i];
        if (other->thread == mine.thread) {
            if (other->site == mine.site && other->mode == mine.mode) own = i;
            continue;
        }
        if (clock != NULL && clock[other->thread] <= other->event &&
            hd_modes_race(other->mode, mine.mode))
            report(s, location, other, &mine);
    }
    if (own != HD_NONE) {
        s->record.data[own].event = event;
        return;
    }
    mine.next = shadow->read;
    shadow->read = new_record(s, mine);
}

/* The first race of a location: its history is read again, and kept. */
static void start_list(struct stream *s, uint32_t location, uint32_t event) {
    const struct hd_model *model = s->model;
    struct shadow *shadow = &s->shadow[location];
    if (shadow->many) free_chain(s, shadow->read);
    *shadow = (struct shadow){.write = HD_NONE, .read = HD_NONE, .state = LISTED};
    for (uint32_t i = model->location_start[location];
         i < model->location_start[location + 1] && model->location_event[i] < event; i++)
        list_access(s, location, model->location_event[i], NULL);
}

static void add_read(struct stream *s, struct shadow *shadow, uint32_t event) {
    const uint16_t *thread = s->model->thread;
    if (!shadow->many) {
        struct record first = {
            .event = shadow->read, .thread = thread[shadow->read], .next = HD_NONE};
        shadow->read = new_record(s, first);
        shadow->many = true;
    }
    for (uint32_t i = shadow->read; i != HD_NONE; i = s->record.data[i].next)
        if (s->record.data[i].thread == thread[event]) {
            s->record.data[i].event = event;
            return;
        }
    struct record record = {.event = event, .thread = thread[event], .next = shadow->read};
    shadow->read = new_record(s, record);
}

/* False: the location has its first race now. */
static bool fast_access(struct stream *s, struct shadow *shadow, uint32_t event, bool writes,
                        const uint32_t *clock) {
    const uint16_t *thread = s->model->thread;
    if (shadow->write != HD_NONE && thread[shadow->write] != thread[event] &&
        !knows(s, clock, shadow->write))
        return false;
    if (!writes) {
        if (shadow->many || (shadow->read != HD_NONE && thread[shadow->read] != thread[event] &&
                             !knows(s, clock, shadow->read)))
            add_read(s, shadow, event);
        else
            shadow->read = event;
        return true;
    }
    if (shadow->many) {
        for (uint32_t i = shadow->read; i != HD_NONE; i = s->record.data[i].next)
            if (s->record.data[i].thread != thread[event] &&
                clock[s->record.data[i].thread] <= s->record.data[i].event)
                return false;
        free_chain(s, shadow->read);
        shadow->many = false;
    } else if (shadow->read != HD_NONE && thread[shadow->read] != thread[event] &&
               !knows(s, clock, shadow->read))
        return false;
    shadow->write = event;
    shadow->read = HD_NONE;
    return true;
}

static void touch(struct stream *s, uint32_t location, uint32_t event, bool writes,
                  const uint32_t *clock) {
    struct shadow *shadow = &s->shadow[location];
    if (shadow->state == IGNORED) return;
    if (shadow->state == FAST) {
        if (fast_access(s, shadow, event, writes, clock)) return;
        start_list(s, location, event);
    }
    list_access(s, location, event, clock);
}

/* ---- order --------------------------------------------------------------------------------------
 */

static void open_section(struct stream *s, uint32_t index) {
    const struct hd_section *section = &s->model->section[index];
    uint32_t *clock = clock_of(s, section->thread);
    join(clock, s->lock_clock + (size_t)section->lock * s->threads, s->threads);
    if (!section->read_mode && s->read_released[section->lock])
        join(clock, s->read_clock + (size_t)section->lock * s->threads, s->threads);
    hd_vector_push(&s->open[section->thread], index);
    if (section->release < s->next_end[section->thread])
        s->next_end[section->thread] = section->release;
}

static void close_sections(struct stream *s, uint32_t thread, uint32_t event) {
    const uint32_t *clock = clock_of(s, thread);
    size_t kept = 0;
    s->next_end[thread] = HD_NONE;
    for (size_t i = 0; i < s->open[thread].size; i++) {
        uint32_t index = s->open[thread].data[i];
        const struct hd_section *section = &s->model->section[index];
        size_t row = (size_t)section->lock * s->threads;
        if (section->release != event) {
            s->open[thread].data[kept++] = index;
            if (section->release < s->next_end[thread]) s->next_end[thread] = section->release;
        } else if (section->read_mode) {
            join(s->read_clock + row, clock, s->threads);
            s->read_released[section->lock] = true;
        } else
            memcpy(s->lock_clock + row, clock, s->threads * sizeof *clock);
    }
    s->open[thread].size = kept;
}

static void follow_edge(struct stream *s, uint32_t edge, uint32_t *clock) {
    struct source *source = &s->source[s->edge_source[edge]];
    join(clock, s->row.data + (size_t)source->row * s->threads, s->threads);
    if (--source->edges == 0) s->free_row.data[s->free_row.size++] = source->row;
}

static void keep_source(struct stream *s, struct source *source, const uint32_t *clock) {
    if (s->free_row.size > 0)
        source->row = s->free_row.data[--s->free_row.size];
    else {
        source->row = (uint32_t)(s->row.size / s->threads);
        hd_vector_reserve(&s->row, s->threads);
        s->row.size += s->threads;
        hd_vector_reserve(&s->free_row, s->row.size / s->threads);
    }
    memcpy(s->row.data + (size_t)source->row * s->threads, clock, s->threads * sizeof *clock);
}

/* ---- the pass
 * ------------------------------------------------------------------------------------ */

static void walk(struct stream *s, struct hd_progress *progress) {
    const struct hd_model *model = s->model;
    uint32_t section = 0, edge = 0, source = 0;
    hd_progress_start(progress, "happens-before", model->events);
    for (uint32_t e = 0; e < model->events; e++) {
        if (e % 65536 == 0) hd_progress_step(progress, e);
        uint32_t thread = model->thread[e];
        uint32_t *clock = clock_of(s, thread);
        uint8_t kind = model->kind[e];
        for (; edge < model->edges && model->edge[edge].to == e; edge++)
            follow_edge(s, edge, clock);
        clock[thread] = e + 1;
        if (kind <= HD_EV_ATOMIC_UPDATE || kind == HD_EV_FREE) {
            const uint32_t *location;
            uint32_t locations = hd_model_locations(model, e, &location);
            bool writes = kind != HD_EV_READ && kind != HD_EV_ATOMIC_READ;
            for (uint32_t i = 0; i < locations; i++) touch(s, location[i], e, writes, clock);
        } else
            for (; section < model->sections && model->section[section].acquire == e; section++)
                open_section(s, section);
        if (e == s->next_end[thread]) close_sections(s, thread, e);
        if (source < s->sources && s->source[source].event == e)
            keep_source(s, &s->source[source++], clock);
    }
}

/* Locations where no race can be are ignored; those with atomic and plain accesses are listed from
 * the start, because two atomics may be unordered without a race. */
static void prepare_shadow(struct stream *s) {
    const struct hd_model *model = s->model;
    s->shadow = hd_alloc(model->locations + (size_t)1, sizeof *s->shadow);
    for (uint32_t l = 0; l < model->locations; l++) {
        struct shadow *shadow = &s->shadow[l];
        *shadow = (struct shadow){.write = HD_NONE, .read = HD_NONE, .state = IGNORED};
        if (!model->location[l].shared) continue;
        bool atomic = false, plain = false;
        for (uint32_t i = model->location_start[l]; i < model->location_start[l + 1]; i++) {
            bool is_atomic = hd_model_is_atomic(model, model->location_event[i]);
            atomic |= is_atomic;
            plain |= !is_atomic;
            if (atomic && plain) break;
        }
        if (plain) shadow->state = atomic ? LISTED : FAST;
    }
}

static int compare_sources(const void *left, const void *right) {
    uint32_t a = ((const struct source *)left)->event, b = ((const struct source *)right)->event;
    return a < b ? -1 : a > b;
}

static void prepare_sources(struct stream *s) {
    const struct hd_model *model = s->model;
    s->source = hd_alloc(model->edges + (size_t)1, sizeof *s->source);
    s->edge_source = hd_alloc(model->edges + (size_t)1, sizeof *s->edge_source);
    for (uint32_t i = 0; i < model->edges; i++)
        s->source[i] = (struct source){.event = model->edge[i].from};
    if (model->edges > 1) qsort(s->source, model->edges, sizeof *s->source, compare_sources);
    for (uint32_t i = 0; i < model->edges; i++) {
        if (s->sources == 0 || s->source[s->sources - 1].event != s->source[i].event)
            s->source[s->sources++] = s->source[i];
        s->source[s->sources - 1].edges++;
    }
    for (uint32_t i = 0; i < model->edges; i++) {
        struct source key = {.event = model->edge[i].from};
        const struct source *at =
            bsearch(&key, s->source, s->sources, sizeof *s->source, compare_sources);
        s->edge_source[i] = (uint32_t)(at - s->source);
    }
}

static void prepare(struct stream *s) {
    const struct hd_model *model = s->model;
    size_t row = (s->threads > 0 ? s->threads : 1) * sizeof(uint32_t);
    s->free_record = HD_NONE;
    s->clock = hd_zalloc(s->threads + (size_t)1, row);
    s->lock_clock = hd_zalloc(model->locks + (size_t)1, row);
    s->read_clock = hd_zalloc(model->locks + (size_t)1, row);
    s->read_released = hd_zalloc(model->locks + (size_t)1, sizeof *s->read_released);
    s->open = hd_zalloc(s->threads + (size_t)1, sizeof *s->open);
    s->next_end = hd_alloc(s->threads + (size_t)1, sizeof *s->next_end);
    memset(s->next_end, 0xff, s->threads * sizeof *s->next_end);
    prepare_shadow(s);
    prepare_sources(s);
}

void hd_hb_stream(const struct hd_model *model, struct hd_progress *progress,
                  struct hd_streamed_races *races) {
    *races = (struct hd_streamed_races){0};
    struct stream s = {.model = model, .races = races, .threads = model->threads};
    prepare(&s);
    walk(&s, progress);
    for (uint32_t t = 0; t < s.threads; t++) hd_vector_free(&s.open[t]);
    hd_vector_free(&s.record);
    hd_vector_free(&s.row);
    hd_vector_free(&s.free_row);
    hd_map_free(&s.site_number);
    hd_map_free(&s.pair_number);
    void *all[] = {s.clock,  s.lock_clock, s.read_clock, s.read_released, s.open,
                   s.source, s.next_end,   s.shadow,     s.edge_source};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}
