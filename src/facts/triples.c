/* The generator of triples: location by location, lists of pairs and of remote accesses into
 * bundles, bundles into groups. */
#include "facts/triples.h"

#include "base/alloc.h"
#include "facts/sane.h"
#include "facts/site.h"

#include <string.h>

/* A list of remote accesses without those that a set of locks excludes. */
struct filtered {
    uint32_t remotes, held; /* list, set */
    uint32_t result;        /* list; HD_NONE: none is left */
};

struct generator {
    struct hd_triples *result;
    const struct hd_model *model;
    bool all_patterns;
    uint32_t location;
    struct hd_lister lister;
    struct hd_scratch_table filter_table;
    HD_VECTOR(struct filtered) filter;
    struct hd_map site_number;
    struct hd_map two_sites, group_number; /* two sites; these, the third and pattern -> group */
    HD_VECTOR(uint32_t) group_of;          /* each bundle */
    uint64_t most;                         /* groups */
};

static uint32_t number_site(void *context, uint32_t event, uint32_t location) {
    struct generator *g = context;
    return hd_site_number(g->model, &g->site_number, event, location);
}

/* ---- bundles ----------------------------------------------------------------------------------
 */

static uint32_t make_filtered(struct generator *g, uint32_t remotes, uint32_t held) {
    struct hd_triple_lists *lists = &g->result->lists;
    const struct hd_segments *segments = g->result->segments;
    struct hd_remote_list fresh = lists->remotes.data[remotes];
    uint32_t old = fresh.start, count = fresh.count;
    fresh.start = (uint32_t)lists->remote.size;
    fresh.count = 0;
    hd_vector_reserve(&lists->remote, count);
    for (uint32_t n = 0; n < count; n++) {
        uint32_t event = lists->remote.data[old + n];
        if (!hd_locksets_exclude(&segments->locksets, held, hd_lockset_at(segments, event)))
            lists->remote.data[fresh.start + fresh.count++] = event;
    }
    if (fresh.count == count) return remotes;
    if (fresh.count == 0) return HD_NONE;
    lists->remote.size += fresh.count;
    hd_vector_push(&lists->remotes, fresh);
    return (uint32_t)lists->remotes.size - 1;
}

/* The accesses of a list that no common section with a pair parts from it; HD_NONE if there are
 * none. */
static uint32_t filter(struct generator *g, uint32_t remotes, uint32_t held) {
    struct hd_scratch_table *table = &g->filter_table;
    if (held == 0) return remotes;
    struct hd_scratch_slot *slot =
        hd_scratch_find(table, (uint64_t)remotes << 32 | held, at,
                        g->filter.data[at].remotes == remotes && g->filter.data[at].held == held);
    if (!hd_scratch_is_empty(table, slot)) return g->filter.data[slot->value].result;
    struct filtered made = {remotes, held, make_filtered(g, remotes, held)};
    hd_scratch_put(table, slot, (uint32_t)g->filter.size);
    hd_vector_push(&g->filter, made);
    if (g->filter.size * 2 > table->mask) {
        /* too many by now: forget, and begin again with room for more */
        g->filter.size = 0;
        hd_scratch_clear(table, table->mask + (uint64_t)1);
    }
    return made.result;
}

/* The first triple of two lists. */
static bool find_open(const struct hd_triples *triples, const struct hd_triple_bundle *bundle,
                      struct hd_triple *found) {
    const struct hd_pair_list *pairs = &triples->lists.pairs.data[bundle->pairs];
    const struct hd_remote_list *remotes = &triples->lists.remotes.data[bundle->remotes];
    const struct hd_local_pair *pair = triples->lists.pair.data + pairs->start;
    const uint32_t *remote = triples->lists.remote.data + remotes->start;
    const struct hd_clocks *clocks = triples->clocks;
    if (hd_clocks_before(clocks, remote[remotes->count - 1], pair[0].first) ||
        hd_clocks_before(clocks, pair[pairs->count - 1].second, remote[0]))
        return false;
    for (uint32_t n = 0, from = 0; n < pairs->count; n++) {
        while (from < remotes->count && hd_clocks_before(clocks, remote[from], pair[n].first))
            from++;
        if (from == remotes->count) return false;
        if (hd_clocks_before(clocks, pair[n].second, remote[from])) continue;
        *found = (struct hd_triple){pair[n].first, remote[from], pair[n].second, pairs->location};
        return true;
    }
    return false;
}

