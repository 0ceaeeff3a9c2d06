/* Questions about triples: see atomicity_ask.h. */
#include "predict/atomicity_ask.h"

#include "base/alloc.h"
#include "engine/engine_base.h"

#include <stdlib.h>

/* UA has no triples that speak for others: a group with more open ones stays undecided. */
#define UA_QUESTIONS 1024
/* The same for the exact questions, which hardly ever need so many. */
#define QUESTIONS 1000000
/* Asked first, the nearest in the trace. (A test takes fewer, so that the others come into play.)
 */
#ifndef NEAR
#define NEAR 64
#endif
#define NEAR_OF_BUNDLE 16

/* Where the thread of j is at the end: at j; anywhere; or, with the branch relaxation, at the
 * release that lets the other thread get to k. */
enum way { ENDS, PASSES, LEAVES };

struct hd_triple_asker {
    const struct hd_triples *triples;
    const struct hd_model *model;
    const struct hd_engine_base *base;
    const struct hd_branches *branches;
    enum hd_reading reading;
    bool relax;
    const uint32_t *relaxed; /* by what the questions at hand are relaxed; NULL */
    struct hd_asker *asker;
    uint64_t asked, limit, dominated, ordered;
    struct hd_triple near[NEAR + 1];
    uint32_t nears, most;
};

struct hd_triple_asker *hd_triple_asker_new(const struct hd_triples *triples,
                                            const struct hd_engine_base *base,
                                            const struct hd_branches *branches,
                                            enum hd_reading reading, bool relax,
                                            struct hd_budget budget) {
    struct hd_triple_asker *asker = hd_zalloc(1, sizeof *asker);
    asker->triples = triples;
    asker->model = triples->model;
    asker->base = base;
    asker->branches = branches;
    asker->reading = reading;
    asker->most = NEAR;
    asker->relax = relax && reading == HD_CDSR;
    asker->asker = hd_asker_new(base, triples->model, reading, budget);
    return asker;
}

void hd_triple_asker_free(struct hd_triple_asker *asker) {
    hd_asker_free(asker->asker);
    free(asker);
}

void hd_triple_asker_stats(const struct hd_triple_asker *asker, struct hd_predict_stats *stats) {
    stats->dominated += asker->dominated;
    stats->ordered += asker->ordered;
    hd_asker_stats(asker->asker, &stats->asked);
}

/* ---- orders -----------------------------------------------------------------------------------
 */

/* Must x be executed before the event at a position of a thread has been? */
static bool is_needed(const struct hd_triple_asker *asker, uint32_t x, uint32_t thread,
                      uint32_t position) {
    const struct hd_reach *reach =
        asker->reading == HD_CSR ? &asker->base->must : &asker->base->kept;
    const uint32_t *clock = hd_reach_clock(reach, thread, position);
    return clock != NULL && clock[asker->model->thread[x]] > hd_model_position(asker->model, x);
}

static bool before_first(const void *context, uint32_t remote, uint32_t first) {
    const struct hd_triple_asker *asker = context;
    if (hd_clocks_before(asker->triples->clocks, remote, first)) return true;
    return is_needed(asker, remote, asker->model->thread[first],
                     hd_model_position(asker->model, first));
}

/* What j itself reads need not be kept if its thread ends there, but in UA. */
static bool before_remote(const void *context, uint32_t second, uint32_t remote) {
    const struct hd_triple_asker *asker = context;
    if (hd_clocks_before(asker->triples->clocks, second, remote)) return true;
    uint32_t position = hd_model_position(asker->model, remote);
    if (asker->reading == HD_UA)
        return is_needed(asker, second, asker->model->thread[remote], position);
    return position > 0 && is_needed(asker, second, asker->model->thread[remote], position - 1);
}

static struct hd_triple_limits kept_limits(const struct hd_triple_asker *asker) {
    return (struct hd_triple_limits){before_first, before_remote, asker};
}

