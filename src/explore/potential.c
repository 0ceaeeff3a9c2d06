/* Collects potential interleavings from a recorded run. See potential.h.
 *
 * Per location, the pairs of consecutive accesses are grouped by their two places, the accesses by
 * their place; a pair group and an access group make one interleaving. Triples of events are never
 * listed: of each interleaving at a location the pairs are looked at up to a limit, and for each
 * the accesses nearest to it in the run, which are the likeliest to be concurrent. Only what was
 * looked at completely is pruned. */
#include "explore/potential.h"

#include "engine/asker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PAIRS 512u /* of an interleaving at a location that are looked at */
#define MOST_NEAR 24u   /* accesses looked at for one of them, to either side */
#define MOST_ASKED 24u  /* triples of events that the engine is asked about */
#define MOST_PLACES 64u /* locations of a run at which a possible interleaving is looked at */

struct local {
    uint64_t key; /* places of P and C */
    uint32_t p, c;
    uint8_t does_p, does_c;
};
struct remote {
    uint64_t key; /* place, what it does */
    uint32_t event;
    uint8_t does;
    bool frees;
};

struct collector {
    struct hd_profile *profile;
    const struct hd_model *model;
    struct hd_describe *describe;
    struct hd_clocks *clocks;
    uint64_t *time;         /* per event: calls and branches of its thread so far */
    struct hd_map place;    /* site -> place */
    uint32_t *last;         /* per thread: its latest access to the location */
    struct hd_asker *asker; /* NULL: rules only */
    HD_VECTOR(struct local) local;
    HD_VECTOR(struct remote) remote;
    uint32_t location;
    uint32_t news;
};

void hd_profile_free(struct hd_profile *profile) {
    hd_places_free(&profile->places);
    hd_vector_free(&profile->list);
    hd_map_free(&profile->number);
    hd_map_free(&profile->access);
    hd_map_free(&profile->order);
    memset(profile, 0, sizeof *profile);
}

/* ---- places and times ----------------------------------------------------------------------- */

static uint32_t place_of(struct collector *c, uint32_t event) {
    uint32_t *slot = hd_map_slot(&c->place, c->model->site[event], UINT32_MAX);
    if (slot == NULL) return 0;
    if (*slot == UINT32_MAX)
        *slot = hd_place_of_event(&c->profile->places, c->model, c->describe, event);
    return *slot;
}

static uint32_t caller_of(struct collector *c, uint32_t event) {
    if (c->model->trace->format != HD_FORMAT_BINARY) return 0;
    uint32_t node = hd_model_stack(c->model, event);
    if (node == 0) return 0;
    return hd_place_of_site(&c->profile->places, c->model->trace, c->model->trace->stack_site[node],
                            "", "");
}

