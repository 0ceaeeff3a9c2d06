/* Deciding triples: by group or one by one, with all cores where the engine is asked. */
#include "predict/atomicity_decide.h"

#include "engine/crew.h"
#include "predict/atomicity_ask.h"
#include "predict/avfilter.h"

#include <stdlib.h>
#include <string.h>

struct work {
    const struct hd_triples *triples;
    const struct hd_ground *ground;
    const struct hd_branches *branches;
    const struct hd_predict_options *options;
    enum hd_reading reading;
    struct hd_triple_decision *decision; /* one for each item */
    struct hd_predict_stats *stats;
};

/* ---- what needs no asking ---------------------------------------------------------------------
 */

struct hd_triple hd_triples_nearest(const struct hd_triples *triples, uint32_t group) {
    const struct hd_triple_group *each = &triples->group.data[group];
    const struct hd_triple_bundle *bundle = &triples->bundle.data[each->start];
    struct hd_triple best = {bundle->pair.first, bundle->remote, bundle->pair.second,
                             bundle->location};
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

/* The trace up to k, which is next. */
static bool keep_trace_order(uint32_t second, struct hd_kept_witness *kept) {
    *kept = (struct hd_kept_witness){.next = 1, .runs = 1};
    kept->run = malloc(sizeof *kept->run);
    if (kept->run == NULL) return false;
    kept->run[0] = (struct hd_span){0, second + 1};
    return true;
}

static bool take_observed(struct hd_triple_decision *decision, const struct hd_triple *triple) {
    decision->triple = *triple;
    decision->verdict = HD_FEASIBLE;
    decision->observed = true;
    return keep_trace_order(triple->second, &decision->witness);
}

/* ---- with the engine --------------------------------------------------------------------------
 */

static void *begin(void *context) {
    const struct work *work = context;
    return hd_triple_asker_new(work->triples, work->ground, work->branches, work->reading,
                               work->options->relax_branches, work->options->budget);
}

static void end(void *context, void *own) {
    struct work *work = context;
    hd_triple_asker_stats(own, work->stats);
    hd_triple_asker_free(own);
}

static bool ask_item(void *context, void *own, uint32_t item, struct hd_error *error) {
    struct work *work = context;
    struct hd_triple_decision *decision = &work->decision[item];
    if (decision->observed) return true;
    return work->options->instances ? hd_triple_ask(own, decision, error)
                                    : hd_triple_ask_group(own, decision, error);
}

static bool ask_all(struct work *work, uint32_t items, struct hd_error *error) {
    struct hd_crew crew = {.items = items,
                           .jobs = work->options->jobs,
                           .what = "deciding",
                           .progress = work->options->progress,
                           .context = work,
                           .begin = begin,
                           .work = ask_item,
                           .end = end};
    unsigned jobs = 0;
    bool done = hd_crew_run(&crew, &jobs, error);
    if (jobs > work->stats->jobs) work->stats->jobs = jobs;
    return done;
}

/* ---- AVFilter ---------------------------------------------------------------------------------
 */

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
    uint32_t thread, bundle;
};

static int compare_by_thread(const void *left, const void *right) {
    const struct by_thread *a = left, *b = right;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    return a->bundle < b->bundle ? -1 : a->bundle > b->bundle;
}

/* Thread by thread, since the filter knows one local thread at a time. */
static bool filter_groups(struct work *work, struct hd_avfilter *filter, struct hd_error *error) {
    const struct hd_triples *triples = work->triples;
    size_t count = triples->bundle.size;
    struct by_thread *sorted = malloc((count + 1) * sizeof *sorted);
    if (sorted == NULL) return hd_fail(error, HD_ERR_MEMORY, "out of memory");
    for (size_t b = 0; b < count; b++)
        sorted[b] = (struct by_thread){triples->pairs.data[triples->bundle.data[b].pairs].thread,
                                       (uint32_t)b};
    if (count > 1) qsort(sorted, count, sizeof *sorted, compare_by_thread);
    bool done = true;
    for (size_t b = 0; done && b < count; b++) {
        struct hd_triple_decision *decision =
            &work->decision[triples->bundle.data[sorted[b].bundle].group];
        if (decision->verdict != HD_INFEASIBLE) continue;
        done = hd_avfilter_begin(filter, sorted[b].thread, error);
        work->stats->checks++;
        if (done && filter_keeps(filter, triples, sorted[b].bundle, &decision->triple))
            decision->verdict = HD_POSSIBLE;
    }
    free(sorted);
    return done;
}