/* The same if j's thread is to go on after j. Where j reads, it keeps its write then: that one must
 * come after i if i writes there too (the initial value cannot), and k must not be needed for it.
 */
static bool passes_before_first(const void *context, uint32_t remote, uint32_t first) {
    const struct hd_triple_asker *asker = context;
    const struct hd_model *model = asker->model;
    const uint32_t *list;
    if (before_first(context, remote, first)) return true;
    if (asker->reading == HD_CSR || !hd_model_is_read(model, remote) ||
        !hd_model_is_write(model, first) || hd_model_locations(model, remote, &list) != 1)
        return false;
    uint32_t write = model->from[remote];
    if (write == HD_NONE) return asker->reading == HD_CDSR;
    return write != first && before_first(context, write, first);
}

static bool passes_before_remote(const void *context, uint32_t second, uint32_t remote) {
    const struct hd_triple_asker *asker = context;
    return hd_clocks_before(asker->triples->clocks, second, remote) ||
           is_needed(asker, second, asker->model->thread[remote],
                     hd_model_position(asker->model, remote));
}

static struct hd_triple_limits passing_limits(const struct hd_triple_asker *asker) {
    return (struct hd_triple_limits){passes_before_first, passes_before_remote, asker};
}

/* ---- one question -----------------------------------------------------------------------------
 */

/* Does an access end a section? In a trace that was repaired it may. */
static bool ends_section(const struct hd_model *model, uint32_t event) {
    uint32_t section[16], count = hd_model_held(model, event, section, 16);
    if (count > 16) return true; /* perhaps */
    for (uint32_t i = 0; i < count; i++)
        if (model->section[section[i]].release == event) return true;
    return false;
}

/* Do the locks held at k and after j exclude each other? Then j's thread cannot end there. */
static bool ends_held(const struct hd_triple_asker *asker, const struct hd_triple *triple) {
    const struct hd_segments *segments = asker->triples->segments;
    return hd_locksets_exclude(&segments->locksets,
                               segments->segment.data[segments->of[triple->second]].lockset,
                               segments->segment.data[segments->of[triple->remote]].lockset) &&
           !ends_section(asker->model, triple->remote);
}

/* Is a read as its thread's last event freer than one that is not? */
static bool end_matters(const struct hd_triple_asker *asker, uint32_t remote) {
    return asker->reading == HD_CDSR && hd_model_is_read(asker->model, remote);
}

uint32_t hd_leaving(const struct hd_model *model, uint32_t second, uint32_t remote) {
    uint32_t mine[32], its[32], last = HD_NONE;
    uint32_t count = hd_model_held(model, second, mine, 32);
    uint32_t others = hd_model_held(model, remote, its, 32);
    if (count > 32 || others > 32) return HD_NONE;
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t b = 0; b < others; b++) {
            const struct hd_section *local = &model->section[mine[a]];
            const struct hd_section *other = &model->section[its[b]];
            if (local->lock != other->lock || !hd_conflicting_modes(local, other)) continue;
            if (other->release == HD_NONE) return HD_NONE;
            if (last == HD_NONE || other->release > last) last = other->release;
        }
    return last;
}

/* Of j that keeps the other thread from k. */
static uint32_t leaving(const struct hd_triple_asker *asker, const struct hd_triple *triple) {
    return hd_leaving(asker->model, triple->second, triple->remote);
}

static bool put(struct hd_triple_asker *asker, const struct hd_triple *triple, enum way way,
                enum hd_verdict *verdict, struct hd_error *error) {
    struct hd_stop stop[2] = {{triple->second, false}, {triple->remote, true}};
    struct hd_precedes order = {triple->first, triple->remote};
    if (way == LEAVES) stop[1].event = leaving(asker, triple);
    asker->asked++;
    struct hd_query query = {.stop = stop,
                             .stops = way == PASSES ? 1 : 2,
                             .order = &order,
                             .orders = 1,
                             .reader = HD_NONE,
                             .writer = HD_NONE,
                             .branches = asker->relaxed};
    return hd_asker_ask(asker->asker, &query, verdict, error);
}

