/* Collects potential interleavings from a recorded run. See potential.h.
 *
 * Per location, the pairs of consecutive accesses are grouped by their two places, the accesses by
 * their place; a pair group and an access group make one interleaving. Triples of events are never
 * listed: of each interleaving at a location the pairs are looked at up to a limit, and for each
 * the accesses nearest to it in the run, which are the likeliest to be concurrent. Only what was
 * looked at completely is pruned. */
#include "explore/potential.h"

#include "base/alloc.h"
#include "base/search.h"
#include "engine/asker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PAIRS 512u /* of an interleaving at a location that are looked at */
#define MOST_NEAR 24u   /* accesses looked at for one of them, to either side */
#define MOST_ASKED 24u  /* triples of events that the engine is asked about */
#define MOST_PLACES 64u /* locations of a run at which a possible interleaving is looked at */

/* Pairs of consecutive accesses of one group, and accesses that may come between, at a location. */
struct local {
    uint32_t p, c;
    uint32_t held; /* locks of which one section has both */
};
struct remotes {
    const struct hd_remote_list *like;
    size_t start, count; /* of collector.remote */
};

struct collector {
    struct hd_profile *profile;
    struct hd_analysis *analysis;
    const struct hd_model *model;
    const struct hd_clocks *clocks;
    struct hd_lister lister;
    struct hd_triple_lists lists;  /* of the location */
    HD_VECTOR(struct local) local; /* pairs of the group at hand */
    HD_VECTOR(uint32_t) remote;    /* of all groups */
    HD_VECTOR(struct remotes) group;
    uint64_t *time;         /* per event: calls and branches of its thread so far */
    struct hd_map place;    /* site -> place */
    struct hd_asker *asker; /* NULL: rules only */
    uint32_t location;
    uint32_t fresh;
};

void hd_profile_free(struct hd_profile *profile) {
    hd_sites_free(&profile->places);
    hd_vector_free(&profile->list);
    hd_map_free(&profile->number);
    hd_map_free(&profile->access);
    hd_map_free(&profile->order);
    memset(profile, 0, sizeof *profile);
}

/* ---- places and times ----------------------------------------------------------------------- */

uint32_t hd_profile_place(struct hd_profile *profile, const struct hd_analysis *analysis,
                          struct hd_map *known, uint32_t event) {
    uint32_t *slot = hd_map_slot(known, analysis->model->site[event], UINT32_MAX);
    if (*slot == UINT32_MAX)
        *slot = hd_site_of_event(&profile->places, analysis->model, analysis->describe, event);
    return *slot;
}

static uint32_t place_of(struct collector *c, uint32_t event) {
    return hd_profile_place(c->profile, c->analysis, &c->place, event);
}

static uint32_t number_place(void *context, uint32_t event, uint32_t location) {
    struct collector *c = context;
    uint32_t place = place_of(c, event);
    (void)location;
    if (place == 0) return HD_NO_SITE;
    if (hd_remote_does(c->model, event) != 0) hd_map_slot(&c->profile->access, place, 1);
    return place;
}

static uint32_t caller_of(struct collector *c, uint32_t event) {
    const struct hd_trace *trace = c->model->trace;
    uint32_t node = trace->format == HD_FORMAT_BINARY ? hd_model_stack(c->model, event) : 0;
    return node != 0 ? hd_site_of_trace(&c->profile->places, trace, trace->stack_site[node]) : 0;
}

static void take_times(struct collector *c) {
    const struct hd_model *model = c->model;
    c->time = hd_alloc(model->events, sizeof *c->time);
    uint64_t *now = hd_zalloc(model->threads, sizeof *now), calls = 0;
    bool counted = model->trace->format == HD_FORMAT_BINARY;
    for (uint32_t e = 0; e < model->events; e++) {
        uint32_t made = counted ? hd_model_calls(model, e) : 1;
        calls += made;
        c->time[e] = now[model->thread[e]] += made + model->branches[e];
    }
    if (calls > c->profile->calls) c->profile->calls = calls;
    if (model->threads > c->profile->threads) c->profile->threads = model->threads;
    free(now);
}

