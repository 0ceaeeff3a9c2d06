/* Happens-before and causally-precedes as vector clocks. A clock's component is one more than the
 * last event of that thread that comes before (0: none). Section 4.2 of the paper takes CP from
 * Smaragdakis et al.: the smallest relation with
 *   (a) rel(A) < acq(B) for sections A before B of one lock that have conflicting accesses,
 *   (b) rel(A) < acq(B) for sections A before B of one lock with events e of A, e' of B, e < e',
 *   (c) e < e' if e HB f < e', or e < f HB e'.
 * (b) holds for some e, e' exactly if it does for acq(A) and rel(B). By (c), a link from A makes
 * all that is HB before rel(A) CP before acq(B), so of the linked sections of a thread the last one
 * is enough. (b) asks at rel(B) what was needed at acq(B): passes are repeated until none finds a
 * new link. */
#include "methods/hb_cp.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/search.h"
#include "base/vector.h"

#include <stdlib.h>
#include <string.h>

/* A section that a later one is linked to; one for each thread. */
struct link {
    uint32_t section;
    uint32_t next; /* HD_NONE ends the chain */
};

/* The latest sections of a lock in which a thread read and wrote a location. */
struct latest {
    uint16_t thread;
    uint32_t read, write; /* sections, HD_NONE if none */
    uint32_t next;
};

struct hd_hb_cp {
    const struct hd_model *model;
    bool cp;
    uint32_t threads;
    HD_VECTOR(uint32_t) number; /* snapshots, `threads` numbers each */
    struct hd_map snapshot_of;  /* asked event -> snapshot */
};

struct pass {
    struct hd_hb_cp *clocks;
    const struct hd_model *model;
    const struct hd_bitset *asked;
    uint32_t threads;
    /* per thread: its clocks, and the snapshot that still holds them */
    uint32_t *hb, *cp;
    uint32_t *snapshot;
    /* per lock: what its last write release, and all read releases since, knew */
    uint32_t *lock_hb, *lock_cp, *lock_read_hb, *lock_read_cp;
    /* per source of must-order edges */
    uint32_t *source, sources;
    uint32_t *source_hb, *source_cp;
    uint32_t *edge_source;      /* per edge: index of its source */
    HD_VECTOR(uint32_t) * open; /* per thread: open sections */
    uint32_t *next_end;
    /* CP only */
    uint32_t *release_hb; /* per section */
    uint32_t *first_link; /* per section */
    HD_VECTOR(struct link) link;
    uint32_t *use;        /* sections by lock, thread and acquire */
    struct hd_map use_at; /* lock << 32 | thread -> where its sections start in use */
    bool changed;
};

static void join(uint32_t *into, const uint32_t *from, uint32_t threads) {
    for (uint32_t i = 0; i < threads; i++)
        if (from[i] > into[i]) into[i] = from[i];
}

/* ---- sections that conflict: rule (a) ---------------------------------------------------------
 */

static void add_link(struct pass *pass, uint32_t from, uint32_t to) {
    const struct hd_section *section = pass->model->section;
    for (uint32_t l = pass->first_link[to]; l != HD_NONE; l = pass->link.data[l].next) {
        struct link *link = &pass->link.data[l];
        if (section[link->section].thread != section[from].thread) continue;
        if (section[from].acquire > section[link->section].acquire) {
            link->section = from;
            pass->changed = true;
        }
        return;
    }
    struct link link = {.section = from, .next = pass->first_link[to]};
    hd_vector_push(&pass->link, link);
    pass->first_link[to] = (uint32_t)pass->link.size - 1;
    pass->changed = true;
}

struct conflicts {
    struct hd_map at; /* lock << 32 | location -> first of its chain in latest */
    HD_VECTOR(struct latest) latest;
};