/* Takes an answer over; true if it settles the matter. */
static bool take(struct hd_triple_decision *decision, const struct hd_triple *triple,
                 enum hd_verdict verdict) {
    if (verdict == HD_INFEASIBLE) return false;
    decision->triple = *triple;
    decision->verdict = verdict;
    return verdict == HD_FEASIBLE;
}

/* Asks one way; *settled if it is feasible. */
static bool ask_way(struct hd_triple_asker *asker, const struct hd_triple *triple, enum way way,
                    struct hd_triple_decision *decision, bool *settled, struct hd_error *error) {
    enum hd_verdict verdict = HD_INFEASIBLE;
    *settled = false;
    if (way == PASSES && asker->relaxed == NULL &&
        (passes_before_first(asker, triple->remote, triple->first) ||
         passes_before_remote(asker, triple->second, triple->remote)))
        return true;
    if (!put(asker, triple, way, &verdict, error)) return false;
    *settled = take(decision, triple, verdict);
    if (*settled) decision->witness = hd_witness_keep(hd_asker_witness(asker->asker));
    return true;
}

static bool ask_triple(struct hd_triple_asker *asker, const struct hd_triple *triple,
                       struct hd_triple_decision *decision, bool *settled, struct hd_error *error) {
    *settled = false;
    if (end_matters(asker, triple->remote) && !ends_held(asker, triple) &&
        !ask_way(asker, triple, ENDS, decision, settled, error))
        return false;
    return *settled || ask_way(asker, triple, PASSES, decision, settled, error);
}

/* ---- near triples -----------------------------------------------------------------------------
 */

static uint32_t later_of(const struct hd_triple *triple) {
    return triple->second > triple->remote ? triple->second : triple->remote;
}

static int compare_near(const void *left, const void *right) {
    uint32_t a = later_of(left), b = later_of(right);
    return a < b ? -1 : a > b;
}

/* Does an earlier pair speak for it? In UA, and where branches count, none does. */
static bool repeats(const struct hd_triple_asker *asker, const struct hd_bundle_lists *lists,
                    uint32_t pair) {
    const uint32_t *segment = asker->triples->segments->of;
    return asker->reading != HD_UA && asker->relaxed == NULL && pair > 0 &&
           segment[lists->pair[pair].second] == segment[lists->pair[pair - 1].second];
}

static void add_near(struct hd_triple_asker *asker, const struct hd_bundle_lists *lists,
                     uint32_t pair, uint32_t remote) {
    if (asker->nears == asker->most) return;
    asker->near[asker->nears++] = (struct hd_triple){lists->pair[pair].first, lists->remote[remote],
                                                     lists->pair[pair].second, lists->location};
}

/* For the pairs of a group, the accesses next to them in the trace, the earliest first: they have
 * the shortest prefixes, and often the trace itself is nearly a witness. */
static void find_near(struct hd_triple_asker *asker, uint32_t group,
                      const struct hd_triple_limits *limits) {
    const struct hd_triple_group *each = &asker->triples->group.data[group];
    asker->nears = 0;
    for (uint32_t b = each->start; b < each->start + each->count && asker->nears < asker->most;
         b++) {
        struct hd_bundle_lists lists = hd_bundle_lists(asker->triples, b);
        uint32_t from = 0, to = 0, after = 0, enough = asker->nears + NEAR_OF_BUNDLE;
        for (uint32_t n = 0; n < lists.pairs && asker->nears < enough; n++) {
            if (repeats(asker, &lists, n)) continue;
            hd_triple_window(limits, &lists, n, &from, &to);
            if (from == lists.remotes) break;
            if (from == to) continue;
            while (after < lists.remotes && lists.remote[after] < lists.pair[n].first) after++;
            if (after > from && after - 1 < to) add_near(asker, &lists, n, after - 1);
            if (after >= from && after < to) add_near(asker, &lists, n, after);
        }
    }
    if (asker->nears > 1) qsort(asker->near, asker->nears, sizeof *asker->near, compare_near);
}