/* Time in which R can come between: without P's and C's own sections where both have one. */
static uint64_t gap_of(const struct collector *c, uint32_t p, uint32_t second) {
    uint32_t p_release, c_release;
    uint32_t p_acquire = hd_outermost_acquire(c->model, p, second, &p_release);
    uint32_t c_acquire = hd_outermost_acquire(c->model, second, p, &c_release);
    if (p_acquire != HD_NONE && c_acquire != HD_NONE && p_release != HD_NONE &&
        c->time[c_acquire] >= c->time[p_release])
        return c->time[c_acquire] - c->time[p_release];
    return c->time[second] - c->time[p];
}

/* ---- one interleaving at one location ------------------------------------------------------- */

/* What a look at one interleaving at one location found. */
struct finding {
    bool possible;
    bool whole; /* everything was looked at */
    bool exercised;
    enum hd_pruned why;
    uint32_t p, c, r; /* the nearest possible triple, or any */
    uint64_t distance;
    uint32_t asked;
};

/* Are P and C in one critical section and R in another of the same lock? */
static bool is_excluded(const struct collector *c, const struct local *pair, uint32_t r) {
    const struct hd_segments *segments = c->lister.segments;
    return hd_locksets_exclude(&segments->locksets, pair->held, hd_lockset_at(segments, r));
}

static bool is_feasible(struct collector *c, uint32_t p, uint32_t second, uint32_t r) {
    struct hd_stop stop[2] = {{.event = r, .executed = true}, {.event = second}};
    struct hd_precedes order = {p, r};
    struct hd_query query = {
        .stop = stop, .stops = 2, .order = &order, .orders = 1, .reader = HD_NONE};
    enum hd_verdict verdict;
    struct hd_error ignored;
    return !hd_asker_ask(c->asker, &query, &verdict, &ignored) || verdict != HD_INFEASIBLE;
}

static enum hd_pruned prune(const struct collector *c, const struct local *pair, uint32_t r) {
    if (hd_clocks_before(c->clocks, r, pair->p) || hd_clocks_before(c->clocks, pair->c, r))
        return HD_PRUNED_ORDER;
    return is_excluded(c, pair, r) ? HD_PRUNED_EXCLUSION : HD_PRUNED_NOT;
}

static void look_at(struct collector *c, const struct local *pair, uint32_t r,
                    struct finding *finding) {
    uint32_t p = pair->p, second = pair->c;
    if (c->model->thread[r] == c->model->thread[p]) return;
    uint64_t distance = r < p ? p - r : r > second ? r - second : 0;
    if (r > p && r < second) finding->exercised = true;
    if (finding->possible && distance >= finding->distance) return;
    enum hd_pruned pruned = prune(c, pair, r);
    if (pruned == HD_PRUNED_NOT && c->asker != NULL) {
        if (finding->asked == MOST_ASKED) {
            finding->whole = false;
            return;
        }
        finding->asked++;
        if (!is_feasible(c, p, second, r)) pruned = HD_PRUNED_POLY;
    }
    if (pruned != HD_PRUNED_NOT) {
        if (!finding->possible) {
            if (pruned > finding->why) finding->why = pruned;
            finding->p = p, finding->c = second, finding->r = r;
        }
        return;
    }
    finding->possible = true;
    finding->distance = distance;
    finding->p = p, finding->c = second, finding->r = r;
}

/* Threads that run the same code could change places: what one did after P, another that came to
 * the same P at the same time could have done too, if the first had let it. Only accesses count
 * that were seen after P in a thread, and only where another thread came to that P. */