static void meet(struct pass *pass, struct conflicts *known, uint32_t location, uint32_t index,
                 bool reads, bool writes) {
    const struct hd_section *section = &pass->model->section[index];
    uint32_t fresh = (uint32_t)known->latest.size;
    uint32_t *slot = hd_map_slot(&known->at, (uint64_t)section->lock << 32 | location, HD_NONE);
    uint32_t mine = HD_NONE;
    for (uint32_t i = *slot; i != HD_NONE; i = known->latest.data[i].next) {
        const struct latest *each = &known->latest.data[i];
        if (each->thread == section->thread) {
            mine = i;
            continue;
        }
        uint32_t other[2] = {each->write, writes ? each->read : HD_NONE};
        for (unsigned k = 0; k < 2; k++)
            if (other[k] != HD_NONE &&
                !(section->read_mode && pass->model->section[other[k]].read_mode))
                add_link(pass, other[k], index);
    }
    if (mine == HD_NONE) {
        struct latest first = {section->thread, HD_NONE, HD_NONE, *slot};
        hd_vector_push(&known->latest, first);
        *slot = mine = fresh;
    }
    if (reads) known->latest.data[mine].read = index;
    if (writes) known->latest.data[mine].write = index;
}

static void close_sections(struct pass *pass, uint32_t thread, uint32_t event) {
    const struct hd_section *section = pass->model->section;
    size_t kept = 0;
    pass->next_end[thread] = HD_NONE;
    for (size_t i = 0; i < pass->open[thread].size; i++) {
        uint32_t index = pass->open[thread].data[i];
        if (section[index].release == event) continue;
        pass->open[thread].data[kept++] = index;
        if (section[index].release < pass->next_end[thread])
            pass->next_end[thread] = section[index].release;
    }
    pass->open[thread].size = kept;
}

static void open_section(struct pass *pass, uint32_t index) {
    const struct hd_section *section = &pass->model->section[index];
    hd_vector_push(&pass->open[section->thread], index);
    if (section->release < pass->next_end[section->thread])
        pass->next_end[section->thread] = section->release;
}

static void start_walk(struct pass *pass) {
    for (uint32_t t = 0; t < pass->threads; t++) {
        pass->open[t].size = 0;
        pass->next_end[t] = HD_NONE;
    }
}

static void link_conflicts(struct pass *pass) {
    const struct hd_model *model = pass->model;
    struct conflicts known = {0};
    start_walk(pass);
    for (uint32_t e = 0, next = 0; e < model->events; e++) {
        uint32_t thread = model->thread[e];
        while (next < model->sections && model->section[next].acquire == e)
            open_section(pass, next++);
        if (pass->open[thread].size > 0 && hd_model_is_access(model, e)) {
            const uint32_t *location;
            uint32_t locations = hd_model_locations(model, e, &location);
            bool reads = hd_model_is_read(model, e), writes = hd_model_is_write(model, e);
            for (uint32_t l = 0; l < locations; l++) {
                if (!model->location[location[l]].shared) continue;
                for (size_t i = 0; i < pass->open[thread].size; i++)
                    meet(pass, &known, location[l], pass->open[thread].data[i], reads, writes);
            }
        }
        if (e == pass->next_end[thread]) close_sections(pass, thread, e);
    }
    hd_map_free(&known.at);
    hd_vector_free(&known.latest);
}

/* ---- sections with ordered events: rule (b) ---------------------------------------------------
 */

/* Sections of each lock by thread, then by acquire. */
static void sort_uses(struct pass *pass) {
    const struct hd_model *model = pass->model;
    pass->use = hd_alloc(model->sections + (size_t)1, sizeof *pass->use);
    uint32_t *count = hd_zalloc(pass->threads + (size_t)1, sizeof *count);
    for (uint32_t l = 0; l < model->locks; l++) {
        const uint32_t *list = model->lock_section + model->lock_start[l];
        uint32_t sections = model->lock_start[l + 1] - model->lock_start[l];
        for (uint32_t i = 0; i < sections; i++) count[model->section[list[i]].thread]++;
        uint32_t start = model->lock_start[l];
        for (uint32_t i = 0; i < sections; i++) {
            uint32_t thread = model->section[list[i]].thread;
            if (count[thread] == 0) continue;
            hd_map_slot(&pass->use_at, (uint64_t)l << 32 | thread, start);
            start += count[thread];
            count[thread] = 0;
        }
        for (uint32_t i = 0; i < sections; i++) {
            uint32_t thread = model->section[list[i]].thread;
            uint32_t at = hd_map_get(&pass->use_at, (uint64_t)l << 32 | thread, 0);
            pass->use[at + count[thread]++] = list[i];
        }
        for (uint32_t i = 0; i < sections; i++) count[model->section[list[i]].thread] = 0;
    }
    free(count);
}