static bool was_near(const struct hd_triple_asker *asker, const struct hd_triple *triple) {
    for (uint32_t n = 0; n < asker->nears; n++)
        if (asker->near[n].second == triple->second && asker->near[n].remote == triple->remote &&
            asker->near[n].first == triple->first)
            return true;
    return false;
}

/* ---- a group ----------------------------------------------------------------------------------
 */

/* The ways that are open for accesses of one segment: at its first, at its last and past its last.
 */
static bool ask_segment(struct hd_triple_asker *asker, const struct hd_bundle_lists *lists,
                        uint32_t pair, const uint32_t run[2], uint32_t from, uint32_t to,
                        struct hd_triple_decision *decision, bool *settled,
                        struct hd_error *error) {
    struct hd_triple triple = {lists->pair[pair].first, lists->remote[run[0]],
                               lists->pair[pair].second, lists->location};
    bool held = ends_held(asker, &triple), single = run[0] == run[1];
    asker->dominated += run[1] - run[0];
    if (run[0] >= from && !held && !was_near(asker, &triple)) {
        enum way way = end_matters(asker, triple.remote) ? ENDS : PASSES;
        if (!ask_way(asker, &triple, way, decision, settled, error)) return false;
        if (*settled || (single && way == PASSES)) return true;
    }
    triple.remote = lists->remote[run[1]];
    if (run[1] >= to || was_near(asker, &triple)) return true;
    if (!single && !held && end_matters(asker, triple.remote)) {
        if (!ask_way(asker, &triple, ENDS, decision, settled, error)) return false;
        if (*settled) return true;
    }
    return ask_way(asker, &triple, PASSES, decision, settled, error);
}

/* ---- one lock for all of a bundle --------------------------------------------------------------
 */

enum { GUARDS = 8 };
struct guards {
    uint32_t lock[GUARDS], count;
    bool written[GUARDS]; /* held for writing by all so far */
};

static void keep_guards(const struct hd_locksets *sets, uint32_t set, struct guards *guards) {
    const struct hd_lockset *held = &sets->set.data[set];
    uint32_t kept = 0;
    for (uint32_t g = 0; g < guards->count; g++)
        for (uint32_t h = 0; h < held->count; h++) {
            uint32_t lock = sets->held.data[held->start + h];
            if (lock / 2 != guards->lock[g]) continue;
            guards->lock[kept] = guards->lock[g];
            guards->written[kept++] = guards->written[g] && lock % 2 == 0;
            break; /* for writing comes first */
        }
    guards->count = kept;
}

/* Is there a lock that keeps every j's thread from ending at j with any k next? */
static bool never_ends(const struct hd_triple_asker *asker, const struct hd_bundle_lists *lists) {
    const struct hd_segments *segments = asker->triples->segments;
    const struct hd_locksets *sets = &segments->locksets;
    uint32_t previous = segments->segment.data[segments->of[lists->pair[0].second]].lockset;
    const struct hd_lockset *first = &sets->set.data[previous];
    struct guards guards = {.count = 0};
    for (uint32_t h = 0; h < first->count && guards.count < GUARDS; h++) {
        guards.lock[guards.count] = sets->held.data[first->start + h] / 2;
        guards.written[guards.count++] = true;
    }
    keep_guards(sets, previous, &guards);
    for (uint32_t n = 1; n < lists->pairs && guards.count > 0; n++) {
        uint32_t set = segments->segment.data[segments->of[lists->pair[n].second]].lockset;
        if (set != previous) keep_guards(sets, set, &guards);
        previous = set;
    }
    struct guards remote = guards;
    for (uint32_t g = 0; g < remote.count; g++) remote.written[g] = true;
    previous = HD_NONE;
    for (uint32_t n = 0; n < lists->remotes && remote.count > 0; n++) {
        uint32_t set = segments->segment.data[segments->of[lists->remote[n]]].lockset;
        if (ends_section(asker->model, lists->remote[n])) return false;
        if (set != previous) keep_guards(sets, set, &remote);
        previous = set;
    }
    for (uint32_t r = 0; r < remote.count; r++)
        for (uint32_t g = 0; g < guards.count; g++)
            if (guards.lock[g] == remote.lock[r] && (guards.written[g] || remote.written[r]))
                return true;
    return false;
}