static bool take_times(struct collector *c) {
    const struct hd_model *model = c->model;
    c->time = malloc(((size_t)model->events + 1) * sizeof *c->time);
    uint64_t *now = calloc((size_t)model->threads + 1, sizeof *now);
    uint64_t calls = 0;
    if (c->time == NULL || now == NULL) {
        free(now);
        return false;
    }
    bool counted = model->trace->format == HD_FORMAT_BINARY;
    for (uint32_t e = 0; e < model->events; e++) {
        uint32_t made = counted ? hd_model_calls(model, e) : 1;
        calls += made;
        c->time[e] = now[model->thread[e]] += made + model->branches[e];
    }
    if (calls > c->profile->calls) c->profile->calls = calls;
    if (model->threads > c->profile->threads) c->profile->threads = model->threads;
    free(now);
    return true;
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

/* ---- one location --------------------------------------------------------------------------- */

static int by_pair(const void *left, const void *right) {
    const struct local *a = left, *b = right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    if (a->does_p != b->does_p) return a->does_p < b->does_p ? -1 : 1;
    if (a->does_c != b->does_c) return a->does_c < b->does_c ? -1 : 1;
    return a->c < b->c ? -1 : a->c > b->c;
}
static int by_place(const void *left, const void *right) {
    const struct remote *a = left, *b = right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return a->event < b->event ? -1 : a->event > b->event;
}

static bool list_accesses(struct collector *c) {
    const struct hd_model *model = c->model;
    uint32_t from = model->location_start[c->location], to = model->location_start[c->location + 1];
    c->local.size = c->remote.size = 0;
    for (uint32_t i = 0; i < model->threads; i++) c->last[i] = HD_NONE;
    for (uint32_t i = from; i < to; i++) {
        uint32_t event = model->location_event[i], place = place_of(c, event);
        bool frees = model->kind[event] == HD_EV_FREE;
        unsigned does = frees ? HD_DOES_WRITE : hd_access_does(model, event);
        uint32_t *last = &c->last[model->thread[event]];
        if (place == 0 || does == 0) {
            *last = HD_NONE;
            continue;
        }
        if (*last != HD_NONE && !frees) {
            struct local local = {.key = (uint64_t)place_of(c, *last) << 32 | place,
                                  .p = *last,
                                  .c = event,
                                  .does_p = (uint8_t)hd_access_does(model, *last),
                                  .does_c = (uint8_t)does};
            if (!hd_vector_push(&c->local, local)) return false;
        }
        *last = frees ? HD_NONE : event;
        struct remote remote = {.key = (uint64_t)place << 8 | does << 1 | frees,
                                .event = event,
                                .does = (uint8_t)does,
                                .frees = frees};
        if (!hd_vector_push(&c->remote, remote)) return false;
        if (hd_map_slot(&c->profile->access, place, 1) == NULL) return false;
    }
    if (c->local.size > 1) qsort(c->local.data, c->local.size, sizeof *c->local.data, by_pair);
    if (c->remote.size > 1) qsort(c->remote.data, c->remote.size, sizeof *c->remote.data, by_place);
    return true;
}

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

static bool is_feasible(struct collector *c, uint32_t p, uint32_t second, uint32_t r) {
    struct hd_stop stop[2] = {{.event = r, .executed = true}, {.event = second}};
    struct hd_precedes order = {p, r};
    struct hd_query query = {
        .stop = stop, .stops = 2, .order = &order, .orders = 1, .reader = HD_NONE};
    enum hd_verdict verdict;
    struct hd_error ignored;
    return !hd_asker_ask(c->asker, &query, &verdict, &ignored) || verdict != HD_INFEASIBLE;
}

static void look_at(struct collector *c, uint32_t p, uint32_t second, uint32_t r,
                    struct finding *finding) {
    if (c->model->thread[r] == c->model->thread[p]) return;
    uint64_t distance = r < p ? p - r : r > second ? r - second : 0;
    if (r > p && r < second) finding->exercised = true;
    if (finding->possible && distance >= finding->distance) return;
    enum hd_pruned pruned = hd_prune_triple(c->model, c->clocks, p, second, r);
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
static void look_at_twins(struct collector *c, const struct local *pair, const struct remote *group,
                          size_t count, uint32_t twin, struct finding *finding) {
    for (size_t i = 0; i < count && i < MOST_NEAR && !finding->possible; i++) {
        uint32_t r = group[i].event;
        if (c->model->thread[r] != c->model->thread[pair->p] || r < pair->p) continue;
        /* as if the twin did it: ordered like the twin, inside the sections of the original */
        if (hd_prune_triple(c->model, c->clocks, pair->p, pair->c, twin) == HD_PRUNED_ORDER ||
            hd_prune_exclusion(c->model, pair->p, pair->c, r))
            continue;
        finding->possible = true;
        finding->p = pair->p, finding->c = pair->c, finding->r = r;
        finding->distance = UINT32_MAX; /* after all that were seen */
    }
}

/* Another thread's access at the place of a pair's P; HD_NONE if there is none. */
static uint32_t twin_of(const struct collector *c, const struct local *pair) {
    uint32_t place = (uint32_t)(pair->key >> 32);
    for (size_t i = 0; i < c->remote.size; i++) {
        const struct remote *other = &c->remote.data[i];
        if (other->key >> 8 == place && c->model->thread[other->event] != c->model->thread[pair->p])
            return other->event;
    }
    return HD_NONE;
}

/* The accesses of a group around a pair, nearest first, up to a limit. */
static void look_around(struct collector *c, const struct local *pair, const struct remote *group,
                        size_t count, struct finding *finding) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (group[middle].event < pair->p)
            low = middle + 1;
        else
            high = middle;
    }
    for (uint32_t i = 0; i < MOST_NEAR && low + i < count; i++)
        look_at(c, pair->p, pair->c, group[low + i].event, finding);
    for (uint32_t i = 1; i <= MOST_NEAR && i <= low; i++)
        look_at(c, pair->p, pair->c, group[low - i].event, finding);
    if (low > MOST_NEAR || count - low > MOST_NEAR) finding->whole = false;
}

