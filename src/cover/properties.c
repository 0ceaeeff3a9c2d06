/* Properties by sites: what a run had, and what it covered. Location by location; within one, the
 * accesses are summed up by site before anything is combined, so that a hot location costs what its
 * sites cost. Locations with the same sites (elements of an array) are combined once. */
#include "base/alloc.h"
#include "cover/cover.h"
#include "facts/clocks.h"
#include "facts/patterns.h"
#include "facts/site.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Beyond so many combinations of sites at one location the properties are no longer listed. */
#define LOCATION_LIMIT ((uint64_t)1 << 22)
#define SITE_LIMIT ((uint32_t)1 << 21) /* three of them make a key */
#define SEVERAL UINT32_MAX             /* threads */
#define INSTANCE_LIMIT 256u            /* of two entries, looked at for feasibility */

/* An access, or a consecutive pair, of the location at hand; later all of one thread (or, if nobody
 * asks for feasibility, of all threads) at the same sites. */
struct entry {
    uint32_t site[2]; /* site[1] 0: an access */
    uint32_t thread;  /* SEVERAL: of more than one */
    uint8_t does[2];
    uint32_t event[2];
    struct hd_cover_read read; /* of an access that reads */
    uint32_t count;            /* it and the next ones: instances */
};

/* The latest access of one thread at one site. */
struct latest {
    uint32_t site, thread, position;
};

struct scan {
    struct hd_cover *cover;
    const struct hd_model *model;
    struct hd_analysis *analysis;
    const struct hd_cover_orders *orders;      /* NULL: feasibility was not asked for */
    struct hd_map site_of[4];                  /* by what it does: what tells sites apart -> site */
    struct hd_map seen;                        /* sites of a location, hashed: combined already */
    struct hd_map covered[HD_CRITERION_COUNT]; /* properties that this run covered */
    /* the location at hand */
    HD_VECTOR(struct entry) access, pair; /* all of them, sorted by sites and thread */
    HD_VECTOR(uint32_t) accesses, pairs;  /* where a new site or thread begins */
    HD_VECTOR(uint32_t) site;             /* by position */
    HD_VECTOR(struct latest) latest;
    uint32_t *room;
    uint32_t *last, *last_write; /* per thread: position of its latest access and write, HD_NONE */
};

/* ---- sites ------------------------------------------------------------------------------------
 */

static uint32_t words_number(struct scan *scan, uint32_t event) {
    char words[HD_SITE_WORDS];
    hd_site_words(scan->analysis->describe, scan->model, event, words);
    uint32_t number = hd_intern(&scan->cover->site, words, strlen(words)) + 1;
    return number < SITE_LIMIT ? number : SITE_LIMIT - 1;
}

static uint32_t site_of(struct scan *scan, uint32_t event, unsigned does) {
    const struct hd_model *model = scan->model;
    uint32_t node = hd_model_stack(model, event);
    uint32_t named = model->site[event];
    /* An unnamed site is told by what it accesses. */
    uint64_t key = named != 0 ? (uint64_t)node << 32 | named : UINT64_MAX - model->object[event];
    uint32_t *slot = hd_map_slot(&scan->site_of[does], key, 0);
    if (*slot != 0) return *slot;
    const struct hd_trace *trace = model->trace;
    uint64_t code = trace->format == HD_FORMAT_BINARY ? hd_site_code(trace, named) : 0;
    if (code == 0) return *slot = words_number(scan, event);
    uint64_t caller = node != 0 ? hd_site_code(trace, trace->stack_site[node]) : 0;
    uint32_t *known =
        hd_map_slot(&scan->cover->by_code[does], hd_mix64(code ^ hd_mix64(caller)), 0);
    if (*known == 0) *known = words_number(scan, event);
    return *slot = *known;
}

/* ---- properties -------------------------------------------------------------------------------
 */

static struct hd_property *cover_property(struct scan *scan, enum hd_criterion criterion,
                                          uint32_t a, uint32_t b, uint32_t c) {
    return hd_cover_property(scan->cover, criterion, (uint32_t[]){a, b, c});
}

static void mark_covered(struct scan *scan, enum hd_criterion criterion, uint32_t a, uint32_t b,
                         uint32_t c) {
    struct hd_property *property = cover_property(scan, criterion, a, b, c);
    uint32_t index = (uint32_t)(property - scan->cover->kept[criterion].list.data);
    uint32_t *slot = hd_map_slot(&scan->covered[criterion], index, 0);
    if (*slot != 0) return;
    *slot = 1;
    property->runs++;
    property->infeasible = false;
    if (property->first == 0) property->first = (uint32_t)scan->cover->run.size + 1;
}