/* ---- all that speak for a bundle ---------------------------------------------------------------
 */

/* Where j's thread can only pass, fewer accesses are open to a pair. */
static bool ask_bundle(struct hd_triple_asker *asker, const struct hd_bundle_lists *lists,
                       const struct hd_triple_limits *limits, struct hd_triple_decision *decision,
                       bool *settled, struct hd_error *error) {
    const uint32_t *segment = asker->triples->segments->of;
    struct hd_triple_limits passing = passing_limits(asker);
    if (never_ends(asker, lists)) limits = &passing;
    for (uint32_t n = 0, from = 0, to = 0; n < lists->pairs; n++) {
        if (repeats(asker, lists, n)) continue;
        hd_triple_window(limits, lists, n, &from, &to);
        if (from == lists->remotes) return true;
        for (uint32_t at = from; at < to;) {
            if (asker->asked >= asker->limit) {
                decision->verdict = HD_UNDECIDED;
                return true;
            }
            uint32_t run[2] = {at, at};
            while (run[0] > 0 && segment[lists->remote[run[0] - 1]] == segment[lists->remote[at]])
                run[0]--;
            while (run[1] + 1 < lists->remotes &&
                   segment[lists->remote[run[1] + 1]] == segment[lists->remote[at]])
                run[1]++;
            if (!ask_segment(asker, lists, n, run, from, to, decision, settled, error))
                return false;
            if (*settled) return true;
            at = run[1] + 1;
        }
    }
    return true;
}

/* Does k see a write of its own thread? With a remote write before it, it no longer does. */
static bool breaks_own_read(const struct hd_triple_asker *asker, const struct hd_triple *triple) {
    const struct hd_model *model = asker->model;
    const uint32_t *list;
    uint32_t k = triple->second, from = model->from[k];
    return hd_model_is_write(model, triple->remote) && hd_model_is_read(model, k) &&
           hd_model_locations(model, k, &list) == 1 && from != HD_NONE &&
           model->thread[from] == model->thread[k];
}

static bool ask_bundle_ua(struct hd_triple_asker *asker, const struct hd_bundle_lists *lists,
                          const struct hd_triple_limits *limits, uint32_t *left,
                          struct hd_triple_decision *decision, bool *settled,
                          struct hd_error *error) {
    for (uint32_t n = 0, from = 0, to = 0; n < lists->pairs; n++) {
        hd_triple_window(limits, lists, n, &from, &to);
        if (from == lists->remotes) return true;
        for (uint32_t at = from; at < to; at++) {
            struct hd_triple triple = {lists->pair[n].first, lists->remote[at],
                                       lists->pair[n].second, lists->location};
            if (was_near(asker, &triple)) continue;
            if (breaks_own_read(asker, &triple)) {
                asker->dominated += to - at;
                break;
            }
            if (*left == 0) {
                decision->verdict = HD_UNDECIDED;
                decision->triple = triple;
                return true;
            }
            (*left)--;
            if (!ask_way(asker, &triple, PASSES, decision, settled, error)) return false;
            if (*settled) return true;
        }
    }
    return true;
}

