/* Deciding groups of pairs in parallel, and what one answer says about other pairs. Results are put
 * in order at the end, so that they do not depend on the number of workers. */
#include "predict/race_decide.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/workers.h"

#include <stdlib.h>
#include <string.h>

/* Relaxed, so many pairs of a group are asked about. */
#define RELAXED_PAIRS 64u

/* What is known of two segments. */
enum known { ONE_INFEASIBLE = 1, ALL_INFEASIBLE, MIXED };

struct work {
    const struct hd_race_decider *decider;
    bool instances;
    struct hd_race_decisions *decisions;
    struct hd_predict_stats *stats;
};

struct worker {
    const struct hd_race_decider *decider;
    void *own;           /* the method's, NULL if it is an order */
    struct hd_map known; /* two segments -> enum known */
    struct hd_conflict_pairs pairs;
    HD_VECTOR(struct hd_race_decision) list;
    uint64_t ordered; /* groups without a pair to ask about */
    uint64_t checks, dominated;
};

/* ---- the method -------------------------------------------------------------------------------
 */

struct hd_race_decider hd_race_decider_new(const struct hd_race_method *method,
                                           const struct hd_race_task *task) {
    struct hd_race_decider decider = {.method = method, .task = *task};
    if (method->prepare != NULL) decider.prepared = method->prepare(task);
    return decider;
}

void hd_race_decider_free(struct hd_race_decider *decider) {
    if (decider->method->forget != NULL) decider->method->forget(decider->prepared);
    decider->prepared = NULL;
}

/* A hd_before: what the method orders. */
static bool before(const void *context, uint32_t x, uint32_t y) {
    const struct hd_race_decider *decider = context;
    return decider->method->before(&decider->task, decider->prepared, x, y);
}

/* Is `before` all that the method knows? */
static bool is_order(const struct hd_race_decider *decider) {
    return decider->method->decide == NULL;
}

/* ---- one pair ---------------------------------------------------------------------------------
 */

static bool ask(struct worker *worker, uint32_t a, uint32_t b, enum hd_verdict *verdict,
                struct hd_error *error) {
    if (!is_order(worker->decider))
        return worker->decider->method->decide(worker->own, a, b, verdict, error);
    worker->checks++;
    *verdict = before(worker->decider, a < b ? a : b, a < b ? b : a) ? HD_INFEASIBLE : HD_POSSIBLE;
    return true;
}

/* Segments say (segments.h): if the first events of two segments can't both be next, then no two
 * events of them can. So the second infeasible pair of two segments asks about their first events.
 */
static bool decide_pair(struct worker *worker, uint32_t a, uint32_t b, enum hd_verdict *verdict,
                        struct hd_error *error) {
    if (is_order(worker->decider)) return ask(worker, a, b, verdict, error);
    const struct hd_segments *segments = worker->decider->task.candidates->segments;
    uint32_t x = segments->of[a], y = segments->of[b];
    uint64_t key = x < y ? (uint64_t)x << 32 | y : (uint64_t)y << 32 | x;
    uint32_t *known = hd_map_slot(&worker->known, key, 0);
    uint32_t first_a = segments->segment.data[x].first, first_b = segments->segment.data[y].first;
    bool firsts = first_a == a && first_b == b;
    if (*known == ONE_INFEASIBLE && !firsts) {
        if (!ask(worker, first_a, first_b, verdict, error)) return false;
        *known = *verdict == HD_INFEASIBLE ? ALL_INFEASIBLE : MIXED;
    }
    if (*known == ALL_INFEASIBLE) {
        worker->dominated++;
        *verdict = HD_INFEASIBLE;
        return true;
    }
    if (!ask(worker, a, b, verdict, error)) return false;
    if (*verdict == HD_INFEASIBLE && *known != MIXED)
        *known = firsts ? ALL_INFEASIBLE : ONE_INFEASIBLE;
    return true;
}

/* ---- one group --------------------------------------------------------------------------------
 */

static void keep_witness(struct worker *worker, struct hd_race_decision *decision) {
    if (decision->verdict == HD_FEASIBLE)
        decision->witness = hd_witness_keep(worker->decider->method->witness(worker->own));
}

static void add(struct worker *worker, struct hd_race_decision decision) {
    keep_witness(worker, &decision);
    hd_vector_push(&worker->list, decision);
}

/* What makes a pair no candidate at all. */
static bool fork_before(const void *context, uint32_t x, uint32_t y) {
    const struct hd_race_decider *decider = context;
    return hd_clocks_before(decider->task.candidates->fork_clocks, x, y);
}

