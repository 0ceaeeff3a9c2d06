/* The generator of triples: location by location, accesses sorted into lists, lists into bundles.
 */
#include "facts/triples.h"

#include "facts/conflicts.h"

#include <stdlib.h>
#include <string.h>

/* A hash table of list numbers that forgets in no time: entries of another location are empty. */
struct slot {
    uint32_t stamp, value;
};
struct table {
    struct slot *slot;
    uint32_t mask, stamp;
};

/* A list of remote accesses without those that a set of locks excludes. */
struct filtered {
    uint32_t remotes, held; /* list, set */
    uint32_t result;        /* list */
};

struct generator {
    struct hd_triples *result;
    const struct hd_model *model;
    bool all_patterns;
    uint32_t location;
    const uint32_t *event; /* of the location */
    uint32_t events;
    struct {
        uint32_t stamp, index; /* the thread's last access of the location */
    } * last;                  /* per thread */
    struct table pair_table, remote_table, filter_table;
    HD_VECTOR(struct hd_local_pair) pair; /* in the order of the second */
    HD_VECTOR(uint32_t) pair_list;        /* of each of them */
    HD_VECTOR(uint32_t) remote_list;      /* of each access, HD_NONE */
    HD_VECTOR(uint32_t) site;             /* of each access */
    HD_VECTOR(struct filtered) filter;
    HD_VECTOR(uint32_t) common; /* locks */
    HD_VECTOR(uint32_t) section;
    uint32_t first_pairs, first_remotes; /* lists of the location */
    /* locks that every access of the location holds, for writing if it writes */
    uint32_t guard[8];
    uint32_t guards;
};

/* ---- patterns ---------------------------------------------------------------------------------
 */

static const char *const pattern_text[] = {"",
#define X(name, text, wrong) text,
                                           HD_PATTERNS(X)
#undef X
};
static const char *const pattern_wrong[] = {"",
#define X(name, text, wrong) wrong,
                                            HD_PATTERNS(X)
#undef X
};
const char *hd_pattern_name(enum hd_pattern pattern) { return pattern_text[pattern]; }
const char *hd_pattern_wrong(enum hd_pattern pattern) { return pattern_wrong[pattern]; }

unsigned hd_access_does(const struct hd_model *model, uint32_t event) {
    switch (model->kind[event]) {
    case HD_EV_READ:
    case HD_EV_ATOMIC_READ:
        return HD_DOES_READ;
    case HD_EV_WRITE:
    case HD_EV_ATOMIC_WRITE:
        return HD_DOES_WRITE;
    case HD_EV_ATOMIC_UPDATE:
        return HD_DOES_UPDATE;
    default:
        return 0;
    }
}

enum hd_pattern hd_pattern_of(unsigned first, unsigned remote, unsigned second, bool all) {
    bool reads_first = first & HD_DOES_READ, writes_first = first & HD_DOES_WRITE;
    bool reads_second = second & HD_DOES_READ, writes_second = second & HD_DOES_WRITE;
    if (first == 0 || remote == 0 || second == 0) return HD_PATTERN_NONE;
    if (first == HD_DOES_UPDATE && remote == HD_DOES_UPDATE && second == HD_DOES_UPDATE)
        return HD_PATTERN_NONE;
    if (remote & HD_DOES_WRITE) {
        if (reads_first && writes_second) return HD_PATTERN_RWW;
        if (writes_first && reads_second) return HD_PATTERN_WWR;
        if (reads_first && reads_second) return HD_PATTERN_RWR;
    }
    if (remote & HD_DOES_READ && writes_first && writes_second) return HD_PATTERN_WRW;
    if (all && remote == HD_DOES_WRITE && writes_first && writes_second) return HD_PATTERN_WWW;
    return HD_PATTERN_NONE;
}

/* ---- tables -----------------------------------------------------------------------------------
 */

