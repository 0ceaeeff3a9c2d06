/* AVFilter as a method: which triples of a group have to be looked at. */
#include "base/alloc.h"
#include "methods/avfilter.h"
#include "methods/methods.h"
#include "predict/atomicity_decide.h"

#include <stdlib.h>

/* Of the accesses that come after a pair in the trace, the nearest is kept if any is; and so is the
 * nearest of those before it: every test of AVFilter gets stricter with the distance. */
static bool filter_keeps(struct hd_avfilter *filter, const struct hd_triples *triples,
                         uint32_t bundle, struct hd_triple *kept) {
    struct hd_bundle_lists lists = hd_bundle_lists(triples, bundle);
    struct hd_triple_limits limits = hd_must_limits(triples);
    uint32_t from = 0, to = 0, after = 0;
    for (uint32_t n = 0; n < lists.pairs && from < lists.remotes; n++) {
        const struct hd_local_pair *pair = &lists.pair[n];
        hd_triple_window(&limits, &lists, n, &from, &to);
        while (after < lists.remotes && lists.remote[after] < pair->first) after++;
        for (uint32_t at = after > 0 ? after - 1 : 0; at <= after; at++) {
            if (at < from || at >= to) continue;
            struct hd_triple triple = {pair->first, lists.remote[at], pair->second, lists.location};
            if (hd_avfilter_rejects(filter, &triple)) continue;
            *kept = triple;
            return true;
        }
    }
    return false;
}

struct by_thread {
    uint32_t thread, bundle, group;
};

static int compare_by_thread(const void *left, const void *right) {
    const struct by_thread *a = left, *b = right;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    return a->bundle < b->bundle ? -1 : a->bundle > b->bundle;
}

/* Thread by thread, since the filter knows one local thread at a time. */
static void filter_groups(const struct hd_triple_task *task, struct hd_avfilter *filter) {
    const struct hd_triples *triples = task->triples;
    size_t count = triples->bundle.size;
    struct by_thread *sorted = hd_alloc(count, sizeof *sorted);
    for (uint32_t group = 0; group < triples->group.size; group++) {
        const struct hd_triple_group *each = &triples->group.data[group];
        for (uint32_t b = each->start; b < each->start + each->count; b++)
            sorted[b] = (struct by_thread){
                triples->lists.pairs.data[triples->bundle.data[b].pairs].thread, b, group};
    }
    if (count > 1) qsort(sorted, count, sizeof *sorted, compare_by_thread);
    for (size_t b = 0; b < count; b++) {
        struct hd_triple_decision *decision = &task->decision[sorted[b].group];
        if (decision->verdict != HD_INFEASIBLE) continue;
        hd_avfilter_begin(filter, sorted[b].thread);
        task->stats->asked.checks++;
        if (filter_keeps(filter, triples, sorted[b].bundle, &decision->triple))
            decision->verdict = HD_POSSIBLE;
    }
    free(sorted);
}

static void filter_instances(const struct hd_triple_task *task, struct hd_avfilter *filter) {
    for (uint32_t n = 0; n < task->decisions; n++) {
        struct hd_triple_decision *decision = &task->decision[n];
        if (decision->observed) continue;
        hd_avfilter_begin(filter, task->triples->model->thread[decision->triple.first]);
        task->stats->asked.checks++;
        if (!hd_avfilter_rejects(filter, &decision->triple)) decision->verdict = HD_POSSIBLE;
    }
}

static bool filter_all(const struct hd_triple_task *task, struct hd_error *error) {
    (void)error;
    struct hd_avfilter *filter = hd_avfilter_new(task->triples->model, task->branches);
    if (task->stats->asked.jobs < 1) task->stats->asked.jobs = 1;
    if (task->options->instances)
        filter_instances(task, filter);
    else
        filter_groups(task, filter);
    hd_avfilter_free(filter);
    return true;
}

static const struct hd_atomicity_method atomicity = {.decide = filter_all};
const struct hd_method hd_method_avfilter = {.name = "avfilter", .atomicity = &atomicity};