/* The last section of a thread on B's lock whose acquire is CP before the end of B. */
static uint32_t last_before(const struct pass *pass, const struct hd_section *b, uint32_t thread,
                            uint32_t limit) {
    const struct hd_model *model = pass->model;
    uint32_t start = hd_map_get(&pass->use_at, (uint64_t)b->lock << 32 | thread, HD_NONE);
    if (start == HD_NONE) return HD_NONE;
    if (limit > b->acquire) limit = b->acquire;
    /* sections of the thread before the limit; others of the lock come later */
    uint32_t end = hd_first_not(i, start, model->lock_start[b->lock + 1],
                                model->section[pass->use[i]].thread == thread &&
                                    model->section[pass->use[i]].acquire < limit);
    while (end-- > start) {
        const struct hd_section *section = &model->section[pass->use[end]];
        if (!(section->read_mode && b->read_mode)) return pass->use[end];
    }
    return HD_NONE;
}

static void link_ordered(struct pass *pass, uint32_t index) {
    const struct hd_section *b = &pass->model->section[index];
    const uint32_t *cp = pass->cp + (size_t)b->thread * pass->threads;
    for (uint32_t t = 0; t < pass->threads; t++) {
        if (t == b->thread || cp[t] == 0) continue;
        uint32_t a = last_before(pass, b, t, cp[t]);
        if (a != HD_NONE && pass->model->section[a].release != HD_NONE) add_link(pass, a, index);
    }
}

/* ---- clocks -----------------------------------------------------------------------------------
 */

static uint32_t *row(uint32_t *table, const struct pass *pass, uint32_t index) {
    return table == NULL ? NULL : table + (size_t)index * pass->threads;
}

static void acquire(struct pass *pass, uint32_t index) {
    const struct hd_section *section = &pass->model->section[index];
    uint32_t threads = pass->threads;
    uint32_t *hb = row(pass->hb, pass, section->thread), *cp = row(pass->cp, pass, section->thread);
    join(hb, row(pass->lock_hb, pass, section->lock), threads);
    if (!section->read_mode) join(hb, row(pass->lock_read_hb, pass, section->lock), threads);
    if (cp == NULL) return;
    join(cp, row(pass->lock_cp, pass, section->lock), threads);
    if (!section->read_mode) join(cp, row(pass->lock_read_cp, pass, section->lock), threads);
    for (uint32_t l = pass->first_link[index]; l != HD_NONE; l = pass->link.data[l].next)
        join(cp, row(pass->release_hb, pass, pass->link.data[l].section), threads);
}

static void release(struct pass *pass, uint32_t index) {
    const struct hd_section *section = &pass->model->section[index];
    size_t bytes = pass->threads * sizeof(uint32_t);
    const uint32_t *hb = row(pass->hb, pass, section->thread);
    const uint32_t *cp = row(pass->cp, pass, section->thread);
    if (section->read_mode) {
        join(row(pass->lock_read_hb, pass, section->lock), hb, pass->threads);
        if (cp != NULL) join(row(pass->lock_read_cp, pass, section->lock), cp, pass->threads);
    } else {
        memcpy(row(pass->lock_hb, pass, section->lock), hb, bytes);
        if (cp != NULL) memcpy(row(pass->lock_cp, pass, section->lock), cp, bytes);
    }
    if (cp != NULL) memcpy(row(pass->release_hb, pass, index), hb, bytes);
}