/* A property that the location has: feasible if any of its instances, in any run, is. */
static void note_property(struct scan *scan, enum hd_criterion criterion, uint32_t a, uint32_t b,
                          uint32_t c, bool unserializable, bool possible) {
    size_t before = scan->cover->kept[criterion].list.size;
    struct hd_property *property = cover_property(scan, criterion, a, b, c);
    property->unserializable = property->unserializable || unserializable;
    if (scan->cover->kept[criterion].list.size > before)
        property->infeasible = !possible;
    else if (possible)
        property->infeasible = false;
}

/* ---- what a location has ----------------------------------------------------------------------
 */

static int by_sites(const void *left, const void *right) {
    const struct entry *a = left, *b = right;
    for (int i = 0; i < 2; i++)
        if (a->site[i] != b->site[i]) return a->site[i] < b->site[i] ? -1 : 1;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    return a->event[0] < b->event[0] ? -1 : a->event[0] > b->event[0];
}

/* Sorts entries and sums them up: `start` has the first of each site (and, if `by_thread`,
 * thread). */
static uint32_t sum_up(struct entry *entry, uint32_t count, bool by_thread, uint32_t *start) {
    uint32_t kept = 0;
    if (count > 1) qsort(entry, count, sizeof *entry, by_sites);
    for (uint32_t i = 0; i < count; i++) {
        struct entry *first = kept > 0 ? &entry[start[kept - 1]] : NULL;
        bool same = first != NULL && first->site[0] == entry[i].site[0] &&
                    first->site[1] == entry[i].site[1] &&
                    (!by_thread || first->thread == entry[i].thread);
        if (!same) {
            entry[i].count = 0;
            start[kept++] = i;
            first = &entry[i];
        } else if (first->thread != entry[i].thread) {
            first->thread = SEVERAL;
        }
        first->count++;
    }
    return kept;
}

static bool of_two_threads(const struct entry *a, const struct entry *b) {
    return a->thread == SEVERAL || b->thread == SEVERAL || a->thread != b->thread;
}

/* Have locations with just these sites been combined before? */
static bool was_seen(struct scan *scan) {
    uint64_t hash = 0;
    for (size_t i = 0; i < scan->accesses.size; i++) {
        const struct entry *access = &scan->access.data[scan->accesses.data[i]];
        uint64_t word[2] = {access->site[0], access->thread};
        hash = XXH3_64bits_withSeed(word, sizeof word, hash);
    }
    for (size_t i = 0; i < scan->pairs.size; i++) {
        const struct entry *pair = &scan->pair.data[scan->pairs.data[i]];
        uint64_t word[2] = {(uint64_t)pair->site[0] << 32 | pair->site[1], pair->thread};
        hash = XXH3_64bits_withSeed(word, sizeof word, hash + 1);
    }
    uint32_t *slot = hd_map_slot(&scan->seen, hash, 0);
    bool seen = *slot != 0;
    *slot = 1;
    return seen;
}

/* May any access of `remote` come between the two of any of `pair`? Both are of one thread each, in
 * order, so that the ends of the lists decide most. What would take too long is possible. */
static bool pair_is_possible(const struct scan *scan, const struct entry *pair,
                             const struct entry *remote) {
    if (scan->orders == NULL) return true;
    const struct hd_clocks *clocks = scan->orders->clocks;
    const struct entry *last_pair = pair + pair->count - 1;
    const struct entry *last_remote = remote + remote->count - 1;
    if (hd_clocks_before(clocks, last_remote->event[0], pair->event[0])) return false;
    if (hd_clocks_before(clocks, last_pair->event[1], remote->event[0])) return false;
    if ((uint64_t)pair->count * remote->count > INSTANCE_LIMIT) return true;
    for (uint32_t p = 0; p < pair->count; p++)
        for (uint32_t r = 0; r < remote->count; r++)
            if (hd_cover_between(scan->orders, pair[p].event[0], remote[r].event[0],
                                 pair[p].event[1]))
                return true;
    return false;
}

/* The same for a read and a write that it might see. */
static bool read_is_possible(const struct scan *scan, const struct entry *read,
                             const struct entry *write) {
    if (scan->orders == NULL) return true;
    const struct entry *last_read = read + read->count - 1;
    if (hd_clocks_before(scan->orders->clocks, last_read->event[0], write->event[0])) return false;
    if ((uint64_t)read->count * write->count > INSTANCE_LIMIT) return true;
    for (uint32_t r = 0; r < read->count; r++)
        for (uint32_t w = 0; w < write->count; w++)
            if (hd_cover_sees(scan->orders, &read[r].read, write[w].event[0])) return true;
    return false;
}

