/* Deciding groups in parallel: each worker has its own judge and takes the next group; results are
 * put in order at the end, so that they do not depend on the number of workers. */
#include "predict/decide.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Groups taken at once. */
#define BATCH 8u

struct work {
    const struct hd_court *court;
    bool instances;
    uint32_t groups;
    atomic_uint next;
    atomic_uint done;
    atomic_bool failed;
};

struct worker {
    struct work *work;
    struct hd_judge *judge;
    HD_VECTOR(struct hd_decision) list;
    uint64_t ordered; /* groups without a pair to ask about */
    struct hd_error error;
    bool failed;
    pthread_t thread;
};

/* ---- witnesses --------------------------------------------------------------------------------
 */

static bool pack(struct hd_decision *decision, const struct hd_witness *witness) {
    uint32_t runs = 0;
    for (uint32_t i = 0; i < witness->count; i++)
        runs += i == 0 || witness->event[i] != witness->event[i - 1] + 1;
    decision->run = malloc((runs + (size_t)1) * sizeof *decision->run);
    if (decision->run == NULL) return false;
    for (uint32_t i = 0; i < witness->count; i++) {
        if (i > 0 && witness->event[i] == witness->event[i - 1] + 1)
            decision->run[decision->runs - 1].count++;
        else
            decision->run[decision->runs++] = (struct hd_run){witness->event[i], 1};
    }
    decision->witness_next = witness->next;
    return true;
}

/* ---- one group --------------------------------------------------------------------------------
 */

static bool add(struct worker *worker, struct hd_decision decision) {
    if (decision.verdict == HD_FEASIBLE && !pack(&decision, hd_judge_witness(worker->judge)))
        return hd_fail(&worker->error, HD_ERR_MEMORY, "out of memory");
    if (hd_vector_push(&worker->list, decision)) return true;
    free(decision.run);
    return hd_fail(&worker->error, HD_ERR_MEMORY, "out of memory");
}

/* What makes a pair no candidate at all. */
static bool fork_before(const void *context, uint32_t x, uint32_t y) {
    const struct hd_court *court = context;
    return hd_clocks_before(court->candidates->fork_clocks, x, y);
}

/* A group is what its best instance is; it is infeasible only if every instance is. */
static bool decide_group(struct worker *worker, uint32_t group) {
    const struct hd_court *court = worker->work->court;
    const struct hd_candidates *candidates = court->candidates;
    const struct hd_bundle *bundle = &candidates->bundle.data[candidates->group.data[group].start];
    struct hd_decision decision = {.group = group,
                                   .pair = {{bundle->event[0], bundle->event[1]}, bundle->location},
                                   .verdict = HD_INFEASIBLE};
    struct hd_pair pair;
    if (hd_court_is_order(court)) {
        if (hd_pairs_find(candidates, group, hd_court_before, court, &pair)) {
            decision.pair = pair;
            decision.verdict = HD_POSSIBLE;
        } else
            worker->ordered++;
        return add(worker, decision);
    }
    struct hd_pairs pairs;
    bool any = false;
    hd_pairs_begin(&pairs, candidates, group, hd_court_before, court, false);
    while (hd_pairs_next(&pairs, &pair)) {
        any = true;
        enum hd_verdict verdict;
        if (!hd_judge_pair(worker->judge, pair.event[0], pair.event[1], &verdict, &worker->error))
            return false;
        if (verdict == HD_INFEASIBLE) continue;
        decision.pair = pair;
        decision.verdict = verdict;
        if (verdict != HD_UNDECIDED) break;
    }
    worker->ordered += !any;
    return add(worker, decision);
}

static bool decide_instances(struct worker *worker, uint32_t group) {
    const struct hd_court *court = worker->work->court;
    struct hd_pairs pairs;
    struct hd_pair pair;
    hd_pairs_begin(&pairs, court->candidates, group, fork_before, court, true);
    while (hd_pairs_next(&pairs, &pair)) {
        struct hd_decision decision = {.group = group, .pair = pair};
        if (!hd_judge_pair(worker->judge, pair.event[0], pair.event[1], &decision.verdict,
                           &worker->error) ||
            !add(worker, decision))
            return false;
    }
    return true;
}

/* ---- all groups -------------------------------------------------------------------------------
 */

static void *run_worker(void *argument) {
    struct worker *worker = argument;
    struct work *work = worker->work;
    while (!atomic_load(&work->failed)) {
        uint32_t from = atomic_fetch_add(&work->next, BATCH);
        if (from >= work->groups) break;
        uint32_t to = work->groups - from < BATCH ? work->groups : from + BATCH;
        for (uint32_t g = from; g < to; g++) {
            bool fine = work->instances ? decide_instances(worker, g) : decide_group(worker, g);
            if (fine) continue;
            worker->failed = true;
            atomic_store(&work->failed, true);
            return NULL;
        }
        atomic_fetch_add(&work->done, to - from);
    }
    return NULL;
}