struct hd_triple hd_bundle_first(const struct hd_triples *triples, uint32_t bundle) {
    struct hd_triple triple = {0};
    find_open(triples, &triples->bundle.data[bundle], &triple);
    return triple;
}

static void add_to_group(struct generator *g, enum hd_pattern pattern,
                         const struct hd_triple_bundle *bundle) {
    struct hd_triples *result = g->result;
    const struct hd_pair_list *pairs = &result->lists.pairs.data[bundle->pairs];
    const struct hd_remote_list *remotes = &result->lists.remotes.data[bundle->remotes];
    uint32_t *slot = hd_map_slot(&g->two_sites, (uint64_t)pairs->site[0] << 32 | pairs->site[1],
                                 g->two_sites.count);
    uint32_t fresh = (uint32_t)result->group.size;
    uint64_t key = (uint64_t)*slot << 32 | remotes->site << 3 | (uint32_t)pattern;
    uint32_t number = *hd_map_slot(&g->group_number, key, fresh);
    if (number == fresh) {
        struct hd_triple_group group = {.site = {pairs->site[0], remotes->site, pairs->site[1]},
                                        .pattern = pattern};
        hd_vector_push(&result->group, group);
    }
    result->group.data[number].count++;
    hd_vector_push(&g->group_of, number);
    hd_vector_push(&result->bundle, *bundle);
}

static void add_bundle(struct generator *g, uint32_t pairs, uint32_t remotes) {
    struct hd_triple_lists *lists = &g->result->lists;
    const struct hd_pair_list *local = &lists->pairs.data[pairs];
    const struct hd_remote_list *remote = &lists->remotes.data[remotes];
    if (local->thread == remote->thread) return;
    enum hd_pattern pattern =
        hd_pattern_of(local->does[0], remote->does, local->does[1], g->all_patterns);
    if (pattern == HD_PATTERN_NONE) return;
    struct hd_triple_bundle bundle = {pairs, filter(g, remotes, local->held)};
    struct hd_triple first;
    if (bundle.remotes != HD_NONE && find_open(g->result, &bundle, &first))
        add_to_group(g, pattern, &bundle);
}

/* Each list of pairs with those of remote accesses whose first is nearest in the trace, up to so
 * many new groups. */
static void add_nearest(struct generator *g, uint32_t last_pairs, uint32_t last_remotes,
                        uint64_t share) {
    const struct hd_triple_lists *lists = &g->result->lists;
    uint32_t first_pairs = g->lister.first_pairs, first_remotes = g->lister.first_remotes;
    uint32_t remotes = last_remotes - first_remotes;
    size_t full = g->result->group.size + share;
    uint64_t all = (uint64_t)(last_pairs - first_pairs) * remotes, seen = 0;
    for (uint32_t distance = 0; distance < remotes; distance++) {
        uint32_t at =
            first_remotes; /* both kinds of lists are in the order of their first events */
        for (uint32_t pairs = first_pairs; pairs < last_pairs; pairs++) {
            uint32_t begin = lists->pair.data[lists->pairs.data[pairs].start].first;
            while (at + 1 < last_remotes &&
                   lists->remote.data[lists->remotes.data[at].start] < begin)
                at++;
            if (g->result->group.size >= full) {
                g->result->left += all - seen;
                return;
            }
            seen++;
            add_bundle(g, pairs, first_remotes + (at - first_remotes + distance) % remotes);
        }
    }
}

