/* Runs every method on one set of candidates. */
#include "predict/compare.h"

#include <string.h>

static const struct {
    enum hd_method method;
    enum hd_reading reading;
} compared[HD_COMPARED] = {{HD_METHOD_LOCKSET, HD_CSR}, {HD_METHOD_HB, HD_CSR},
                           {HD_METHOD_CP, HD_CSR},      {HD_METHOD_UCG, HD_CSR},
                           {HD_METHOD_POLY, HD_CSR},    {HD_METHOD_POLY, HD_CDSR}};

static bool run_method(struct hd_predict *predict, const struct hd_conflicts *candidates,
                       unsigned index, struct hd_comparison *comparison, struct hd_error *error) {
    const struct hd_predict_options *options = &predict->options;
    struct hd_compared *result = &comparison->method[index];
    struct hd_predict_stats stats = {0};
    struct hd_decisions decisions = {0};
    struct hd_court court = {0};
    double start = hd_seconds_now();
    bool done =
        hd_court_open(&court, candidates, compared[index].method, compared[index].reading,
                      options->budget, error) &&
        hd_decide(&court, options->jobs, false, options->progress, &decisions, &stats, error);
    result->engine = hd_engine_name(compared[index].method, compared[index].reading);
    result->seconds = hd_seconds_now() - start;
    for (size_t i = 0; done && i < decisions.list.size; i++) {
        const struct hd_decision *decision = &decisions.list.data[i];
        struct hd_compared_group *group = &comparison->group.data[decision->group];
        group->verdict[index] = (uint8_t)decision->verdict;
        result->races += decision->verdict == HD_FEASIBLE || decision->verdict == HD_POSSIBLE;
        result->undecided += decision->verdict == HD_UNDECIDED;
        /* what to show of the pair: what the last, exact method settled on */
        group->pair = decision->pair;
    }
    /* the methods that are an order answer one question a group */
    result->checks = stats.checks > 0 ? stats.checks : decisions.list.size;
    if (result->checks > 0) result->check_seconds = result->seconds / (double)result->checks;
    hd_decisions_free(&decisions);
    hd_court_close(&court);
    return done;
}

bool hd_compare_races(struct hd_predict *predict, struct hd_comparison *comparison,
                      struct hd_error *error) {
    struct hd_conflicts candidates;
    memset(comparison, 0, sizeof *comparison);
    /* The segments of CDSR are the finer ones and serve every method. */
    if (!hd_conflicts_build(predict->model, HD_CDSR, predict->options.progress, &candidates, error))
        return false;
    size_t groups = candidates.group.size;
    bool done = hd_vector_reserve(&comparison->group, groups) ||
                hd_fail(error, HD_ERR_MEMORY, "out of memory");
    if (done && groups > 0) {
        comparison->group.size = groups;
        memset(comparison->group.data, 0, groups * sizeof *comparison->group.data);
    }
    for (unsigned i = 0; done && i < HD_COMPARED; i++)
        done = run_method(predict, &candidates, i, comparison, error);
    predict->stats.groups = groups;
    hd_conflicts_free(&candidates);
    if (!done) hd_comparison_free(comparison);
    return done;
}

void hd_comparison_free(struct hd_comparison *comparison) { hd_vector_free(&comparison->group); }
