/* Sets of what runs did: see history.h. */
#include "facts/history.h"

#include "base/alloc.h"
#include "facts/site.h"

#include <string.h>

enum deed { SITE = 1, PAIR, USE, TRIPLE, LOCAL_PAIR, EARLY_READ, WRITES };

static uint64_t key_of(enum deed deed, uint64_t a, uint64_t b) {
    return hd_mix64(a * 3 + hd_mix64(b + deed));
}

/* ---- by the code -----------------------------------------------------------------------------
 */

/* Codes of a run's sites: each is looked up once. */
struct codes {
    const struct hd_model *model;
    struct hd_map number;
    HD_VECTOR(uint64_t) code;
};

static uint64_t code_at(struct codes *codes, uint32_t event) {
    uint32_t site = codes->model->site[event], fresh = codes->number.count;
    uint32_t number = *hd_map_slot(&codes->number, site, fresh);
    if (number == fresh) hd_vector_push(&codes->code, hd_site_code(codes->model->trace, site));
    return codes->code.data[number];
}

static void free_codes(struct codes *codes) {
    hd_map_free(&codes->number);
    hd_vector_free(&codes->code);
}

/* The next two accesses, from *at on, that follow each other on a shared location and are of two
 * threads; *at is an index into location_event. */
static bool next_pair(const struct hd_model *model, uint32_t *location, uint32_t *at,
                      struct hd_new_pair *pair) {
    for (; *location < model->locations; ++*location) {
        if (!model->location[*location].shared) continue;
        if (*at <= model->location_start[*location]) *at = model->location_start[*location] + 1;
        for (; *at < model->location_start[*location + 1]; ++*at) {
            uint32_t a = model->location_event[*at - 1], b = model->location_event[*at];
            if (model->thread[a] == model->thread[b]) continue;
            *pair = (struct hd_new_pair){*location, a, b};
            ++*at;
            return true;
        }
    }
    return false;
}

static void note(struct hd_history *history, enum deed deed, uint64_t a, uint64_t b,
                 uint32_t *count, uint32_t *fresh) {
    uint32_t *slot = hd_map_slot(&history->known, key_of(deed, a, b), 0);
    *count += *slot == 0;
    *fresh += *slot == 0;
    *slot = 1;
}

uint32_t hd_history_add(struct hd_history *history, const struct hd_model *model) {
    struct codes codes = {.model = model};
    struct hd_new_pair pair;
    uint32_t fresh = 0;
    for (uint32_t e = 0; e < model->events; e++) {
        uint64_t code = code_at(&codes, e);
        note(history, SITE, code, model->kind[e], &history->sites, &fresh);
        if (!hd_model_is_read(model, e)) continue;
        uint64_t write = model->from[e] == HD_NONE ? 0 : code_at(&codes, model->from[e]);
        note(history, USE, write, code, &history->uses, &fresh);
    }
    for (uint32_t location = 0, at = 0; next_pair(model, &location, &at, &pair);)
        note(history, PAIR, code_at(&codes, pair.first), code_at(&codes, pair.second),
             &history->pairs, &fresh);
    free_codes(&codes);
    return fresh;
}

void hd_history_free(struct hd_history *history) { hd_map_free(&history->known); }

