/* Runs every method on one set of candidates. */
#include "methods/race_compare.h"

#include "methods/methods.h"

#include <string.h>

static const struct {
    const struct hd_method *method;
    enum hd_reading reading;
} compared[HD_COMPARED] = {{&hd_method_lockset, HD_CSR}, {&hd_method_hb, HD_CSR},
                           {&hd_method_cp, HD_CSR},      {&hd_method_ucg, HD_CSR},
                           {&hd_method_poly, HD_CSR},    {&hd_method_poly, HD_CDSR}};

static bool run_method(struct hd_predict *predict, const struct hd_conflicts *candidates,
                       unsigned index, struct hd_comparison *comparison, struct hd_error *error) {
    const struct hd_predict_options *options = &predict->options;
    const struct hd_race_method *method = compared[index].method->race;
    struct hd_compared *result = &comparison->method[index];
    struct hd_predict_stats stats = {0};
    struct hd_race_decisions decisions;
    double start = hd_seconds_now();
    const struct hd_engine_base *base =
        method->needs_engine ? hd_engine_base(predict->analysis) : NULL;
    struct hd_race_task task = {.candidates = candidates,
                                .base = base,
                                .reading = compared[index].reading,
                                .budget = options->budget};
    struct hd_race_decider decider = hd_race_decider_new(method, &task);
    bool done = hd_races_decide(&decider, options, false, &decisions, &stats, error);
    result->engine = hd_method_full_name(compared[index].method, compared[index].reading);
    result->seconds = hd_seconds_now() - start;
    for (size_t i = 0; i < decisions.list.size; i++) {
        const struct hd_race_decision *decision = &decisions.list.data[i];
        struct hd_compared_group *group = &comparison->group.data[decision->group];
        group->verdict[index] = (uint8_t)decision->verdict;
        result->races += decision->verdict == HD_FEASIBLE || decision->verdict == HD_POSSIBLE;
        result->undecided += decision->verdict == HD_UNDECIDED;
        /* what to show of the pair: what the last, exact method settled on */
        group->pair = decision->pair;
    }
    /* the methods that are an order answer one question a group */
    result->checks = stats.asked.checks > 0 ? stats.asked.checks : decisions.list.size;
    if (result->checks > 0) result->check_seconds = result->seconds / (double)result->checks;
    hd_race_decisions_free(&decisions);
    hd_race_decider_free(&decider);
    return done;
}

bool hd_compare_races(struct hd_predict *predict, struct hd_comparison *comparison,
                      struct hd_error *error) {
    memset(comparison, 0, sizeof *comparison);
    /* The segments of CDSR are the finer ones and serve every method. */
    const struct hd_conflicts *candidates = hd_conflicts(predict->analysis, HD_CDSR);
    size_t groups = candidates->group.size;
    hd_vector_reserve(&comparison->group, groups);
    comparison->group.size = groups;
    for (size_t g = 0; g < groups; g++) comparison->group.data[g] = (struct hd_compared_group){0};
    bool done = true;
    for (unsigned i = 0; done && i < HD_COMPARED; i++)
        done = run_method(predict, candidates, i, comparison, error);
    predict->stats.groups = groups;
    if (!done) hd_comparison_free(comparison);
    return done;
}

void hd_comparison_free(struct hd_comparison *comparison) { hd_vector_free(&comparison->group); }
