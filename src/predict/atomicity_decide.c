/* Deciding triples: by group or one by one, with all cores where the engine is asked. */
#include "predict/atomicity_decide.h"

#include "base/alloc.h"
#include "base/workers.h"
#include "predict/atomicity_ask.h"
#include "predict/poly.h"

#include <stdlib.h>
#include <string.h>

struct work {
    const struct hd_triple_task *task;
    enum hd_reading reading;
};

/* ---- what needs no asking ---------------------------------------------------------------------
 */

struct hd_triple hd_triples_nearest(const struct hd_triples *triples, uint32_t group) {
    const struct hd_triple_group *each = &triples->group.data[group];
    struct hd_triple best = hd_bundle_first(triples, each->start);
    struct hd_triple_limits limits = hd_must_limits(triples);
    uint32_t least = UINT32_MAX;
    for (uint32_t b = each->start; b < each->start + each->count; b++) {
        struct hd_bundle_lists lists = hd_bundle_lists(triples, b);
        uint32_t from = 0, to = 0, after = 0;
        for (uint32_t n = 0; n < lists.pairs && from < lists.remotes; n++) {
            const struct hd_local_pair *pair = &lists.pair[n];
            hd_triple_window(&limits, &lists, n, &from, &to);
            while (after < lists.remotes && lists.remote[after] < pair->first) after++;
            for (uint32_t at = after > 0 ? after - 1 : 0; at <= after; at++) {
                if (at < from || at >= to) continue;
                uint32_t j = lists.remote[at];
                uint32_t low = j < pair->first ? j : pair->first;
                uint32_t high = j > pair->second ? j : pair->second;
                if (high - low >= least) continue;
                least = high - low;
                best = (struct hd_triple){pair->first, j, pair->second, lists.location};
            }
        }
    }
    return best;
}

/* The witness is the trace up to k, which is next. */
static void take_observed(struct hd_triple_decision *decision, const struct hd_triple *triple) {
    decision->triple = *triple;
    decision->verdict = HD_FEASIBLE;
    decision->observed = true;
    decision->witness = (struct hd_kept_witness){.next = 1, .runs = 1};
    decision->witness.run = hd_alloc(1, sizeof *decision->witness.run);
    decision->witness.run[0] = (struct hd_span){0, triple->second + 1};
}

/* ---- with the engine --------------------------------------------------------------------------
 */

static void *begin(void *context) {
    const struct work *work = context;
    const struct hd_triple_task *task = work->task;
    return hd_triple_asker_new(task->triples, task->base, task->branches, work->reading,
                               task->options->relax_branches, task->options->budget);
}

static void end(void *context, void *own) {
    const struct work *work = context;
    hd_triple_asker_stats(own, work->task->stats);
    hd_triple_asker_free(own);
}

static bool ask_item(void *context, void *own, uint32_t item, struct hd_error *error) {
    const struct work *work = context;
    struct hd_triple_decision *decision = &work->task->decision[item];
    if (decision->observed) return true;
    return work->task->options->instances ? hd_triple_ask(own, decision, error)
                                          : hd_triple_ask_group(own, decision, error);
}

static void save_item(void *context, void *own, uint32_t item, struct hd_packed *to) {
    const struct work *work = context;
    const struct hd_triple_decision *decision = &work->task->decision[item];
    (void)own;
    if (decision->observed) return;
    hd_pack_number(to, decision->triple.first);
    hd_pack_number(to, decision->triple.remote);
    hd_pack_number(to, decision->triple.second);
    hd_pack_number(to, decision->triple.location);
    hd_pack_number(to, decision->verdict);
    hd_pack_number(to, decision->relaxed);
    hd_kept_witness_save(&decision->witness, to);
}

static bool restore_item(void *context, uint32_t item, struct hd_unpack *from) {
    const struct work *work = context;
    const struct hd_model *model = work->task->triples->model;
    struct hd_triple_decision *decision = &work->task->decision[item];
    if (decision->observed) return true;
    hd_kept_witness_free(&decision->witness);
    decision->triple.first = (uint32_t)hd_unpack_most(from, model->events - 1);
    decision->triple.remote = (uint32_t)hd_unpack_most(from, model->events - 1);
    decision->triple.second = (uint32_t)hd_unpack_most(from, model->events - 1);
    decision->triple.location = (uint32_t)hd_unpack_most(from, model->locations - 1);
    decision->verdict = hd_verdict_restore(from);
    decision->relaxed = hd_unpack_most(from, 1) != 0;
    return hd_kept_witness_restore(&decision->witness, model, from);
}