static bool table_clear(struct table *table, uint64_t entries) {
    uint64_t wanted = 64;
    while (wanted < entries * 2) wanted *= 2;
    if (table->slot == NULL || table->mask + (uint64_t)1 < wanted || table->stamp == UINT32_MAX) {
        if (table->slot != NULL && table->mask + (uint64_t)1 > wanted)
            wanted = table->mask + (uint64_t)1;
        free(table->slot);
        table->slot = calloc(wanted, sizeof *table->slot);
        if (table->slot == NULL) return false;
        table->mask = (uint32_t)(wanted - 1);
        table->stamp = 0;
    }
    table->stamp++;
    return true;
}

static bool same_pairs(const struct hd_pair_list *a, const struct hd_pair_list *b) {
    return a->site[0] == b->site[0] && a->site[1] == b->site[1] && a->held == b->held &&
           a->thread == b->thread && a->does[0] == b->does[0] && a->does[1] == b->does[1];
}

/* The list that pairs like this belong to. HD_NONE when memory is out. */
static uint32_t find_pairs(struct generator *g, const struct hd_pair_list *like) {
    struct table *table = &g->pair_table;
    uint64_t key = hd_mix64((uint64_t)like->site[0] << 32 | like->site[1]) ^
                   ((uint64_t)like->held << 32 | (uint64_t)like->thread << 8 |
                    (uint64_t)like->does[0] << 4 | like->does[1]);
    uint32_t at = (uint32_t)hd_mix64(key) & table->mask;
    for (; table->slot[at].stamp == table->stamp; at = (at + 1) & table->mask)
        if (same_pairs(&g->result->pairs.data[table->slot[at].value], like))
            return table->slot[at].value;
    uint32_t fresh = (uint32_t)g->result->pairs.size;
    if (!hd_vector_push(&g->result->pairs, *like)) return HD_NONE;
    table->slot[at] = (struct slot){table->stamp, fresh};
    return fresh;
}

static uint32_t find_remotes(struct generator *g, const struct hd_remote_list *like) {
    struct table *table = &g->remote_table;
    uint64_t key = (uint64_t)like->site << 24 | (uint64_t)like->thread << 8 | like->does;
    uint32_t at = (uint32_t)hd_mix64(key) & table->mask;
    for (; table->slot[at].stamp == table->stamp; at = (at + 1) & table->mask) {
        const struct hd_remote_list *list = &g->result->remotes.data[table->slot[at].value];
        if (list->site == like->site && list->thread == like->thread && list->does == like->does)
            return table->slot[at].value;
    }
    uint32_t fresh = (uint32_t)g->result->remotes.size;
    if (!hd_vector_push(&g->result->remotes, *like)) return HD_NONE;
    table->slot[at] = (struct slot){table->stamp, fresh};
    return fresh;
}

/* ---- locks ------------------------------------------------------------------------------------
 */

static uint32_t lockset_at(const struct generator *g, uint32_t event) {
    const struct hd_segments *segments = &g->result->segments;
    return segments->segment.data[segments->of[event]].lockset;
}

/* Locks that keep all accesses of the location apart: a pair inside one section of such a lock is
 * never parted. A cheap look that keeps well protected locations out of everything else. */
static void find_guards(struct generator *g) {
    const struct hd_locksets *sets = &g->result->segments.locksets;
    uint32_t previous = HD_NONE;
    g->guards = 0;
    for (uint32_t i = 0; i < g->events; i++) {
        uint32_t set = lockset_at(g, g->event[i]);
        bool write = hd_model_is_write(g->model, g->event[i]);
        if (i > 0 && set * 2 + write == previous) continue;
        previous = set * 2 + write;
        const struct hd_lockset *held = &sets->set.data[set];
        const uint32_t *lock = sets->held.data + held->start;
        if (i == 0)
            for (uint32_t k = 0; k < held->count && g->guards < 8; k++)
                if (g->guards == 0 || g->guard[g->guards - 1] != lock[k] / 2)
                    g->guard[g->guards++] = lock[k] / 2;
        uint32_t kept = 0;
        for (uint32_t k = 0; k < g->guards; k++)
            for (uint32_t j = 0; j < held->count; j++)
                if (lock[j] / 2 == g->guard[k] && (!write || lock[j] % 2 == 0)) {
                    g->guard[kept++] = g->guard[k];
                    break;
                }
        g->guards = kept;
        if (kept == 0) return;
    }
}