static int compare_pairs(const void *left, const void *right) {
    const struct hd_new_pair *a = left, *b = right;
    if (a->second != b->second) return a->second < b->second ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

uint32_t hd_history_new_pairs(const struct hd_history *history, const struct hd_model *model,
                              struct hd_new_pair *pair, uint32_t room) {
    HD_VECTOR(struct hd_new_pair) list = {0};
    struct codes codes = {.model = model};
    struct hd_new_pair each;
    for (uint32_t location = 0, at = 0; next_pair(model, &location, &at, &each);) {
        uint64_t key = key_of(PAIR, code_at(&codes, each.first), code_at(&codes, each.second));
        if (hd_map_get(&history->known, key, 0) == 0) hd_vector_push(&list, each);
    }
    free_codes(&codes);
    if (list.size > 1) qsort(list.data, list.size, sizeof *list.data, compare_pairs);
    uint32_t count = list.size < room ? (uint32_t)list.size : room;
    if (count > 0) memcpy(pair, list.data, count * sizeof *pair);
    hd_vector_free(&list);
    return count;
}

/* ---- by the source ---------------------------------------------------------------------------
 */

/* Sources of a run's sites. They may depend on what the event does and on the call stack. */
static uint64_t source_of(const struct hd_analysis *run, uint32_t event) {
    return hd_site_source(run->describe, run->model, event);
}

static uint64_t pair_key(const uint64_t site[3]) { return key_of(LOCAL_PAIR, site[0], site[2]); }
static uint64_t triple_key(const uint64_t site[3]) {
    return key_of(TRIPLE, pair_key(site), site[1]);
}

static void add_triples(const struct hd_analysis *run, const struct hd_triples *triples,
                        struct hd_map *did) {
    for (uint32_t g = 0; g < triples->group.size; g++) {
        struct hd_triple triple;
        if (!hd_triples_observed(triples, g, &triple)) continue;
        uint64_t site[3] = {source_of(run, triple.first), source_of(run, triple.remote),
                            source_of(run, triple.second)};
        hd_map_slot(did, triple_key(site), 1);
    }
}

/* Pairs that are in no group count too: nobody else touched the location. */
static void add_local_pairs(const struct hd_analysis *run, const struct hd_triple_lists *lists,
                            struct hd_map *did) {
    for (size_t l = 0; l < lists->pairs.size; l++) {
        const struct hd_local_pair *pair = &lists->pair.data[lists->pairs.data[l].start];
        uint64_t site[3] = {source_of(run, pair->first), 0, source_of(run, pair->second)};
        hd_map_slot(did, pair_key(site), 1);
    }
}

static void *build_triples(struct hd_analysis *run, unsigned all_patterns) {
    struct hd_map *did = hd_zalloc(1, sizeof *did);
    const struct hd_triples *triples = hd_triples(run, all_patterns != 0);
    add_triples(run, triples, did);
    add_local_pairs(run, &triples->lists, did);
    return did;
}

/* Reads that came before the first write of another thread, and pairs of the first write and those
 * of other threads; each two sites of the trace once. */
static void add_orders(const struct hd_analysis *run, uint32_t location, struct hd_map *known,
                       struct hd_map *did) {
    const struct hd_model *model = run->model;
    const uint32_t *event = model->location_event + model->location_start[location];
    uint32_t count = model->location_start[location + 1] - model->location_start[location], i = 0;
    for (; i < count && !hd_model_is_write(model, event[i]); i++)
        if ((*hd_map_slot(known, (uint64_t)model->site[event[i]] << 32 | HD_NONE, 0))++ == 0)
            hd_map_slot(did, key_of(EARLY_READ, source_of(run, event[i]), 0), 1);
    if (i == count) return;
    uint32_t first = event[i];
    for (i++; i < count; i++)
        if (hd_model_is_write(model, event[i]) && model->thread[event[i]] != model->thread[first] &&
            (*hd_map_slot(known, (uint64_t)model->site[first] << 32 | model->site[event[i]],
                          0))++ == 0)
            hd_map_slot(did, key_of(WRITES, source_of(run, first), source_of(run, event[i])), 1);
}

static void *build_orders(struct hd_analysis *run, unsigned variant) {
    struct hd_map *did = hd_zalloc(1, sizeof *did), known = {0};
    (void)variant;
    for (uint32_t l = 0; l < run->model->locations; l++)
        if (run->model->location[l].shared) add_orders(run, l, &known, did);
    hd_map_free(&known);
    return did;
}

static void free_did(void *fact) {
    hd_map_free(fact);
    free(fact);
}

static const struct hd_fact_kind triples_kind = {build_triples, free_did, true};
static const struct hd_fact_kind orders_kind = {build_orders, free_did, true};

struct hd_run_counts hd_count_runs(struct hd_analysis *const *run, uint32_t runs, bool all_patterns,
                                   const uint64_t site[3]) {
    struct hd_run_counts counts = {0, 0};
    for (uint32_t r = 0; r < runs; r++) {
        const struct hd_map *did = hd_analysis_fact(run[r], &triples_kind, all_patterns);
        counts.exercised += hd_map_get(did, triple_key(site), 0);
        counts.had += hd_map_get(did, pair_key(site), 0);
    }
    return counts;
}

static bool was_shown(struct hd_analysis *const *run, uint32_t runs, uint64_t key) {
    for (uint32_t r = 0; r < runs; r++)
        if (hd_map_get(hd_analysis_fact(run[r], &orders_kind, 0), key, 0) != 0) return true;
    return false;
}

bool hd_read_was_early(struct hd_analysis *const *run, uint32_t runs, uint64_t read) {
    return was_shown(run, runs, key_of(EARLY_READ, read, 0));
}

bool hd_writes_were_shown(struct hd_analysis *const *run, uint32_t runs, uint64_t first,
                          uint64_t later) {
    return was_shown(run, runs, key_of(WRITES, first, later));
}