static bool make_interleaving(struct collector *c, const struct finding *finding,
                              struct hd_interleaving *it) {
    const struct hd_model *model = c->model;
    uint32_t release, acquire = hd_outermost_acquire(model, finding->c, finding->p, &release);
    bool by_wait = acquire != HD_NONE && model->flags[acquire] & HD_LOCK_BY_WAIT;
    it->c_stop = acquire == HD_NONE || by_wait ? it->c : place_of(c, acquire);
    acquire = hd_outermost_acquire(model, finding->r, HD_NONE, &release);
    by_wait = acquire != HD_NONE && model->flags[acquire] & HD_LOCK_BY_WAIT;
    it->r_stop = acquire == HD_NONE || by_wait ? it->r : place_of(c, acquire);
    if (it->c_stop == 0) it->c_stop = it->c;
    if (it->r_stop == 0) it->r_stop = it->r;
    it->c_caller = caller_of(c, finding->c);
    it->r_caller = caller_of(c, finding->r);
    it->c_thread = model->thread[finding->c];
    it->r_thread = model->thread[finding->r];
    snprintf(it->variable, sizeof it->variable, "%s",
             hd_describe_location(c->describe, c->location, HD_SHORT));
    return true;
}

static bool add(struct collector *c, const struct local *local, size_t locals,
                const struct remote *remote, size_t remotes) {
    enum hd_pattern pattern = hd_pattern_of(local->does_p, remote->does, local->does_c, false);
    if (pattern == HD_PATTERN_NONE) return true;
    uint32_t r = (uint32_t)(remote->key >> 8);
    uint64_t key = hd_mix64(
        local->key + hd_mix64((uint64_t)r << 8 | (unsigned)pattern << 1 | (remote->frees ? 1 : 0)));
    uint32_t known = hd_map_get(&c->profile->number, key, UINT32_MAX);
    if (known != UINT32_MAX) {
        struct hd_interleaving *it = &c->profile->list.data[known];
        if (it->looked_run != c->profile->runs + 1) it->looked = 0;
        it->looked_run = c->profile->runs + 1;
        if (it->looked++ >= MOST_PLACES && it->pruned == HD_PRUNED_NOT && it->pairs > 0) {
            it->gap += it->gap / it->pairs * locals; /* elements of an array, say: alike */
            it->pairs += locals;
            return true;
        }
    }
    struct finding finding = {.whole = locals <= MOST_PAIRS, .distance = UINT64_MAX, .p = HD_NONE};
    uint64_t gap = 0;
    size_t step = locals > MOST_PAIRS ? locals / MOST_PAIRS : 1;
    for (size_t i = 0; i < locals; i += step) {
        look_around(c, &local[i], remote, remotes, &finding);
        gap += gap_of(c, local[i].p, local[i].c) * step;
    }
    if (!finding.possible && c->asker == NULL) {
        for (size_t i = 0; i < locals && i < MOST_NEAR && !finding.possible; i++) {
            uint32_t twin = twin_of(c, &local[i]);
            if (twin == HD_NONE) break;
            look_at_twins(c, &local[i], remote, remotes, twin, &finding);
        }
    }
    if (finding.p == HD_NONE) {
        if (finding.whole) return true; /* all accesses are the pairs' own threads' */
        finding.p = local->p, finding.c = local->c, finding.r = remote->event;
    }
    uint32_t *slot = hd_map_slot(&c->profile->number, key, UINT32_MAX);
    if (slot == NULL) return false;
    bool possible = finding.possible || !finding.whole;
    bool is_new = *slot == UINT32_MAX;
    if (is_new) {
        struct hd_interleaving made = {.p = (uint32_t)(local->key >> 32),
                                       .c = (uint32_t)local->key,
                                       .r = r,
                                       .pattern = pattern,
                                       .frees = remote->frees,
                                       .distance = UINT64_MAX,
                                       .pruned = possible ? HD_PRUNED_NOT : finding.why};
        *slot = (uint32_t)c->profile->list.size;
        if (!hd_vector_push(&c->profile->list, made)) return false;
        c->news++;
    }
    struct hd_interleaving *it = &c->profile->list.data[*slot];
    it->pairs += locals;
    it->gap += gap;
    if (finding.exercised && !it->exercised) {
        it->exercised = true;
        if (!is_new) c->news++;
    }
    bool freed = it->pruned != HD_PRUNED_NOT && possible;
    if (freed) {
        it->pruned = HD_PRUNED_NOT;
        c->news++;
    }
    if (is_new || freed || (finding.possible && finding.distance < it->distance)) {
        if (finding.possible) it->distance = finding.distance;
        return make_interleaving(c, &finding, it);
    }
    return true;
}