static int compare_decisions(const void *left, const void *right) {
    const struct hd_decision *a = left, *b = right;
    if (a->group != b->group) return a->group < b->group ? -1 : 1;
    for (unsigned i = 0; i < 2; i++)
        if (a->pair.event[i] != b->pair.event[i])
            return a->pair.event[i] < b->pair.event[i] ? -1 : 1;
    return 0;
}

static bool gather(struct worker *worker, unsigned workers, struct hd_decisions *decisions) {
    for (unsigned i = 0; i < workers; i++) {
        if (worker[i].list.size == 0) continue;
        if (!hd_vector_reserve(&decisions->list, worker[i].list.size)) return false;
        memcpy(decisions->list.data + decisions->list.size, worker[i].list.data,
               worker[i].list.size * sizeof *worker[i].list.data);
        decisions->list.size += worker[i].list.size;
        worker[i].list.size = 0;
    }
    if (decisions->list.size > 1)
        qsort(decisions->list.data, decisions->list.size, sizeof *decisions->list.data,
              compare_decisions);
    return true;
}

/* The first worker is this thread, which also reports progress: it takes one batch after another
 * like the others. */
static void run_here(struct worker *worker, struct hd_progress *progress) {
    struct work *work = worker->work;
    if (progress == NULL || progress->report == NULL) {
        run_worker(worker);
        return;
    }
    while (!worker->failed && atomic_load(&work->next) < work->groups &&
           !atomic_load(&work->failed)) {
        uint32_t from = atomic_fetch_add(&work->next, BATCH);
        for (uint32_t g = from; g < work->groups && g < from + BATCH; g++) {
            hd_progress_step(progress, atomic_load(&work->done));
            if (!(work->instances ? decide_instances(worker, g) : decide_group(worker, g))) {
                worker->failed = true;
                atomic_store(&work->failed, true);
                return;
            }
            atomic_fetch_add(&work->done, 1);
        }
    }
}

bool hd_decide(const struct hd_court *court, unsigned jobs, bool instances,
               struct hd_progress *progress, struct hd_decisions *decisions,
               struct hd_predict_stats *stats, struct hd_error *error) {
    memset(decisions, 0, sizeof *decisions);
    struct work work = {
        .court = court, .instances = instances, .groups = (uint32_t)court->candidates->group.size};
    if (jobs == 0) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        jobs = cores > 0 ? (unsigned)cores : 1;
    }
    if (jobs > work.groups / BATCH + 1) jobs = work.groups / BATCH + 1;
    if (hd_court_is_order(court)) jobs = 1; /* a look-up each */
    struct worker *worker = calloc(jobs, sizeof *worker);
    if (worker == NULL) return hd_fail(error, HD_ERR_MEMORY, "out of memory");
    unsigned workers = 0;
    for (; workers < jobs; workers++) {
        worker[workers].work = &work;
        worker[workers].judge = hd_judge_new(court);
        if (worker[workers].judge == NULL) break;
    }
    bool done = workers == jobs || hd_fail(error, HD_ERR_MEMORY, "out of memory");
    hd_progress_start(progress, "deciding", work.groups);
    unsigned started = 1;
    for (; done && started < workers; started++) /* fewer threads are fine too */
        if (pthread_create(&worker[started].thread, NULL, run_worker, &worker[started]) != 0) break;
    if (done) run_here(&worker[0], progress);
    for (unsigned i = 1; done && i < started; i++) pthread_join(worker[i].thread, NULL);
    stats->jobs = done ? started : 0;
    for (unsigned i = 0; i < workers; i++) {
        hd_judge_stats(worker[i].judge, stats);
        stats->ordered += worker[i].ordered;
        if (!worker[i].failed || !done) continue;
        *error = worker[i].error;
        done = false;
    }
    if (done && !gather(worker, workers, decisions))
        done = hd_fail(error, HD_ERR_MEMORY, "out of memory");
    for (unsigned i = 0; i < jobs; i++) {
        for (size_t k = 0; k < worker[i].list.size; k++) free(worker[i].list.data[k].run);
        hd_vector_free(&worker[i].list);
        hd_judge_free(worker[i].judge);
    }
    free(worker);
    if (!done) hd_decisions_free(decisions);
    return done;
}

void hd_decisions_free(struct hd_decisions *decisions) {
    for (size_t i = 0; i < decisions->list.size; i++) free(decisions->list.data[i].run);
    hd_vector_free(&decisions->list);
}