/* Does a guard part every remote access from a pair with these locks around both? A section for
 * reading lets a remote read in. */
static bool is_guarded(const struct generator *g, uint32_t set, bool both_write) {
    const struct hd_locksets *sets = &g->result->segments.locksets;
    const struct hd_lockset *held = &sets->set.data[set];
    for (uint32_t k = 0; k < g->guards; k++)
        for (uint32_t j = 0; j < held->count; j++) {
            uint32_t lock = sets->held.data[held->start + j];
            if (lock / 2 == g->guard[k] && (lock % 2 == 0 || !both_write)) return true;
        }
    return false;
}

static int compare_held(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

/* The locks of the sections that both accesses are in. HD_NONE when memory is out. */
static uint32_t common_locks(struct generator *g, uint32_t first, uint32_t second) {
    const struct hd_segments *segments = &g->result->segments;
    uint32_t set = lockset_at(g, first);
    if (set == 0 || segments->of[first] == segments->of[second]) return set;
    if (lockset_at(g, second) == 0) return 0;
    uint32_t count = hd_model_held(g->model, first, g->section.data, (uint32_t)g->section.capacity);
    if (count > g->section.capacity) {
        if (!hd_vector_reserve(&g->section, count)) return HD_NONE;
        hd_model_held(g->model, first, g->section.data, count);
    }
    g->common.size = 0;
    if (!hd_vector_reserve(&g->common, count)) return HD_NONE;
    for (uint32_t i = 0; i < count; i++) {
        const struct hd_section *section = &g->model->section[g->section.data[i]];
        /* a release is inside its section; in a repaired trace it may be an access */
        if (section->release == HD_NONE || section->release >= second)
            g->common.data[g->common.size++] = section->lock * 2 + section->read_mode;
    }
    if (g->common.size > 1)
        qsort(g->common.data, g->common.size, sizeof *g->common.data, compare_held);
    return hd_locksets_number(&g->result->segments.locksets, g->common.data,
                              (uint32_t)g->common.size);
}

/* ---- lists ------------------------------------------------------------------------------------
 */

static bool add_pair(struct generator *g, uint32_t first, uint32_t second) {
    uint32_t i = g->event[first], k = g->event[second];
    unsigned does_i = hd_access_does(g->model, i), does_k = hd_access_does(g->model, k);
    if (does_i == 0 || does_k == 0) return true;
    uint32_t held = common_locks(g, i, k);
    if (held == HD_NONE) return false;
    if (held != 0 && is_guarded(g, held, (does_i & does_k & HD_DOES_WRITE) != 0)) return true;
    struct hd_pair_list like = {.site = {g->site.data[first], g->site.data[second]},
                                .held = held,
                                .thread = g->model->thread[i],
                                .does = {(uint8_t)does_i, (uint8_t)does_k}};
    uint32_t list = find_pairs(g, &like);
    if (list == HD_NONE) return false;
    g->result->pairs.data[list].count++;
    return hd_vector_push(&g->pair, ((struct hd_local_pair){i, k})) &&
           hd_vector_push(&g->pair_list, list);
}

static bool find_all_pairs(struct generator *g) {
    struct hd_triples *result = g->result;
    g->pair.size = g->pair_list.size = g->site.size = 0;
    g->first_pairs = (uint32_t)result->pairs.size;
    if (!table_clear(&g->pair_table, g->events) || !hd_vector_reserve(&g->site, g->events))
        return false;
    for (uint32_t n = 0; n < g->events; n++) {
        uint32_t event = g->event[n], thread = g->model->thread[event];
        uint32_t site = hd_site_number(g->model, &result->site_number, event, g->location);
        if (site == UINT32_MAX) return false;
        g->site.data[g->site.size++] = site;
        if (g->last[thread].stamp == g->location + 1 && !add_pair(g, g->last[thread].index, n))
            return false;
        g->last[thread].stamp = g->location + 1;
        g->last[thread].index = n;
    }
    uint32_t start = (uint32_t)result->pair.size;
    if (!hd_vector_reserve(&result->pair, g->pair.size)) return false;
    for (size_t l = g->first_pairs; l < result->pairs.size; l++) {
        result->pairs.data[l].start = start;
        start += result->pairs.data[l].count;
        result->pairs.data[l].count = 0;
    }
    for (size_t n = 0; n < g->pair.size; n++) {
        struct hd_pair_list *list = &result->pairs.data[g->pair_list.data[n]];
        result->pair.data[list->start + list->count++] = g->pair.data[n];
    }
    result->pair.size = start;
    return true;
}

static bool find_all_remotes(struct generator *g) {
    struct hd_triples *result = g->result;
    g->remote_list.size = 0;
    g->first_remotes = (uint32_t)result->remotes.size;
    if (!table_clear(&g->remote_table, g->events) ||
        !hd_vector_reserve(&g->remote_list, g->events) ||
        !hd_vector_reserve(&result->remote, g->events))
        return false;
    for (uint32_t n = 0; n < g->events; n++) {
        struct hd_remote_list like = {.site = g->site.data[n],
                                      .thread = g->model->thread[g->event[n]],
                                      .does = (uint8_t)hd_access_does(g->model, g->event[n])};
        uint32_t list = like.does == 0 ? HD_NONE : find_remotes(g, &like);
        if (like.does != 0 && list == HD_NONE) return false;
        if (list != HD_NONE) result->remotes.data[list].count++;
        g->remote_list.data[g->remote_list.size++] = list;
    }
    uint32_t start = (uint32_t)result->remote.size;
    for (size_t l = g->first_remotes; l < result->remotes.size; l++) {
        result->remotes.data[l].start = start;
        start += result->remotes.data[l].count;
        result->remotes.data[l].count = 0;
    }
    for (uint32_t n = 0; n < g->events; n++) {
        if (g->remote_list.data[n] == HD_NONE) continue;
        struct hd_remote_list *list = &result->remotes.data[g->remote_list.data[n]];
        result->remote.data[list->start + list->count++] = g->event[n];
    }
    result->remote.size = start;
    return true;
}

/* ---- bundles ----------------------------------------------------------------------------------
 */

static bool make_filtered(struct generator *g, uint32_t remotes, uint32_t held, uint32_t *list) {
    struct hd_triples *result = g->result;
    struct hd_remote_list fresh = result->remotes.data[remotes];
    uint32_t old = fresh.start, count = fresh.count;
    fresh.start = (uint32_t)result->remote.size;
    fresh.count = 0;
    if (!hd_vector_reserve(&result->remote, count)) return false;
    for (uint32_t n = 0; n < count; n++) {
        uint32_t event = result->remote.data[old + n];
        if (!hd_locksets_exclude(&result->segments.locksets, held, lockset_at(g, event)))
            result->remote.data[fresh.start + fresh.count++] = event;
    }
    if (fresh.count == count) {
        *list = remotes;
        return true;
    }
    *list = HD_NONE; /* none is left */
    if (fresh.count == 0) return true;
    result->remote.size += fresh.count;
    *list = (uint32_t)result->remotes.size;
    return hd_vector_push(&result->remotes, fresh);
}

/* The accesses of a list that no common section with a pair parts from it; *list becomes HD_NONE if
 * there are none. */
static bool filter(struct generator *g, uint32_t remotes, uint32_t held, uint32_t *list) {
    struct table *table = &g->filter_table;
    *list = remotes;
    if (held == 0) return true;
    uint32_t at = (uint32_t)hd_mix64((uint64_t)remotes << 32 | held) & table->mask;
    for (; table->slot[at].stamp == table->stamp; at = (at + 1) & table->mask) {
        const struct filtered *known = &g->filter.data[table->slot[at].value];
        if (known->remotes != remotes || known->held != held) continue;
        *list = known->result;
        return true;
    }
    if (!make_filtered(g, remotes, held, list)) return false;
    struct filtered made = {remotes, held, *list};
    if (!hd_vector_push(&g->filter, made)) return false;
    table->slot[at] = (struct slot){table->stamp, (uint32_t)g->filter.size - 1};
    if (g->filter.size * 2 <= table->mask) return true;
    /* too many by now: forget, and begin again with room for more */
    g->filter.size = 0;
    return table_clear(table, table->mask + (uint64_t)1);
}

/* The first triple of two lists. */
static bool find_open(const struct hd_triples *triples, const struct hd_pair_list *pairs,
                      const struct hd_remote_list *remotes, struct hd_triple_bundle *bundle) {
    const struct hd_local_pair *pair = triples->pair.data + pairs->start;
    const uint32_t *remote = triples->remote.data + remotes->start;
    const struct hd_clocks *clocks = triples->clocks;
    if (hd_clocks_before(clocks, remote[remotes->count - 1], pair[0].first) ||
        hd_clocks_before(clocks, pair[pairs->count - 1].second, remote[0]))
        return false;
    for (uint32_t n = 0, from = 0; n < pairs->count; n++) {
        while (from < remotes->count && hd_clocks_before(clocks, remote[from], pair[n].first))
            from++;
        if (from == remotes->count) return false;
        if (hd_clocks_before(clocks, pair[n].second, remote[from])) continue;
        bundle->pair = pair[n];
        bundle->remote = remote[from];
        return true;
    }
    return false;
}

static bool add_to_group(struct generator *g, enum hd_pattern pattern,
                         struct hd_triple_bundle *bundle) {
    struct hd_triples *result = g->result;
    const struct hd_pair_list *pairs = &result->pairs.data[bundle->pairs];
    const struct hd_remote_list *remotes = &result->remotes.data[bundle->remotes];
    uint32_t *slot =
        hd_map_slot(&result->two_sites, (uint64_t)pairs->site[0] << 32 | pairs->site[1],
                    result->two_sites.count);
    if (slot == NULL) return false;
    uint32_t fresh = (uint32_t)result->group.size;
    uint64_t key = (uint64_t)*slot << 32 | remotes->site << 3 | (uint32_t)pattern;
    slot = hd_map_slot(&result->group_number, key, fresh);
    if (slot == NULL) return false;
    bundle->group = *slot;
    if (*slot == fresh) {
        struct hd_triple_group group = {.site = {pairs->site[0], remotes->site, pairs->site[1]},
                                        .pattern = pattern};
        if (!hd_vector_push(&result->group, group)) return false;
    }
    result->group.data[bundle->group].count++;
    return hd_vector_push(&result->bundle, *bundle);
}

static bool add_bundle(struct generator *g, uint32_t pairs, uint32_t remotes) {
    struct hd_triples *result = g->result;
    const struct hd_pair_list *local = &result->pairs.data[pairs];
    const struct hd_remote_list *remote = &result->remotes.data[remotes];
    if (local->thread == remote->thread) return true;
    enum hd_pattern pattern =
        hd_pattern_of(local->does[0], remote->does, local->does[1], g->all_patterns);
    if (pattern == HD_PATTERN_NONE) return true;
    struct hd_triple_bundle bundle = {.location = g->location, .pairs = pairs};
    if (!filter(g, remotes, local->held, &bundle.remotes)) return false;
    if (bundle.remotes == HD_NONE) return true;
    if (!find_open(result, &result->pairs.data[pairs], &result->remotes.data[bundle.remotes],
                   &bundle))
        return true;
    return add_to_group(g, pattern, &bundle);
}

static bool make_bundles(struct generator *g) {
    uint32_t last_pairs = (uint32_t)g->result->pairs.size;
    uint32_t last_remotes = (uint32_t)g->result->remotes.size;
    g->filter.size = 0;
    if (!table_clear(&g->filter_table, 1)) return false;
    for (uint32_t pairs = g->first_pairs; pairs < last_pairs; pairs++)
        for (uint32_t remotes = g->first_remotes; remotes < last_remotes; remotes++)
            if (!add_bundle(g, pairs, remotes)) return false;
    return true;
}

/* By group; the order within a group stays. */
static bool sort_bundles(struct hd_triples *result) {
    size_t count = result->bundle.size;
    struct hd_triple_bundle *sorted = malloc((count + 1) * sizeof *sorted);
    if (sorted == NULL) return false;
    uint32_t start = 0;
    for (size_t i = 0; i < result->group.size; i++) {
        result->group.data[i].start = start;
        start += result->group.data[i].count;
        result->group.data[i].count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        struct hd_triple_group *group = &result->group.data[result->bundle.data[i].group];
        sorted[group->start + group->count++] = result->bundle.data[i];
    }
    if (count > 0) memcpy(result->bundle.data, sorted, count * sizeof *sorted);
    free(sorted);
    return true;
}

/* ---- the whole --------------------------------------------------------------------------------
 */

static bool generate(struct generator *g, struct hd_progress *progress) {
    const struct hd_model *model = g->model;
    hd_progress_start(progress, "looking for candidates", model->locations);
    for (uint32_t l = 0; l < model->locations; l++) {
        hd_progress_step(progress, l);
        if (!model->location[l].shared) continue;
        g->location = l;
        g->event = model->location_event + model->location_start[l];
        g->events = model->location_start[l + 1] - model->location_start[l];
        find_guards(g);
        if (!find_all_pairs(g)) return false;
        if (g->pair.size == 0) continue;
        if (!find_all_remotes(g) || !make_bundles(g)) return false;
    }
    return sort_bundles(g->result);
}

bool hd_triples_build(const struct hd_model *model, enum hd_reading reading, bool all_patterns,
                      struct hd_progress *progress, struct hd_triples *triples,
                      struct hd_error *error) {
    memset(triples, 0, sizeof *triples);
    triples->model = model;
    if (!hd_segments_build(model, reading, &triples->segments, error)) return false;
    struct generator g = {.result = triples, .model = model, .all_patterns = all_patterns};
    g.last = calloc(model->threads + (size_t)1, sizeof *g.last);
    triples->clocks = hd_clocks_build(model);
    bool done = g.last != NULL && triples->clocks != NULL && hd_vector_reserve(&g.section, 16) &&
                generate(&g, progress);
    free(g.last);
    free(g.pair_table.slot);
    free(g.remote_table.slot);
    free(g.filter_table.slot);
    hd_vector_free(&g.pair);
    hd_vector_free(&g.pair_list);
    hd_vector_free(&g.remote_list);
    hd_vector_free(&g.site);
    hd_vector_free(&g.filter);
    hd_vector_free(&g.common);
    hd_vector_free(&g.section);
    if (done) return true;
    hd_triples_free(triples);
    return hd_fail(error, HD_ERR_MEMORY, "out of memory: too many candidates");
}

void hd_triples_free(struct hd_triples *triples) {
    hd_segments_free(&triples->segments);
    hd_clocks_free(triples->clocks);
    triples->clocks = NULL;
    hd_vector_free(&triples->pair);
    hd_vector_free(&triples->remote);
    hd_vector_free(&triples->pairs);
    hd_vector_free(&triples->remotes);
    hd_vector_free(&triples->bundle);
    hd_vector_free(&triples->group);
    hd_map_free(&triples->site_number);
    hd_map_free(&triples->two_sites);
    hd_map_free(&triples->group_number);
}