static void look_at_twins(struct collector *c, const struct local *pair,
                          const struct remotes *group, uint32_t twin, struct finding *finding) {
    for (size_t i = 0; i < group->count && i < MOST_NEAR && !finding->possible; i++) {
        uint32_t r = c->remote.data[group->start + i];
        if (c->model->thread[r] != c->model->thread[pair->p] || r < pair->p) continue;
        /* as if the twin did it: ordered like the twin, inside the sections of the original */
        if (prune(c, pair, twin) == HD_PRUNED_ORDER || is_excluded(c, pair, r)) continue;
        finding->possible = true;
        finding->p = pair->p, finding->c = pair->c, finding->r = r;
        finding->distance = UINT32_MAX; /* after all that were seen */
    }
}

/* Another thread's first access at the place of a pair's P; HD_NONE if there is none. */
static uint32_t twin_of(const struct collector *c, uint32_t place, uint32_t thread) {
    uint32_t twin = HD_NONE;
    for (size_t i = 0; i < c->lists.remotes.size; i++) {
        const struct hd_remote_list *list = &c->lists.remotes.data[i];
        uint32_t first = c->lists.remote.data[list->start];
        if (list->site == place && list->thread != thread && first < twin) twin = first;
    }
    return twin;
}

/* The accesses of a group around a pair, nearest first, up to a limit. */
static void look_around(struct collector *c, const struct local *pair, const struct remotes *group,
                        struct finding *finding) {
    const uint32_t *remote = c->remote.data + group->start;
    uint32_t count = (uint32_t)group->count, low = hd_lower_bound(remote, count, pair->p);
    for (uint32_t i = 0; i < MOST_NEAR && low + i < count; i++)
        look_at(c, pair, remote[low + i], finding);
    for (uint32_t i = 1; i <= MOST_NEAR && i <= low; i++)
        look_at(c, pair, remote[low - i], finding);
    if (low > MOST_NEAR || count - low > MOST_NEAR) finding->whole = false;
}

/* Where a thread is suspended before an event. */
static uint32_t stop_of(struct collector *c, uint32_t event, uint32_t other, uint32_t place) {
    uint32_t release, acquire = hd_outermost_acquire(c->model, event, other, &release);
    if (acquire == HD_NONE || c->model->flags[acquire] & HD_LOCK_BY_WAIT) return place;
    uint32_t stop = place_of(c, acquire);
    return stop != 0 ? stop : place;
}

static void describe_interleaving(struct collector *c, const struct finding *finding,
                                  struct hd_interleaving *it) {
    it->c_stop = stop_of(c, finding->c, finding->p, it->c);
    it->r_stop = stop_of(c, finding->r, HD_NONE, it->r);
    it->c_caller = caller_of(c, finding->c);
    it->r_caller = caller_of(c, finding->r);
    it->c_thread = c->model->thread[finding->c];
    it->r_thread = c->model->thread[finding->r];
    snprintf(it->variable, sizeof it->variable, "%s",
             hd_describe_location(c->analysis->describe, c->location, HD_SHORT));
}

/* Looks at the pairs of the group, up to a limit; adds up the gaps. */
static struct finding look_at_pairs(struct collector *c, uint32_t place,
                                    const struct remotes *group, uint64_t *gap) {
    size_t locals = c->local.size, step = locals > MOST_PAIRS ? locals / MOST_PAIRS : 1;
    struct finding finding = {.whole = locals <= MOST_PAIRS, .distance = UINT64_MAX, .p = HD_NONE};
    for (size_t i = 0; i < locals; i += step) {
        const struct local *pair = &c->local.data[i];
        look_around(c, pair, group, &finding);
        *gap += gap_of(c, pair->p, pair->c) * step;
    }
    if (c->asker != NULL) return finding;
    for (size_t i = 0; i < locals && i < MOST_NEAR && !finding.possible; i++) {
        const struct local *pair = &c->local.data[i];
        uint32_t twin = twin_of(c, place, c->model->thread[pair->p]);
        if (twin == HD_NONE) break;
        look_at_twins(c, pair, group, twin, &finding);
    }
    return finding;
}