bool hd_triples_ask(const struct hd_triple_task *task, enum hd_reading reading,
                    struct hd_error *error) {
    struct work work = {task, reading};
    struct hd_workers workers = {.items = task->decisions,
                                 .jobs = task->options->jobs,
                                 .what = "deciding",
                                 .progress = task->options->progress,
                                 .context = &work,
                                 .begin = begin,
                                 .work = ask_item,
                                 .end = end,
                                 .sharing = task->options->sharing,
                                 .save = save_item,
                                 .restore = restore_item};
    unsigned jobs = 0;
    bool done = hd_workers_run(&workers, &jobs, error);
    if (jobs > task->stats->asked.jobs) task->stats->asked.jobs = jobs;
    return done;
}

static bool ask_poly(const struct hd_triple_task *task, struct hd_error *error) {
    return hd_triples_ask(task, task->options->reading, error);
}

const struct hd_atomicity_method hd_atomicity_poly = {.decide = ask_poly, .needs_engine = true};

/* ---- the whole --------------------------------------------------------------------------------
 */

static void list_groups(const struct hd_triples *triples, struct hd_triple_decisions *decisions) {
    for (uint32_t g = 0; g < triples->group.size; g++) {
        struct hd_triple_decision decision = {.group = g};
        struct hd_triple observed;
        if (hd_triples_observed(triples, g, &observed))
            take_observed(&decision, &observed);
        else
            decision.triple = hd_triples_nearest(triples, g);
        hd_vector_push(&decisions->list, decision);
    }
}

static int compare_instances(const void *left, const void *right) {
    const struct hd_triple_decision *a = left, *b = right;
    const uint32_t x[] = {a->group, a->triple.first, a->triple.remote, a->triple.second};
    const uint32_t y[] = {b->group, b->triple.first, b->triple.remote, b->triple.second};
    for (unsigned i = 0; i < 4; i++)
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return 0;
}

static void list_bundle(const struct hd_triples *triples, uint32_t group, uint32_t bundle,
                        struct hd_triple_decisions *decisions) {
    struct hd_bundle_lists lists = hd_bundle_lists(triples, bundle);
    struct hd_triple_limits limits = hd_must_limits(triples);
    for (uint32_t n = 0, from = 0, to = 0; n < lists.pairs && from < lists.remotes; n++) {
        hd_triple_window(&limits, &lists, n, &from, &to);
        for (uint32_t at = from; at < to; at++) {
            struct hd_triple triple = {lists.pair[n].first, lists.remote[at], lists.pair[n].second,
                                       lists.location};
            struct hd_triple_decision decision = {.group = group, .triple = triple};
            if (triple.first < triple.remote && triple.remote < triple.second)
                take_observed(&decision, &triple);
            hd_vector_push(&decisions->list, decision);
        }
    }
}

/* Every triple of events once, also if it is found at several locations. */
static void list_instances(const struct hd_triples *triples,
                           struct hd_triple_decisions *decisions) {
    for (uint32_t group = 0; group < triples->group.size; group++) {
        const struct hd_triple_group *each = &triples->group.data[group];
        for (uint32_t b = 0; b < each->count; b++)
            list_bundle(triples, group, each->start + b, decisions);
    }
    struct hd_triple_decision *list = decisions->list.data;
    if (decisions->list.size > 1)
        qsort(list, decisions->list.size, sizeof *list, compare_instances);
    size_t kept = 0;
    for (size_t i = 0; i < decisions->list.size; i++) {
        if (kept > 0 && compare_instances(&list[kept - 1], &list[i]) == 0)
            hd_kept_witness_free(&list[i].witness);
        else
            list[kept++] = list[i];
    }
    decisions->list.size = kept;
}

bool hd_triples_decide(struct hd_triple_task *task, const struct hd_atomicity_method *method,
                       struct hd_triple_decisions *decisions, struct hd_error *error) {
    *decisions = (struct hd_triple_decisions){0};
    if (task->options->instances)
        list_instances(task->triples, decisions);
    else
        list_groups(task->triples, decisions);
    if (decisions->list.size >= UINT32_MAX) hd_out_of_memory();
    task->decision = decisions->list.data;
    task->decisions = (uint32_t)decisions->list.size;
    if (method->decide(task, error)) return true;
    hd_triple_decisions_free(decisions);
    return false;
}

void hd_triple_decisions_free(struct hd_triple_decisions *decisions) {
    for (size_t i = 0; i < decisions->list.size; i++)
        hd_kept_witness_free(&decisions->list.data[i].witness);
    hd_vector_free(&decisions->list);
}