static void combine_pairs(struct scan *scan) {
    for (size_t p = 0; p < scan->pairs.size; p++) {
        const struct entry *pair = &scan->pair.data[scan->pairs.data[p]];
        for (size_t r = 0; r < scan->accesses.size; r++) {
            const struct entry *remote = &scan->access.data[scan->accesses.data[r]];
            if (!of_two_threads(pair, remote)) continue;
            bool pattern = hd_pattern_of(pair->does[0], remote->does[0], pair->does[1], false) !=
                           HD_PATTERN_NONE;
            bool possible = pair_is_possible(scan, pair, remote);
            note_property(scan, HD_COVER_PINV, pair->site[0], pair->site[1], remote->site[0],
                          pattern, possible);
            if (pattern)
                note_property(scan, HD_COVER_LR_INV, pair->site[0], pair->site[1], 0, true,
                              possible);
        }
    }
}

static void combine_reads(struct scan *scan) {
    for (size_t r = 0; r < scan->accesses.size; r++) {
        const struct entry *read = &scan->access.data[scan->accesses.data[r]];
        if ((read->does[0] & HD_DOES_READ) == 0) continue;
        bool local = scan->orders == NULL;
        for (uint32_t i = 0; i < read->count && !local; i++)
            local = hd_cover_sees_local(scan->orders, &read[i].read);
        note_property(scan, HD_COVER_DEF_USE, HD_COVER_LOCAL, read->site[0], 0, false, local);
        note_property(scan, HD_COVER_LR_DEF, read->site[0], 0, 0, false, local);
        for (size_t w = 0; w < scan->accesses.size; w++) {
            const struct entry *write = &scan->access.data[scan->accesses.data[w]];
            if ((write->does[0] & HD_DOES_WRITE) == 0 || !of_two_threads(read, write)) continue;
            bool possible = read_is_possible(scan, read, write);
            note_property(scan, HD_COVER_DEF_USE, write->site[0], read->site[0], 0, false,
                          possible);
            note_property(scan, HD_COVER_LR_DEF, read->site[0], 1, 0, false, possible);
        }
    }
}

/* ---- what a run covered at a location ---------------------------------------------------------
 */

/* Sites of other threads between two positions. */
static void cover_between(struct scan *scan, const uint32_t *list, uint32_t first,
                          uint32_t second) {
    uint32_t a = scan->site.data[first], b = scan->site.data[second];
    uint16_t thread = scan->model->thread[list[second]];
    if (second - first - 1 <= scan->latest.size) {
        for (uint32_t i = first + 1; i < second; i++)
            mark_covered(scan, HD_COVER_PINV, a, b, scan->site.data[i]);
        return;
    }
    for (size_t i = 0; i < scan->latest.size; i++) {
        struct latest latest = scan->latest.data[i];
        if (latest.position > first && latest.thread != thread)
            mark_covered(scan, HD_COVER_PINV, a, b, latest.site);
    }
}

static void note_latest(struct scan *scan, uint32_t site, uint32_t thread, uint32_t position) {
    for (size_t i = 0; i < scan->latest.size; i++)
        if (scan->latest.data[i].site == site && scan->latest.data[i].thread == thread) {
            scan->latest.data[i].position = position;
            return;
        }
    hd_vector_push(&scan->latest, ((struct latest){site, thread, position}));
}

static void cover_pair(struct scan *scan, const uint32_t *list, uint32_t first, uint32_t second,
                       struct hd_cover_writes writes) {
    const struct hd_model *model = scan->model;
    uint32_t a = scan->site.data[first], b = scan->site.data[second];
    struct hd_cover_pair *pair = hd_cover_pair(scan->cover, a, b);
    pair->instances++;
    pair->gap += hd_model_position(model, list[second]) - hd_model_position(model, list[first]) - 1;
    if (second - first > 1) cover_between(scan, list, first, second);
    if (hd_cover_interleaved(model, list, first, second, writes))
        mark_covered(scan, HD_COVER_LR_INV, a, b, 0);
    struct entry entry = {.site = {a, b},
                          .thread = model->thread[list[second]],
                          .does = {(uint8_t)hd_access_does(model, list[first]),
                                   (uint8_t)hd_access_does(model, list[second])},
                          .event = {list[first], list[second]}};
    hd_vector_push(&scan->pair, entry);
}

static void cover_read(struct scan *scan, const uint32_t *list, uint32_t read, uint32_t write) {
    uint32_t site = scan->site.data[read];
    bool local =
        write == HD_NONE || scan->model->thread[list[write]] == scan->model->thread[list[read]];
    mark_covered(scan, HD_COVER_DEF_USE, local ? HD_COVER_LOCAL : scan->site.data[write], site, 0);
    mark_covered(scan, HD_COVER_LR_DEF, site, !local, 0);
}