static void keep(struct pass *pass, uint32_t event, uint32_t thread) {
    struct hd_hb_cp *clocks = pass->clocks;
    uint32_t *snapshot = &pass->snapshot[thread];
    if (*snapshot == HD_NONE) {
        const uint32_t *clock = row(clocks->cp ? pass->cp : pass->hb, pass, thread);
        hd_vector_reserve(&clocks->number, pass->threads);
        *snapshot = (uint32_t)(clocks->number.size / pass->threads);
        memcpy(clocks->number.data + clocks->number.size, clock, pass->threads * sizeof *clock);
        clocks->number.size += pass->threads;
    }
    hd_map_slot(&clocks->snapshot_of, event, *snapshot);
}

static void walk(struct pass *pass, bool last) {
    const struct hd_model *model = pass->model;
    size_t bytes = pass->threads * sizeof(uint32_t);
    uint32_t section = 0, edge = 0, source = 0;
    start_walk(pass);
    memset(pass->hb, 0, pass->threads * bytes);
    memset(pass->lock_hb, 0, model->locks * bytes);
    memset(pass->lock_read_hb, 0, model->locks * bytes);
    if (pass->cp != NULL) {
        memset(pass->cp, 0, pass->threads * bytes);
        memset(pass->lock_cp, 0, model->locks * bytes);
        memset(pass->lock_read_cp, 0, model->locks * bytes);
    }
    memset(pass->snapshot, 0xff, pass->threads * sizeof *pass->snapshot);
    for (uint32_t e = 0; e < model->events; e++) {
        uint32_t thread = model->thread[e];
        uint32_t *hb = row(pass->hb, pass, thread), *cp = row(pass->cp, pass, thread);
        for (; edge < model->edges && model->edge[edge].to == e; edge++) {
            uint32_t from = pass->edge_source[edge];
            join(hb, row(pass->source_hb, pass, from), pass->threads);
            if (cp != NULL) join(cp, row(pass->source_cp, pass, from), pass->threads);
            pass->snapshot[thread] = HD_NONE;
        }
        hb[thread] = e + 1;
        for (; section < model->sections && model->section[section].acquire == e; section++) {
            acquire(pass, section);
            open_section(pass, section);
            pass->snapshot[thread] = HD_NONE;
        }
        if (last && hd_bitset_has(pass->asked, e)) keep(pass, e, thread);
        if (e == pass->next_end[thread]) {
            for (size_t i = 0; i < pass->open[thread].size; i++) {
                uint32_t index = pass->open[thread].data[i];
                if (model->section[index].release != e) continue;
                if (cp != NULL) link_ordered(pass, index);
                release(pass, index);
            }
            close_sections(pass, thread, e);
        }
        if (source < pass->sources && pass->source[source] == e) {
            memcpy(row(pass->source_hb, pass, source), hb, bytes);
            if (cp != NULL) memcpy(row(pass->source_cp, pass, source), cp, bytes);
            source++;
        }
    }
    if (pass->cp != NULL)
        for (uint32_t t = 0; t < pass->threads; t++)
            for (size_t i = 0; i < pass->open[t].size; i++)
                link_ordered(pass, pass->open[t].data[i]);
}

/* ---- the whole --------------------------------------------------------------------------------
 */

