/* Runs every method on one set of candidate triples. */
#include "methods/atomicity_compare.h"

#include "methods/methods.h"
#include "predict/atomicity_decide.h"

#include <string.h>

static const struct hd_method *const compared[HD_ATOMICITY_COMPARED] = {
    &hd_method_oa, &hd_method_ua, &hd_method_avfilter, &hd_method_poly};
enum { EXACT = HD_ATOMICITY_COMPARED - 1 };

static bool is_kept(uint8_t verdict) { return verdict == HD_FEASIBLE || verdict == HD_POSSIBLE; }

static bool run_method(struct hd_predict *predict, const struct hd_triples *triples,
                       const struct hd_branches *branches, unsigned index,
                       struct hd_atomicity_comparison *comparison, struct hd_error *error) {
    struct hd_atomicity_compared *result = &comparison->method[index];
    struct hd_predict_options options = predict->options;
    struct hd_predict_stats stats = {0};
    struct hd_triple_decisions decisions;
    double start = hd_seconds_now();
    options.instances = false;
    const struct hd_engine_base *base =
        compared[index]->atomicity->needs_engine ? hd_engine_base(predict->analysis) : NULL;
    struct hd_triple_task task = {.triples = triples,
                                  .base = base,
                                  .branches = branches,
                                  .options = &options,
                                  .stats = &stats};
    bool done = hd_triples_decide(&task, compared[index]->atomicity, &decisions, error);
    result->engine = hd_method_full_name(compared[index], options.reading);
    result->seconds += hd_seconds_now() - start;
    result->checks = stats.asked.checks;
    for (size_t i = 0; i < decisions.list.size; i++) {
        const struct hd_triple_decision *decision = &decisions.list.data[i];
        struct hd_atomicity_compared_group *group = &comparison->group.data[decision->group];
        group->verdict[index] = (uint8_t)decision->verdict;
        group->triple = decision->triple;
        group->observed = decision->observed;
        group->pattern = triples->group.data[decision->group].pattern;
        result->kept += is_kept(group->verdict[index]);
        result->undecided += decision->verdict == HD_UNDECIDED;
    }
    hd_triple_decisions_free(&decisions);
    return done;
}

static void count_errors(struct hd_atomicity_comparison *comparison) {
    for (size_t g = 0; g < comparison->group.size; g++) {
        const struct hd_atomicity_compared_group *group = &comparison->group.data[g];
        comparison->observed += group->observed;
        for (unsigned m = 0; m < HD_ATOMICITY_COMPARED; m++) {
            comparison->method[m].wrong +=
                is_kept(group->verdict[m]) && group->verdict[EXACT] == HD_INFEASIBLE;
            comparison->method[m].lost +=
                group->verdict[m] == HD_INFEASIBLE && group->verdict[EXACT] == HD_FEASIBLE;
        }
    }
}

bool hd_compare_atomicity(struct hd_predict *predict, struct hd_atomicity_comparison *comparison,
                          struct hd_error *error) {
    const struct hd_predict_options *options = &predict->options;
    memset(comparison, 0, sizeof *comparison);
    const struct hd_branches *branches = hd_branches(predict->analysis, options->branches);
    double start = hd_seconds_now();
    const struct hd_triples *triples = hd_triples(predict->analysis, options->all_patterns);
    comparison->method[0].seconds = hd_seconds_now() - start;
    size_t groups = triples->group.size;
    hd_vector_reserve(&comparison->group, groups);
    comparison->group.size = groups;
    if (groups > 0) memset(comparison->group.data, 0, groups * sizeof *comparison->group.data);
    bool done = true;
    for (unsigned m = 0; done && m < HD_ATOMICITY_COMPARED; m++)
        done = run_method(predict, triples, branches, m, comparison, error);
    if (done) count_errors(comparison);
    predict->stats.groups = groups;
    if (!done) hd_atomicity_comparison_free(comparison);
    return done;
}

void hd_atomicity_comparison_free(struct hd_atomicity_comparison *comparison) {
    hd_vector_free(&comparison->group);
}