static void scan_accesses(struct scan *scan, const uint32_t *list, uint32_t count) {
    struct hd_cover_writes writes = {HD_NONE, HD_NONE};
    scan->access.size = scan->pair.size = scan->site.size = scan->latest.size = 0;
    for (uint32_t i = 0; i < count; i++) {
        unsigned does = hd_access_does(scan->model, list[i]);
        uint16_t thread = scan->model->thread[list[i]];
        hd_vector_push(&scan->site, site_of(scan, list[i], does));
        uint32_t own = scan->last_write[thread];
        struct entry entry = {.site = {scan->site.data[i], 0},
                              .thread = thread,
                              .does = {(uint8_t)does, 0},
                              .event = {list[i], list[i]},
                              .read = {list[i], own != HD_NONE ? list[own] : HD_NONE,
                                       writes.last != HD_NONE ? list[writes.last] : HD_NONE}};
        hd_vector_push(&scan->access, entry);
        if (scan->last[thread] != HD_NONE) cover_pair(scan, list, scan->last[thread], i, writes);
        if ((does & HD_DOES_READ) != 0) cover_read(scan, list, i, writes.last);
        hd_cover_note_write(&writes, does, i);
        note_latest(scan, scan->site.data[i], thread, i);
        scan->last[thread] = i;
        if ((does & HD_DOES_WRITE) != 0) scan->last_write[thread] = i;
    }
    for (uint32_t i = 0; i < count; i++)
        scan->last[scan->model->thread[list[i]]] = scan->last_write[scan->model->thread[list[i]]] =
            HD_NONE;
}

static void scan_location(struct scan *scan, uint32_t location) {
    uint32_t count;
    const uint32_t *list = hd_cover_accesses(scan->model, location, &scan->room, &count);
    scan_accesses(scan, list, count);
    bool by_thread = scan->orders != NULL;
    hd_vector_reserve(&scan->accesses, scan->access.size);
    hd_vector_reserve(&scan->pairs, scan->pair.size);
    scan->accesses.size =
        sum_up(scan->access.data, (uint32_t)scan->access.size, by_thread, scan->accesses.data);
    scan->pairs.size =
        sum_up(scan->pair.data, (uint32_t)scan->pair.size, by_thread, scan->pairs.data);
    if (!by_thread && was_seen(scan)) return;
    uint64_t combinations =
        (uint64_t)scan->accesses.size * (scan->pairs.size + scan->accesses.size);
    if (combinations > LOCATION_LIMIT) {
        scan->cover->cut = true;
        return;
    }
    combine_pairs(scan);
    combine_reads(scan);
}

/* ---- a run ------------------------------------------------------------------------------------
 */

static void finish_run(struct scan *scan, const char *name) {
    struct hd_cover *cover = scan->cover;
    struct hd_cover_run run = {.name = hd_arena_copy(&cover->arena, name, strlen(name))};
    for (unsigned c = HD_COVER_KEPT; c < HD_CRITERION_COUNT; c++)
        run.covered[c] = scan->covered[c].count;
    hd_vector_push(&cover->run, run);
}

void hd_cover_add(struct hd_cover *cover, struct hd_analysis *analysis, const char *name,
                  bool feasible) {
    const struct hd_model *model = analysis->model;
    struct hd_cover_orders orders = {model, feasible ? hd_must_clocks(analysis) : NULL};
    struct scan scan = {
        .cover = cover, .model = model, .analysis = analysis, .orders = feasible ? &orders : NULL};
    scan.last = hd_alloc(model->threads, sizeof *scan.last);
    scan.last_write = hd_alloc(model->threads, sizeof *scan.last_write);
    for (uint32_t t = 0; t < model->threads; t++) scan.last[t] = scan.last_write[t] = HD_NONE;
    for (uint32_t l = 0; l < model->locations; l++)
        if (model->location[l].shared) scan_location(&scan, l);
    finish_run(&scan, name);
    for (unsigned does = 0; does < 4; does++) hd_map_free(&scan.site_of[does]);
    hd_map_free(&scan.seen);
    for (unsigned c = 0; c < HD_CRITERION_COUNT; c++) hd_map_free(&scan.covered[c]);
    hd_vector_free(&scan.access);
    hd_vector_free(&scan.pair);
    hd_vector_free(&scan.accesses);
    hd_vector_free(&scan.pairs);
    hd_vector_free(&scan.site);
    hd_vector_free(&scan.latest);
    free(scan.room);
    free(scan.last);
    free(scan.last_write);
}