static bool filter_instances(struct work *work, struct hd_avfilter *filter, uint32_t items,
                             struct hd_error *error) {
    for (uint32_t n = 0; n < items; n++) {
        struct hd_triple_decision *decision = &work->decision[n];
        if (decision->observed) continue;
        if (!hd_avfilter_begin(filter, work->triples->model->thread[decision->triple.first], error))
            return false;
        work->stats->checks++;
        if (!hd_avfilter_rejects(filter, &decision->triple)) decision->verdict = HD_POSSIBLE;
    }
    return true;
}

static bool filter_all(struct work *work, uint32_t items, struct hd_error *error) {
    struct hd_avfilter *filter = hd_avfilter_new(work->triples->model, work->branches, error);
    if (filter == NULL) return false;
    if (work->stats->jobs < 1) work->stats->jobs = 1;
    bool done = work->options->instances ? filter_instances(work, filter, items, error)
                                         : filter_groups(work, filter, error);
    hd_avfilter_free(filter);
    return done;
}

/* ---- the whole --------------------------------------------------------------------------------
 */

static bool list_groups(const struct hd_triples *triples, struct hd_triple_decisions *decisions) {
    for (uint32_t g = 0; g < triples->group.size; g++) {
        struct hd_triple_decision decision = {.group = g};
        struct hd_triple observed;
        if (hd_triples_observed(triples, g, &observed)) {
            if (!take_observed(&decision, &observed)) return false;
        } else
            decision.triple = hd_triples_nearest(triples, g);
        if (!hd_vector_push(&decisions->list, decision)) {
            hd_kept_witness_free(&decision.witness);
            return false;
        }
    }
    return true;
}

static int compare_instances(const void *left, const void *right) {
    const struct hd_triple_decision *a = left, *b = right;
    const uint32_t x[] = {a->group, a->triple.first, a->triple.remote, a->triple.second};
    const uint32_t y[] = {b->group, b->triple.first, b->triple.remote, b->triple.second};
    for (unsigned i = 0; i < 4; i++)
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return 0;
}

static bool list_bundle(const struct hd_triples *triples, uint32_t bundle,
                        struct hd_triple_decisions *decisions) {
    struct hd_bundle_lists lists = hd_bundle_lists(triples, bundle);
    struct hd_triple_limits limits = hd_must_limits(triples);
    for (uint32_t n = 0, from = 0, to = 0; n < lists.pairs && from < lists.remotes; n++) {
        hd_triple_window(&limits, &lists, n, &from, &to);
        for (uint32_t at = from; at < to; at++) {
            struct hd_triple triple = {lists.pair[n].first, lists.remote[at], lists.pair[n].second,
                                       lists.location};
            struct hd_triple_decision decision = {.group = triples->bundle.data[bundle].group,
                                                  .triple = triple};
            if (triple.first < triple.remote && triple.remote < triple.second &&
                !take_observed(&decision, &triple))
                return false;
            if (!hd_vector_push(&decisions->list, decision)) {
                hd_kept_witness_free(&decision.witness);
                return false;
            }
        }
    }
    return true;
}

/* Every triple of events once, also if it is found at several locations. */
static bool list_instances(const struct hd_triples *triples,
                           struct hd_triple_decisions *decisions) {
    for (uint32_t b = 0; b < triples->bundle.size; b++)
        if (!list_bundle(triples, b, decisions)) return false;
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
    return true;
}

bool hd_triples_decide(const struct hd_triples *triples, const struct hd_ground *ground,
                       const struct hd_branches *branches, enum hd_method method,
                       const struct hd_predict_options *options,
                       struct hd_triple_decisions *decisions, struct hd_predict_stats *stats,
                       struct hd_error *error) {
    memset(decisions, 0, sizeof *decisions);
    bool done =
        options->instances ? list_instances(triples, decisions) : list_groups(triples, decisions);
    uint32_t items = (uint32_t)decisions->list.size;
    if (!done || decisions->list.size >= UINT32_MAX) {
        hd_triple_decisions_free(decisions);
        return hd_fail(error, HD_ERR_MEMORY, "out of memory: too many candidates");
    }
    struct work work = {.triples = triples,
                        .ground = ground,
                        .branches = branches,
                        .options = options,
                        .reading = method == HD_METHOD_UA ? HD_UA : options->reading,
                        .decision = decisions->list.data,
                        .stats = stats};
    if (method == HD_METHOD_OA) {
        for (uint32_t n = 0; n < items; n++)
            if (!work.decision[n].observed) work.decision[n].verdict = HD_POSSIBLE;
    } else if (method == HD_METHOD_AVFILTER)
        done = filter_all(&work, items, error);
    else
        done = ask_all(&work, items, error);
    if (!done) hd_triple_decisions_free(decisions);
    return done;
}

void hd_triple_decisions_free(struct hd_triple_decisions *decisions) {
    for (size_t i = 0; i < decisions->list.size; i++)
        hd_kept_witness_free(&decisions->list.data[i].witness);
    hd_vector_free(&decisions->list);
}