/* The best of a group's instances by the engine, at most so many. */
static bool ask_group(struct worker *worker, uint64_t most, struct hd_race_decision *decision,
                      bool *any, struct hd_error *error) {
    const struct hd_race_decider *decider = worker->decider;
    struct hd_conflict pair;
    hd_conflict_pairs_begin(&worker->pairs, decider->task.candidates, decision->group, before,
                            decider, false);
    while (most-- > 0 && decision->verdict != HD_FEASIBLE && decision->verdict != HD_POSSIBLE &&
           hd_conflict_pairs_next(&worker->pairs, &pair)) {
        *any = true;
        enum hd_verdict verdict;
        if (!decide_pair(worker, pair.event[0], pair.event[1], &verdict, error)) return false;
        if (verdict == HD_INFEASIBLE) continue;
        decision->pair = pair;
        decision->verdict = verdict;
        if (verdict == HD_UNDECIDED && hd_budget_is_over(&decider->task.budget)) break;
    }
    return true;
}

/* A group is what its best instance is; it is infeasible only if every instance is. */
static bool decide_group(struct worker *worker, uint32_t group, struct hd_error *error) {
    const struct hd_race_decider *decider = worker->decider;
    const struct hd_conflicts *candidates = decider->task.candidates;
    const struct hd_conflict_bundle *bundle = &candidates->group.data[group].first;
    struct hd_conflict_pairs *pairs = &worker->pairs;
    struct hd_race_decision decision = {
        .group = group,
        .pair = {{bundle->event[0], bundle->event[1]}, bundle->location},
        .verdict = HD_INFEASIBLE};
    struct hd_conflict pair;
    bool any = false;
    if (!is_order(decider) && hd_budget_is_over(&decider->task.budget)) {
        decision.verdict = HD_UNDECIDED;
        add(worker, decision);
        return true;
    }
    if (is_order(decider)) {
        hd_conflict_pairs_begin(pairs, candidates, group, before, decider, true);
        any = hd_conflict_pairs_find(pairs, &pair);
        if (any) {
            decision.pair = pair;
            decision.verdict = HD_POSSIBLE;
        }
    } else if (!ask_group(worker, UINT64_MAX, &decision, &any, error))
        return false;
    worker->ordered += !any;
    add(worker, decision);
    return true;
}

static bool decide_instances(struct worker *worker, uint32_t group, struct hd_error *error) {
    const struct hd_race_decider *decider = worker->decider;
    struct hd_conflict_pairs *pairs = &worker->pairs;
    struct hd_conflict pair;
    hd_conflict_pairs_begin(pairs, decider->task.candidates, group, fork_before, decider, true);
    while (hd_conflict_pairs_next(pairs, &pair)) {
        struct hd_race_decision decision = {.group = group, .pair = pair};
        if (!decide_pair(worker, pair.event[0], pair.event[1], &decision.verdict, error))
            return false;
        add(worker, decision);
    }
    return true;
}

/* ---- relaxed ----------------------------------------------------------------------------------
 */

/* One decision again. */
static bool relax_one(void *context, void *own, uint32_t item, struct hd_error *error) {
    const struct work *work = context;
    struct worker *worker = own;
    struct hd_race_decision *decision = &work->decisions->list.data[item];
    struct hd_race_decision found = {
        .group = decision->group, .pair = decision->pair, .verdict = HD_INFEASIBLE};
    bool any = false;
    if (decision->verdict == HD_FEASIBLE || hd_budget_is_over(&work->decider->task.budget))
        return true;
    bool done = work->instances ? decide_pair(worker, found.pair.event[0], found.pair.event[1],
                                              &found.verdict, error)
                                : ask_group(worker, RELAXED_PAIRS, &found, &any, error);
    if (!done || found.verdict != HD_FEASIBLE) return done;
    keep_witness(worker, &found);
    found.verdict = HD_POSSIBLE;
    *decision = found;
    return true;
}

/* ---- all groups -------------------------------------------------------------------------------
 */

static void *begin(void *context) {
    struct work *work = context;
    struct worker *worker = hd_zalloc(1, sizeof *worker);
    worker->decider = work->decider;
    if (!is_order(work->decider))
        worker->own = work->decider->method->begin(&work->decider->task, work->decider->prepared);
    return worker;
}

static bool decide_one(void *context, void *own, uint32_t group, struct hd_error *error) {
    const struct work *work = context;
    return work->instances ? decide_instances(own, group, error) : decide_group(own, group, error);
}

static void end(void *context, void *own) {
    struct work *work = context;
    struct worker *worker = own;
    if (worker->own != NULL) work->decider->method->end(worker->own, &work->stats->asked);
    work->stats->asked.checks += worker->checks;
    work->stats->dominated += worker->dominated;
    work->stats->ordered += worker->ordered;
    for (size_t i = 0; i < worker->list.size; i++)
        hd_vector_push(&work->decisions->list, worker->list.data[i]);
    hd_vector_free(&worker->list);
    hd_map_free(&worker->known);
    hd_conflict_pairs_free(&worker->pairs);
    free(worker);
}

