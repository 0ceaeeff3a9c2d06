/* Two variables that belong together: from groups to findings. */
#include "predict/correlated.h"

#include "base/alloc.h"
#include "facts/site.h"
#include "finding/words.h"
#include "predict/intent.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { BY_A_RULE = 20 };

/* ---- decisions --------------------------------------------------------------------------------
 */

struct hd_correlated_wanted hd_correlated_wanted(const struct hd_predict *predict, bool remotes) {
    const struct hd_predict_options *options = &predict->options;
    return (struct hd_correlated_wanted){.rules = options->correlations,
                                         .reading = options->reading,
                                         .relaxed = options->relax_branches,
                                         .remotes = remotes};
}

struct hd_correlated_decision *hd_correlated_decide(struct hd_predict *predict,
                                                    const struct hd_method *method,
                                                    const struct hd_correlated_groups *groups,
                                                    struct hd_error *error) {
    struct hd_correlated_decision *decision = hd_zalloc(groups->group.size, sizeof *decision);
    struct hd_correlated_task task = {
        .groups = groups,
        .base = method->correlated->needs_engine ? hd_engine_base(predict->analysis) : NULL,
        .branches = hd_branches(predict->analysis, predict->options.branches),
        .options = &predict->options,
        .stats = &predict->stats,
        .decision = decision};
    if (groups->group.size == 0 || method->correlated->decide(&task, error)) return decision;
    hd_correlated_decisions_free(decision, groups->group.size);
    return NULL;
}

void hd_correlated_decisions_free(struct hd_correlated_decision *decision, size_t count) {
    for (size_t i = 0; i < count; i++) hd_kept_witness_free(&decision[i].witness);
    free(decision);
}

/* ---- runs that passed -------------------------------------------------------------------------
 */

struct reporter {
    struct hd_predict *predict;
    const struct hd_correlated_groups *groups;
    struct hd_findings *findings;
    struct hd_map exercised; /* groups by the source that other runs did and passed */
};

/* What is the same in all runs: what is done to which variables, and where. */
static uint64_t key_of(struct hd_describe *describe, const struct hd_model *model,
                       const uint32_t event[4]) {
    uint64_t site[4];
    for (int i = 0; i < 4; i++) site[i] = hd_site_source(describe, model, event[i]);
    return XXH3_64bits(site, sizeof site);
}

static void learn_from(struct reporter *reporter, struct hd_analysis *analysis) {
    struct hd_correlated_wanted wanted = hd_correlated_wanted(reporter->predict, false);
    struct hd_correlated_groups groups;
    hd_correlated_groups_find(analysis, &wanted, &groups);
    for (size_t g = 0; g < groups.group.size; g++) {
        if (!groups.group.data[g].observed) continue;
        const struct hd_correlated_quad *quad = &groups.quad.data[groups.group.data[g].start];
        uint32_t last = hd_quad_last(quad);
        uint32_t event[4] = {quad->first, quad->inner ^ quad->other ^ last, last, quad->second};
        hd_map_slot(&reporter->exercised, key_of(analysis->describe, analysis->model, event), 1);
    }
    hd_correlated_groups_free(&groups);
}

/* ---- findings ---------------------------------------------------------------------------------
 */

static struct hd_weighing weigh(const struct reporter *reporter,
                                const struct hd_correlated_decision *decision) {
    const struct hd_predict *predict = reporter->predict;
    struct hd_weighing weighing = {.score = HD_INTENT_START};
    const char *exercised = NULL;
    if (decision->observed && hd_run_passed(predict->model))
        exercised = "this run did it and passed";
    else if (decision->events == 4 &&
             hd_map_get(&reporter->exercised,
                        key_of(predict->describe, predict->model, decision->event), 0) != 0)
        exercised = "another run given did it and passed";
    weighing.exercised = exercised != NULL;
    if (exercised != NULL) hd_weigh(&weighing, 0, exercised);
    hd_weigh(&weighing, BY_A_RULE, "a rule says that the two variables belong together");
    return weighing;
}

/* "W(x)-R(x)-R(y)-W(y)": x and y are the two variables. */
static const char *pattern_of(const struct reporter *reporter,
                              const struct hd_correlated_decision *decision) {
    static const char *const does[] = {"", "R", "W", "U"};
    const struct hd_model *model = reporter->predict->model;
    const char *text = "";
    for (uint32_t i = 0; i < decision->events; i++) {
        const uint32_t *list;
        uint32_t count = hd_model_locations(model, decision->event[i], &list);
        bool x = false;
        for (uint32_t k = 0; k < count; k++) x |= list[k] == decision->location[0];
        text = hd_finding_text(reporter->findings, "%s%s%s(%s)", text, i > 0 ? "-" : "",
                               does[hd_access_does(model, decision->event[i])], x ? "x" : "y");
    }
    return text;
}