static int compare_events(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

static void sort_sources(struct pass *pass) {
    const struct hd_model *model = pass->model;
    pass->source = hd_alloc(model->edges + (size_t)1, sizeof *pass->source);
    pass->edge_source = hd_alloc(model->edges + (size_t)1, sizeof *pass->edge_source);
    for (uint32_t i = 0; i < model->edges; i++) pass->source[i] = model->edge[i].from;
    if (model->edges > 1) qsort(pass->source, model->edges, sizeof *pass->source, compare_events);
    for (uint32_t i = 0; i < model->edges; i++)
        if (i == 0 || pass->source[i] != pass->source[i - 1])
            pass->source[pass->sources++] = pass->source[i];
    for (uint32_t i = 0; i < model->edges; i++) {
        const uint32_t *at = bsearch(&model->edge[i].from, pass->source, pass->sources,
                                     sizeof *pass->source, compare_events);
        pass->edge_source[i] = (uint32_t)(at - pass->source);
    }
}

static void prepare(struct pass *pass) {
    const struct hd_model *model = pass->model;
    size_t clock = (pass->threads > 0 ? pass->threads : 1) * sizeof(uint32_t);
    bool cp = pass->clocks->cp;
    pass->hb = hd_zalloc(pass->threads + (size_t)1, clock);
    pass->snapshot = hd_alloc(pass->threads + (size_t)1, sizeof *pass->snapshot);
    pass->next_end = hd_alloc(pass->threads + (size_t)1, sizeof *pass->next_end);
    pass->open = hd_zalloc(pass->threads + (size_t)1, sizeof *pass->open);
    pass->lock_hb = hd_zalloc(model->locks + (size_t)1, clock);
    pass->lock_read_hb = hd_zalloc(model->locks + (size_t)1, clock);
    sort_sources(pass);
    pass->source_hb = hd_zalloc(pass->sources + (size_t)1, clock);
    if (!cp) return;
    pass->cp = hd_zalloc(pass->threads + (size_t)1, clock);
    pass->lock_cp = hd_zalloc(model->locks + (size_t)1, clock);
    pass->lock_read_cp = hd_zalloc(model->locks + (size_t)1, clock);
    pass->source_cp = hd_zalloc(pass->sources + (size_t)1, clock);
    pass->release_hb = hd_zalloc(model->sections + (size_t)1, clock);
    pass->first_link = hd_alloc(model->sections + (size_t)1, sizeof *pass->first_link);
    memset(pass->first_link, 0xff, model->sections * sizeof *pass->first_link);
    sort_uses(pass);
    link_conflicts(pass);
}

static void finish(struct pass *pass) {
    for (uint32_t t = 0; t < pass->threads; t++) hd_vector_free(&pass->open[t]);
    hd_vector_free(&pass->link);
    hd_map_free(&pass->use_at);
    void *all[] = {pass->hb,           pass->cp,     pass->snapshot,   pass->lock_hb,
                   pass->lock_cp,      pass->source, pass->source_hb,  pass->source_cp,
                   pass->edge_source,  pass->open,   pass->next_end,   pass->release_hb,
                   pass->lock_read_hb, pass->use,    pass->first_link, pass->lock_read_cp};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

struct hd_hb_cp *hd_hb_cp_build(const struct hd_model *model, enum hd_hb_cp_type type,
                                const struct hd_bitset *asked) {
    struct hd_hb_cp *clocks = hd_zalloc(1, sizeof *clocks);
    clocks->model = model;
    clocks->cp = type == HD_CLOCKS_CP;
    clocks->threads = model->threads;
    struct pass pass = {
        .clocks = clocks, .model = model, .asked = asked, .threads = model->threads};
    prepare(&pass);
    if (clocks->cp) do {
            pass.changed = false;
            walk(&pass, false);
        } while (pass.changed);
    walk(&pass, true);
    finish(&pass);
    return clocks;
}

void hd_hb_cp_free(struct hd_hb_cp *clocks) {
    if (clocks == NULL) return;
    hd_vector_free(&clocks->number);
    hd_map_free(&clocks->snapshot_of);
    free(clocks);
}

bool hd_hb_cp_before(const struct hd_hb_cp *clocks, uint32_t a, uint32_t b) {
    uint32_t thread = clocks->model->thread[a];
    if (a >= b) return false;
    if (thread == clocks->model->thread[b]) return true;
    uint32_t snapshot = hd_map_get(&clocks->snapshot_of, b, HD_NONE);
    if (snapshot == HD_NONE) return false;
    return clocks->number.data[(size_t)snapshot * clocks->threads + thread] > a;
}