static int compare_decisions(const void *left, const void *right) {
    const struct hd_race_decision *a = left, *b = right;
    if (a->group != b->group) return a->group < b->group ? -1 : 1;
    for (unsigned i = 0; i < 2; i++)
        if (a->pair.event[i] != b->pair.event[i])
            return a->pair.event[i] < b->pair.event[i] ? -1 : 1;
    return 0;
}

/* ---- elsewhere --------------------------------------------------------------------------------
 */

static void save_decision(const struct hd_race_decision *decision, struct hd_packed *to) {
    hd_pack_number(to, decision->pair.event[0]);
    hd_pack_number(to, decision->pair.event[1]);
    hd_pack_number(to, decision->pair.location);
    hd_pack_number(to, decision->verdict);
    hd_kept_witness_save(&decision->witness, to);
}

static bool restore_decision(struct hd_race_decision *decision, const struct hd_model *model,
                             struct hd_unpack *from) {
    decision->pair.event[0] = (uint32_t)hd_unpack_most(from, model->events - 1);
    decision->pair.event[1] = (uint32_t)hd_unpack_most(from, model->events - 1);
    decision->pair.location = (uint32_t)hd_unpack_most(from, model->locations - 1);
    decision->verdict = hd_verdict_restore(from);
    return hd_kept_witness_restore(&decision->witness, model, from);
}

/* Decisions of an item are all that the worker has. */
static void save_item(void *context, void *own, uint32_t item, struct hd_packed *to) {
    struct worker *worker = own;
    (void)context;
    (void)item;
    hd_pack_number(to, worker->list.size);
    for (size_t i = 0; i < worker->list.size; i++) {
        save_decision(&worker->list.data[i], to);
        hd_kept_witness_free(&worker->list.data[i].witness);
    }
    worker->list.size = 0;
}

static bool restore_item(void *context, uint32_t item, struct hd_unpack *from) {
    const struct work *work = context;
    uint64_t count = hd_unpack_number(from);
    if (!work->instances && count != 1) return false;
    for (uint64_t i = 0; i < count; i++) {
        struct hd_race_decision decision = {.group = item};
        if (!restore_decision(&decision, work->decider->task.candidates->model, from)) return false;
        hd_vector_push(&work->decisions->list, decision);
    }
    return true;
}

static void save_relaxed(void *context, void *own, uint32_t item, struct hd_packed *to) {
    const struct work *work = context;
    (void)own;
    save_decision(&work->decisions->list.data[item], to);
}

static bool restore_relaxed(void *context, uint32_t item, struct hd_unpack *from) {
    const struct work *work = context;
    struct hd_race_decision *decision = &work->decisions->list.data[item];
    hd_kept_witness_free(&decision->witness);
    return restore_decision(decision, work->decider->task.candidates->model, from);
}

/* ---- the whole --------------------------------------------------------------------------------
 */

bool hd_races_decide(const struct hd_race_decider *decider,
                     const struct hd_predict_options *options, bool instances,
                     struct hd_race_decisions *decisions, struct hd_predict_stats *stats,
                     struct hd_error *error) {
    *decisions = (struct hd_race_decisions){0};
    struct work work = {decider, instances, decisions, stats};
    struct hd_workers workers = {.items = (uint32_t)decider->task.candidates->group.size,
                                 .jobs = is_order(decider) ? 1 : options->jobs, /* a look-up each */
                                 .what = "deciding",
                                 .progress = options->progress,
                                 .context = &work,
                                 .begin = begin,
                                 .work = decide_one,
                                 .end = end,
                                 .sharing = is_order(decider) ? NULL : options->sharing,
                                 .save = save_item,
                                 .restore = restore_item};
    if (!hd_workers_run(&workers, &stats->asked.jobs, error)) {
        hd_race_decisions_free(decisions);
        return false;
    }
    if (decisions->list.size > 1)
        qsort(decisions->list.data, decisions->list.size, sizeof *decisions->list.data,
              compare_decisions);
    return true;
}

bool hd_races_relax(const struct hd_race_decider *decider, const struct hd_predict_options *options,
                    bool instances, struct hd_race_decisions *decisions,
                    struct hd_predict_stats *stats, struct hd_error *error) {
    struct work work = {decider, instances, decisions, stats};
    struct hd_workers workers = {.items = (uint32_t)decisions->list.size,
                                 .jobs = options->jobs,
                                 .what = "deciding",
                                 .progress = options->progress,
                                 .context = &work,
                                 .begin = begin,
                                 .work = relax_one,
                                 .end = end,
                                 .sharing = options->sharing,
                                 .save = save_relaxed,
                                 .restore = restore_relaxed};
    unsigned used;
    return hd_workers_run(&workers, &used, error);
}

void hd_race_decisions_free(struct hd_race_decisions *decisions) {
    for (size_t i = 0; i < decisions->list.size; i++)
        hd_kept_witness_free(&decisions->list.data[i].witness);
    hd_vector_free(&decisions->list);
}
