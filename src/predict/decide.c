/* Deciding groups in parallel; results are put in order at the end, so that they do not depend on
 * the number of workers. */
#include "predict/decide.h"

#include "engine/crew.h"

#include <stdlib.h>
#include <string.h>

struct work {
    const struct hd_court *court;
    bool instances;
    struct hd_decisions *decisions;
    struct hd_predict_stats *stats;
    bool out_of_memory;
};

struct worker {
    struct work *work;
    struct hd_judge *judge;
    HD_VECTOR(struct hd_decision) list;
    uint64_t ordered; /* groups without a pair to ask about */
};

/* ---- one group --------------------------------------------------------------------------------
 */

static bool add(struct worker *worker, struct hd_decision decision, struct hd_error *error) {
    if (decision.verdict == HD_FEASIBLE &&
        !hd_witness_keep(hd_judge_witness(worker->judge), &decision.witness))
        return hd_fail(error, HD_ERR_MEMORY, "out of memory");
    if (hd_vector_push(&worker->list, decision)) return true;
    hd_kept_witness_free(&decision.witness);
    return hd_fail(error, HD_ERR_MEMORY, "out of memory");
}

/* What makes a pair no candidate at all. */
static bool fork_before(const void *context, uint32_t x, uint32_t y) {
    const struct hd_court *court = context;
    return hd_clocks_before(court->candidates->fork_clocks, x, y);
}

/* A group is what its best instance is; it is infeasible only if every instance is. */
static bool decide_group(struct worker *worker, uint32_t group, struct hd_error *error) {
    const struct hd_court *court = worker->work->court;
    const struct hd_conflicts *candidates = court->candidates;
    const struct hd_conflict_bundle *bundle =
        &candidates->bundle.data[candidates->group.data[group].start];
    struct hd_decision decision = {.group = group,
                                   .pair = {{bundle->event[0], bundle->event[1]}, bundle->location},
                                   .verdict = HD_INFEASIBLE};
    struct hd_conflict pair;
    if (hd_court_is_order(court)) {
        if (hd_conflict_pairs_find(candidates, group, hd_court_before, court, &pair)) {
            decision.pair = pair;
            decision.verdict = HD_POSSIBLE;
        } else
            worker->ordered++;
        return add(worker, decision, error);
    }
    struct hd_conflict_pairs pairs;
    bool any = false;
    hd_conflict_pairs_begin(&pairs, candidates, group, hd_court_before, court, false);
    while (hd_conflict_pairs_next(&pairs, &pair)) {
        any = true;
        enum hd_verdict verdict;
        if (!hd_judge_pair(worker->judge, pair.event[0], pair.event[1], &verdict, error))
            return false;
        if (verdict == HD_INFEASIBLE) continue;
        decision.pair = pair;
        decision.verdict = verdict;
        if (verdict != HD_UNDECIDED) break;
    }
    worker->ordered += !any;
    return add(worker, decision, error);
}

static bool decide_instances(struct worker *worker, uint32_t group, struct hd_error *error) {
    const struct hd_court *court = worker->work->court;
    struct hd_conflict_pairs pairs;
    struct hd_conflict pair;
    hd_conflict_pairs_begin(&pairs, court->candidates, group, fork_before, court, true);
    while (hd_conflict_pairs_next(&pairs, &pair)) {
        struct hd_decision decision = {.group = group, .pair = pair};
        if (!hd_judge_pair(worker->judge, pair.event[0], pair.event[1], &decision.verdict, error) ||
            !add(worker, decision, error))
            return false;
    }
    return true;
}

/* ---- all groups -------------------------------------------------------------------------------
 */

static void *begin(void *context) {
    struct work *work = context;
    struct worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL) return NULL;
    worker->work = work;
    worker->judge = hd_judge_new(work->court);
    if (worker->judge != NULL) return worker;
    free(worker);
    return NULL;
}

static bool decide_one(void *context, void *own, uint32_t group, struct hd_error *error) {
    const struct work *work = context;
    return work->instances ? decide_instances(own, group, error) : decide_group(own, group, error);
}

static void end(void *context, void *own) {
    struct work *work = context;
    struct worker *worker = own;
    hd_judge_stats(worker->judge, work->stats);
    work->stats->ordered += worker->ordered;
    for (size_t i = 0; i < worker->list.size; i++)
        if (!hd_vector_push(&work->decisions->list, worker->list.data[i])) {
            work->out_of_memory = true;
            hd_kept_witness_free(&worker->list.data[i].witness);
        }
    hd_vector_free(&worker->list);
    hd_judge_free(worker->judge);
    free(worker);
}

static int compare_decisions(const void *left, const void *right) {
    const struct hd_decision *a = left, *b = right;
    if (a->group != b->group) return a->group < b->group ? -1 : 1;
    for (unsigned i = 0; i < 2; i++)
        if (a->pair.event[i] != b->pair.event[i])
            return a->pair.event[i] < b->pair.event[i] ? -1 : 1;
    return 0;
}

bool hd_decide(const struct hd_court *court, unsigned jobs, bool instances,
               struct hd_progress *progress, struct hd_decisions *decisions,
               struct hd_predict_stats *stats, struct hd_error *error) {
    memset(decisions, 0, sizeof *decisions);
    struct work work = {
        .court = court, .instances = instances, .decisions = decisions, .stats = stats};
    struct hd_crew crew = {.items = (uint32_t)court->candidates->group.size,
                           .jobs = hd_court_is_order(court) ? 1 : jobs, /* a look-up each */
                           .what = "deciding",
                           .progress = progress,
                           .context = &work,
                           .begin = begin,
                           .work = decide_one,
                           .end = end};
    bool done = hd_crew_run(&crew, &stats->jobs, error);
    if (done && work.out_of_memory) done = hd_fail(error, HD_ERR_MEMORY, "out of memory");
    if (!done) {
        hd_decisions_free(decisions);
        return false;
    }
    if (decisions->list.size > 1)
        qsort(decisions->list.data, decisions->list.size, sizeof *decisions->list.data,
              compare_decisions);
    return true;
}

void hd_decisions_free(struct hd_decisions *decisions) {
    for (size_t i = 0; i < decisions->list.size; i++)
        hd_kept_witness_free(&decisions->list.data[i].witness);
    hd_vector_free(&decisions->list);
}