static bool collect_location(struct collector *c) {
    if (!list_accesses(c)) return false;
    size_t locals = c->local.size, remotes = c->remote.size;
    for (size_t i = 0, end; i < locals; i = end) {
        const struct local *first = &c->local.data[i];
        for (end = i + 1; end < locals; end++) {
            const struct local *next = &c->local.data[end];
            if (next->key != first->key || next->does_p != first->does_p ||
                next->does_c != first->does_c)
                break;
        }
        for (size_t k = 0, stop; k < remotes; k = stop) {
            for (stop = k + 1; stop < remotes; stop++)
                if (c->remote.data[stop].key != c->remote.data[k].key) break;
            if (!add(c, first, end - i, &c->remote.data[k], stop - k)) return false;
        }
    }
    return true;
}

/* ---- a run ---------------------------------------------------------------------------------- */

static bool collect(struct collector *c) {
    for (uint32_t l = 0; l < c->model->locations; l++) {
        if (!c->model->location[l].shared) continue;
        c->location = l;
        if (!collect_location(c)) return false;
    }
    return true;
}

bool hd_profile_add(struct hd_profile *profile, const struct hd_model *model,
                    struct hd_describe *describe, enum hd_pruning pruning, uint32_t *news,
                    struct hd_error *error) {
    struct collector c = {.profile = profile, .model = model, .describe = describe};
    struct hd_engine_base *base = NULL;
    c.clocks = hd_clocks_build(model);
    c.last = malloc(((size_t)model->threads + 1) * sizeof *c.last);
    bool good = c.clocks != NULL && c.last != NULL && take_times(&c);
    if (good && pruning == HD_PRUNE_POLY && model->trace->exact) {
        base = hd_engine_base_build(model);
        c.asker = hd_asker_new(base, model, HD_CDSR, (struct hd_budget){.nanoseconds = 200000000});
    }
    good = good && collect(&c);
    if (good && pruning == HD_PRUNE_NONE)
        for (size_t i = 0; i < profile->list.size; i++) profile->list.data[i].pruned = 0;
    *news = c.news;
    profile->runs++;
    profile->accesses = profile->access.count;
    hd_asker_free(c.asker);
    hd_engine_base_free(base);
    hd_clocks_free(c.clocks);
    hd_map_free(&c.place);
    hd_vector_free(&c.local);
    hd_vector_free(&c.remote);
    free(c.time);
    free(c.last);
    return good || hd_fail(error, HD_ERR_MEMORY, "out of memory");
}