/* So many pairs of lists of one location are always looked at. */
#define FEW_BUNDLES 100000u

static void make_bundles(struct generator *g) {
    uint32_t last_pairs = (uint32_t)g->result->lists.pairs.size;
    uint32_t last_remotes = (uint32_t)g->result->lists.remotes.size;
    uint64_t bundles =
        (uint64_t)(last_pairs - g->lister.first_pairs) * (last_remotes - g->lister.first_remotes);
    uint64_t left = g->most > g->result->group.size ? g->most - g->result->group.size : 0;
    g->filter.size = 0;
    hd_scratch_clear(&g->filter_table, 1);
    if (bundles > FEW_BUNDLES && bundles > left / 2) {
        /* half of what is left for all, so that later ones come to something too */
        add_nearest(g, last_pairs, last_remotes, left / 2);
        return;
    }
    for (uint32_t pairs = g->lister.first_pairs; pairs < last_pairs; pairs++)
        for (uint32_t remotes = g->lister.first_remotes; remotes < last_remotes; remotes++)
            add_bundle(g, pairs, remotes);
}

/* By group; the order within a group stays. */
static void sort_bundles(struct generator *g) {
    struct hd_triples *result = g->result;
    size_t count = result->bundle.size;
    struct hd_triple_bundle *sorted = hd_alloc(count, sizeof *sorted);
    uint32_t start = 0;
    for (size_t i = 0; i < result->group.size; i++) {
        result->group.data[i].start = start;
        start += result->group.data[i].count;
        result->group.data[i].count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        struct hd_triple_group *group = &result->group.data[g->group_of.data[i]];
        sorted[group->start + group->count++] = result->bundle.data[i];
    }
    free(result->bundle.data);
    result->bundle.data = sorted;
    result->bundle.capacity = count;
}

/* ---- the whole --------------------------------------------------------------------------------
 */

static void *build(struct hd_analysis *analysis, unsigned all_patterns) {
    const struct hd_model *model = analysis->model;
    struct hd_triples *triples = hd_zalloc(1, sizeof *triples);
    struct hd_segments *segments = hd_segments(analysis, HD_CDSR);
    struct generator g = {.result = triples,
                          .model = model,
                          .all_patterns = all_patterns != 0,
                          .most = hd_most_candidates(analysis)};
    *triples = (struct hd_triples){
        .model = model, .segments = segments, .clocks = hd_must_clocks(analysis)};
    g.lister = (struct hd_lister){.model = model,
                                  .segments = segments,
                                  .lists = &triples->lists,
                                  .site = number_site,
                                  .context = &g};
    hd_progress_start(analysis->progress, "looking for candidates", model->locations);
    for (uint32_t l = 0; l < model->locations; l++) {
        hd_progress_step(analysis->progress, l);
        g.location = l;
        if (model->location[l].shared && hd_lister_add(&g.lister, l)) make_bundles(&g);
    }
    sort_bundles(&g);
    hd_vector_free(&g.group_of);
    hd_lister_free(&g.lister);
    free(g.filter_table.slot);
    hd_vector_free(&g.filter);
    hd_map_free(&g.site_number);
    hd_map_free(&g.two_sites);
    hd_map_free(&g.group_number);
#ifdef HEDDLE_DEBUG
    hd_check_triples(triples, g.all_patterns);
#endif
    return triples;
}

static void free_triples(void *fact) {
    struct hd_triples *triples = fact;
    hd_triple_lists_free(&triples->lists);
    hd_vector_free(&triples->bundle);
    hd_vector_free(&triples->group);
    free(triples);
}

static const struct hd_fact_kind kind = {build, free_triples, false};

const struct hd_triples *hd_triples(struct hd_analysis *analysis, bool all_patterns) {
    return hd_analysis_fact(analysis, &kind, all_patterns);
}