/* Elements of an array, say: what was looked at at many locations of a run is alike at the others.
 */
static bool is_alike(struct collector *c, struct hd_interleaving *it) {
    uint32_t run = c->profile->runs + 1;
    if (it->looked_run != run) it->looked = 0;
    it->looked_run = run;
    if (it->looked++ < MOST_PLACES || it->pruned != HD_PRUNED_NOT || it->pairs == 0) return false;
    it->gap += it->gap / it->pairs * c->local.size;
    it->pairs += c->local.size;
    return true;
}

static void add(struct collector *c, const struct hd_pair_list *pairs,
                const struct remotes *group) {
    struct hd_profile *profile = c->profile;
    const uint32_t *site = pairs->site;
    uint32_t r = group->like->site;
    bool frees = group->like->frees;
    enum hd_pattern pattern =
        hd_pattern_of(pairs->does[0], group->like->does, pairs->does[1], false);
    if (pattern == HD_PATTERN_NONE) return;
    uint64_t key = hd_mix64(((uint64_t)site[0] << 32 | site[1]) +
                            hd_mix64((uint64_t)r << 8 | (unsigned)pattern << 1 | frees));
    uint32_t known = hd_map_get(&profile->number, key, UINT32_MAX);
    if (known != UINT32_MAX && is_alike(c, &profile->list.data[known])) return;
    uint64_t gap = 0;
    struct finding finding = look_at_pairs(c, site[0], group, &gap);
    if (finding.p == HD_NONE) {
        if (finding.whole) return; /* all accesses are the pairs' own threads' */
        finding.p = c->local.data[0].p, finding.c = c->local.data[0].c;
        finding.r = c->remote.data[group->start];
    }
    bool possible = finding.possible || !finding.whole, is_new = known == UINT32_MAX;
    if (is_new) {
        struct hd_interleaving made = {.p = site[0],
                                       .c = site[1],
                                       .r = r,
                                       .pattern = pattern,
                                       .frees = frees,
                                       .distance = UINT64_MAX,
                                       .pruned = possible ? HD_PRUNED_NOT : finding.why};
        known = (uint32_t)profile->list.size;
        *hd_map_slot(&profile->number, key, known) = known;
        hd_vector_push(&profile->list, made);
    }
    struct hd_interleaving *it = &profile->list.data[known];
    bool exercised = finding.exercised && !it->exercised;
    bool freed = it->pruned != HD_PRUNED_NOT && possible;
    it->pairs += c->local.size;
    it->gap += gap;
    it->exercised |= exercised;
    if (freed) it->pruned = HD_PRUNED_NOT;
    c->fresh += is_new || exercised;
    c->fresh += freed;
    if (is_new || freed || (finding.possible && finding.distance < it->distance)) {
        if (finding.possible) it->distance = finding.distance;
        describe_interleaving(c, &finding, it);
    }
}

/* ---- one location --------------------------------------------------------------------------- */