static void name_variables(struct reporter *reporter, const struct hd_correlated_group *group,
                           const struct hd_correlated_decision *decision,
                           struct hd_finding *draft) {
    struct hd_findings *findings = reporter->findings;
    const struct hd_correlated_rules *rules = reporter->predict->options.correlations;
    const char **name = hd_arena_zalloc(&findings->arena, 2, sizeof *name);
    for (int i = 0; i < 2; i++)
        name[i] = hd_finding_text(findings, "%s", rules->variable.name.data[group->variable[i]]);
    draft->variables = name;
    draft->variable_count = 2;
    draft->variable = hd_finding_text(
        findings, "%s",
        hd_describe_location(reporter->predict->describe, decision->location[0], HD_SHORT));
}

static void add_finding(struct reporter *reporter, uint32_t index,
                        const struct hd_correlated_decision *decision,
                        const struct hd_weighing *weighing) {
    struct hd_predict *predict = reporter->predict;
    struct hd_findings *findings = reporter->findings;
    const struct hd_predict_options *options = &predict->options;
    const struct hd_correlated_group *group = &reporter->groups->group.data[index];
    struct hd_finding draft = {.kind = hd_correlated_kind(options->method),
                               .verdict = (enum hd_finding_verdict)decision->verdict,
                               .engine = hd_method_full_name(options->method, options->reading),
                               .instances = group->instances,
                               .pattern = pattern_of(reporter, decision),
                               .threads_involved = 2,
                               .accesses_involved = decision->events,
                               .variables_involved = 2,
                               .observed = decision->observed,
                               .repair = HD_REPAIR_SECTION};
    hd_finding_set_intent(findings, &draft, weighing);
    hd_finding_set_events(findings, &draft, predict->describe, predict->model, decision->event,
                          decision->events);
    name_variables(reporter, group, decision, &draft);
    if (decision->witness.runs > 0)
        hd_finding_set_witness(findings, &draft, predict->describe, predict->model,
                               decision->witness.run, decision->witness.runs,
                               decision->witness.next);
    draft.conclusion = hd_words_correlated(findings, &draft);
    hd_finding_add(findings, &draft);
}

static void report(struct reporter *reporter, const struct hd_correlated_decision *decision) {
    const struct hd_predict_options *options = &reporter->predict->options;
    struct hd_finding_summary *summary = &reporter->findings->summary;
    for (uint32_t g = 0; g < reporter->groups->group.size; g++) {
        enum hd_verdict verdict = decision[g].verdict;
        bool found = verdict == HD_FEASIBLE || verdict == HD_POSSIBLE;
        summary->candidates++;
        summary->verdict[verdict]++;
        if (decision[g].events == 0 || (!found && !options->all)) continue;
        if (!found && options->found_only) continue;
        struct hd_weighing weighing = weigh(reporter, &decision[g]);
        if (options->all || hd_weighing_harm(&weighing) == HD_HARM_LIKELY)
            add_finding(reporter, g, &decision[g], &weighing);
        else
            summary->hidden++;
    }
}

enum hd_finding_kind hd_correlated_kind(const struct hd_method *method) {
    return method->correlated->needs_remotes ? HD_FINDING_RACE : HD_FINDING_ATOMICITY;
}

bool hd_predict_correlated(struct hd_predict *predict, struct hd_findings *findings,
                           struct hd_error *error) {
    const struct hd_predict_options *options = &predict->options;
    const struct hd_method *method = options->method;
    struct hd_predict_stats *stats = &predict->stats;
    struct hd_correlated_wanted wanted =
        hd_correlated_wanted(predict, method->correlated->needs_remotes);
    struct hd_correlated_groups groups;
    double start = hd_seconds_now();
    hd_correlated_groups_find(predict->analysis, &wanted, &groups);
    stats->groups += groups.group.size;
    double listed = hd_seconds_now();
    struct hd_correlated_decision *decision = hd_correlated_decide(predict, method, &groups, error);
    double decided = hd_seconds_now();
    if (decision != NULL) {
        struct reporter reporter = {predict, &groups, findings, {0}};
        for (uint32_t i = 0; i < options->passings; i++) learn_from(&reporter, options->passing[i]);
        report(&reporter, decision);
        hd_map_free(&reporter.exercised);
        hd_correlated_decisions_free(decision, groups.group.size);
    }
    stats->candidate_seconds += listed - start;
    stats->decide_seconds += decided - listed;
    stats->report_seconds += hd_seconds_now() - decided;
    hd_correlated_groups_free(&groups);
    return decision != NULL;
}