static bool ask_strictly(struct hd_triple_asker *asker, struct hd_triple_decision *decision,
                         bool *settled, struct hd_error *error) {
    const struct hd_triple_group *each = &asker->triples->group.data[decision->group];
    struct hd_triple_limits limits = kept_limits(asker);
    uint32_t left = UA_QUESTIONS;
    asker->limit = asker->asked + QUESTIONS;
    find_near(asker, decision->group, &limits);
    for (uint32_t n = 0; n < asker->nears; n++) {
        if (asker->reading == HD_UA && breaks_own_read(asker, &asker->near[n])) continue;
        if (!ask_triple(asker, &asker->near[n], decision, settled, error)) return false;
        if (*settled) return true;
    }
    for (uint32_t b = each->start; b < each->start + each->count && !*settled; b++) {
        struct hd_bundle_lists lists = hd_bundle_lists(asker->triples, b);
        bool done = asker->reading == HD_UA
                        ? ask_bundle_ua(asker, &lists, &limits, &left, decision, settled, error)
                        : ask_bundle(asker, &lists, &limits, decision, settled, error);
        if (!done) return false;
    }
    return true;
}

/* ---- the branch relaxation --------------------------------------------------------------------
 */

static bool ask_relaxed_ways(struct hd_triple_asker *asker, const struct hd_triple *triple,
                             struct hd_triple_decision *decision, bool *settled,
                             struct hd_error *error) {
    if (!ends_held(asker, triple)) {
        if (!ask_way(asker, triple, ENDS, decision, settled, error)) return false;
    } else if (leaving(asker, triple) != HD_NONE &&
               !ask_way(asker, triple, LEAVES, decision, settled, error))
        return false;
    return *settled || ask_way(asker, triple, PASSES, decision, settled, error);
}

/* What only the relaxation makes feasible ignores values that flow into addresses, so it is no more
 * than possible. It adds to what the strict questions found and takes nothing away, so triples near
 * in the trace will do. */
static bool ask_relaxed(struct hd_triple_asker *asker, struct hd_triple_decision *decision,
                        bool whole_group, struct hd_error *error) {
    enum hd_verdict strict = decision->verdict;
    struct hd_triple_limits limits = hd_must_limits(asker->triples);
    bool settled = false, done = true;
    asker->relaxed = asker->branches->before;
    if (whole_group)
        find_near(asker, decision->group, &limits);
    else {
        asker->near[0] = decision->triple;
        asker->nears = 1;
    }
    for (uint32_t n = 0; done && !settled && n < asker->nears; n++)
        done = ask_relaxed_ways(asker, &asker->near[n], decision, &settled, error);
    asker->relaxed = NULL;
    if (settled) {
        decision->verdict = HD_POSSIBLE;
        decision->relaxed = true;
    } else
        decision->verdict = strict;
    return done;
}

/* ---- the interface ----------------------------------------------------------------------------
 */

static bool wants_relaxed(const struct hd_triple_asker *asker,
                          const struct hd_triple_decision *decision) {
    return asker->relax && decision->verdict != HD_FEASIBLE;
}

bool hd_triple_ask_group(struct hd_triple_asker *asker, struct hd_triple_decision *decision,
                         struct hd_error *error) {
    bool settled = false;
    uint64_t asked = asker->asked;
    decision->verdict = HD_INFEASIBLE;
    if (!ask_strictly(asker, decision, &settled, error)) return false;
    asker->ordered += asker->asked == asked;
    return !wants_relaxed(asker, decision) || ask_relaxed(asker, decision, true, error);
}

bool hd_triple_ask(struct hd_triple_asker *asker, struct hd_triple_decision *decision,
                   struct hd_error *error) {
    bool settled = false;
    struct hd_triple triple = decision->triple;
    decision->verdict = HD_INFEASIBLE;
    if (!ask_triple(asker, &triple, decision, &settled, error)) return false;
    return !wants_relaxed(asker, decision) || ask_relaxed(asker, decision, false, error);
}