static int by_sites(const void *left, const void *right) {
    const struct hd_pair_list *a = left, *b = right;
    for (int i = 0; i < 2; i++)
        if (a->site[i] != b->site[i]) return a->site[i] < b->site[i] ? -1 : 1;
    for (int i = 0; i < 2; i++)
        if (a->does[i] != b->does[i]) return a->does[i] < b->does[i] ? -1 : 1;
    return 0;
}
static int by_site(const void *left, const void *right) {
    const struct hd_remote_list *a = left, *b = right;
    if (a->site != b->site) return a->site < b->site ? -1 : 1;
    if (a->does != b->does) return a->does < b->does ? -1 : 1;
    return a->frees - b->frees;
}
static int by_second(const void *left, const void *right) {
    const struct local *a = left, *b = right;
    return a->c < b->c ? -1 : a->c > b->c;
}
static int by_event(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

/* The pairs of alike lists from `from` on, in the order of the run; returns where they end. */
static size_t gather_pairs(struct collector *c, size_t from) {
    const struct hd_pair_list *list = c->lists.pairs.data;
    size_t i = from;
    c->local.size = 0;
    for (; i < c->lists.pairs.size && by_sites(&list[i], &list[from]) == 0; i++)
        for (uint32_t n = list[i].start; n < list[i].start + list[i].count; n++) {
            const struct hd_local_pair *pair = &c->lists.pair.data[n];
            hd_vector_push(&c->local, ((struct local){pair->first, pair->second, list[i].held}));
        }
    if (i > from + 1) qsort(c->local.data, c->local.size, sizeof *c->local.data, by_second);
    return i;
}

/* The accesses of all lists, alike ones together in the order of the run. */
static void gather_remotes(struct collector *c) {
    const struct hd_remote_list *list = c->lists.remotes.data;
    c->remote.size = c->group.size = 0;
    for (size_t i = 0, from = 0; i < c->lists.remotes.size; from = i) {
        struct remotes group = {.like = &list[from], .start = c->remote.size};
        for (; i < c->lists.remotes.size && by_site(&list[i], &list[from]) == 0; i++)
            for (uint32_t n = list[i].start; n < list[i].start + list[i].count; n++)
                hd_vector_push(&c->remote, c->lists.remote.data[n]);
        group.count = c->remote.size - group.start;
        if (i > from + 1)
            qsort(c->remote.data + group.start, group.count, sizeof *c->remote.data, by_event);
        hd_vector_push(&c->group, group);
    }
}

/* Lists of all threads with the same sites make one interleaving. */
static void collect_location(struct collector *c, uint32_t location) {
    struct hd_triple_lists *lists = &c->lists;
    c->location = location;
    lists->pair.size = lists->remote.size = lists->pairs.size = lists->remotes.size = 0;
    if (!hd_lister_add(&c->lister, location)) return;
    qsort(lists->pairs.data, lists->pairs.size, sizeof *lists->pairs.data, by_sites);
    if (lists->remotes.size > 1)
        qsort(lists->remotes.data, lists->remotes.size, sizeof *lists->remotes.data, by_site);
    gather_remotes(c);
    for (size_t i = 0, end; i < lists->pairs.size; i = end) {
        end = gather_pairs(c, i);
        for (size_t k = 0; k < c->group.size; k++) add(c, &lists->pairs.data[i], &c->group.data[k]);
    }
}

/* ---- a run ---------------------------------------------------------------------------------- */

uint32_t hd_profile_add(struct hd_profile *profile, struct hd_analysis *analysis,
                        enum hd_pruning pruning) {
    const struct hd_model *model = analysis->model;
    struct collector c = {.profile = profile,
                          .analysis = analysis,
                          .model = model,
                          .clocks = hd_must_clocks(analysis)};
    c.lister = (struct hd_lister){.model = model,
                                  .segments = hd_segments(analysis, HD_CDSR),
                                  .lists = &c.lists,
                                  .site = number_place,
                                  .context = &c,
                                  .guarded = true,
                                  .frees = true};
    take_times(&c);
    if (pruning == HD_PRUNE_POLY && model->trace->exact)
        c.asker = hd_asker_new(hd_engine_base(analysis), model, HD_CDSR,
                               (struct hd_budget){.nanoseconds = 200000000});
    for (uint32_t l = 0; l < model->locations; l++)
        if (model->location[l].shared) collect_location(&c, l);
    if (pruning == HD_PRUNE_NONE)
        for (size_t i = 0; i < profile->list.size; i++)
            profile->list.data[i].pruned = HD_PRUNED_NOT;
    profile->runs++;
    profile->accesses = profile->access.count;
    hd_asker_free(c.asker);
    hd_lister_free(&c.lister);
    hd_triple_lists_free(&c.lists);
    hd_map_free(&c.place);
    hd_vector_free(&c.local);
    hd_vector_free(&c.remote);
    hd_vector_free(&c.group);
    free(c.time);
    return c.fresh;
}
