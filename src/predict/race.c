/* Data races: two accesses that can be next at the same time (DESIGN section 5). */
#include "finding/words.h"
#include "predict/race_decide.h"

/* Is a verdict shown without --all? Methods that can't decide show what they can say. */
static bool is_shown(enum hd_verdict verdict) {
    return verdict == HD_FEASIBLE || verdict == HD_POSSIBLE;
}

static void add_finding(struct hd_predict *predict, const struct hd_race_decision *decision,
                        uint64_t instances, struct hd_findings *findings) {
    const struct hd_predict_options *options = &predict->options;
    uint32_t a = decision->pair.event[0], b = decision->pair.event[1];
    uint32_t event[2] = {a < b ? a : b, a < b ? b : a};
    struct hd_finding draft = {.kind = HD_FINDING_RACE,
                               .verdict = (enum hd_finding_verdict)decision->verdict,
                               .engine = hd_method_full_name(options->method, options->reading),
                               .instances = instances,
                               .threads_involved = 2,
                               .accesses_involved = 2,
                               .variables_involved = 1};
    hd_finding_set_events(findings, &draft, predict->describe, predict->model, event, 2);
    draft.variable = hd_finding_text(
        findings, "%s", hd_describe_location(predict->describe, decision->pair.location, HD_SHORT));
    if (decision->witness.runs > 0)
        hd_finding_set_witness(findings, &draft, predict->describe, predict->model,
                               decision->witness.run, decision->witness.runs,
                               decision->witness.next);
    draft.conclusion = hd_words_race(findings, &draft);
    hd_finding_add(findings, &draft);
}

static void report(struct hd_predict *predict, const struct hd_conflicts *candidates,
                   const struct hd_race_decisions *decisions, struct hd_findings *findings) {
    for (size_t i = 0; i < decisions->list.size; i++) {
        const struct hd_race_decision *decision = &decisions->list.data[i];
        findings->summary.candidates++;
        findings->summary.verdict[decision->verdict]++;
        if (!predict->options.all && !is_shown(decision->verdict)) continue;
        uint64_t instances =
            predict->options.instances ? 1 : hd_conflicts_instances(candidates, decision->group);
        add_finding(predict, decision, instances, findings);
    }
}

/* What only the branch relaxation finds. */
static bool relax(struct hd_predict *predict, const struct hd_race_task *strict,
                  struct hd_race_decisions *decisions, struct hd_error *error) {
    const struct hd_predict_options *options = &predict->options;
    if (!options->relax_branches || options->reading != HD_CDSR || !options->method->exact)
        return true;
    struct hd_race_task task = *strict;
    task.branches = hd_branches(predict->analysis, options->branches)->before;
    struct hd_race_decider decider = hd_race_decider_new(options->method->race, &task);
    bool done =
        hd_races_relax(&decider, options, options->instances, decisions, &predict->stats, error);
    hd_race_decider_free(&decider);
    return done;
}

/* A method that needs no candidates: one pass finds what it reports, and nothing else is said. */
static void stream(struct hd_predict *predict, struct hd_findings *findings) {
    struct hd_predict_stats *stats = &predict->stats;
    struct hd_streamed_races races;
    double start = hd_seconds_now();
    predict->options.method->race->stream(predict->model, predict->options.progress, &races);
    double found = hd_seconds_now();
    for (size_t i = 0; i < races.list.size; i++) {
        const struct hd_streamed_race *race = &races.list.data[i];
        struct hd_race_decision decision = {
            .pair = {{race->event[0], race->event[1]}, race->location}, .verdict = HD_POSSIBLE};
        findings->summary.candidates++;
        findings->summary.verdict[HD_VERDICT_POSSIBLE]++;
        add_finding(predict, &decision, race->instances, findings);
    }
    stats->groups += races.list.size;
    stats->asked.checks += predict->model->events;
    stats->asked.jobs = 1;
    stats->decide_seconds += found - start;
    stats->report_seconds += hd_seconds_now() - found;
    hd_vector_free(&races.list);
}

static bool decide(struct hd_predict *predict, const struct hd_conflicts *candidates,
                   struct hd_findings *findings, struct hd_error *error) {
    const struct hd_predict_options *options = &predict->options;
    struct hd_predict_stats *stats = &predict->stats;
    const struct hd_race_method *method = options->method->race;
    struct hd_race_decisions decisions;
    double start = hd_seconds_now();
    const struct hd_engine_base *base =
        method->needs_engine ? hd_engine_base(predict->analysis) : NULL;
    struct hd_race_task task = {.candidates = candidates,
                                .base = base,
                                .reading = options->reading,
                                .budget = options->budget};
    struct hd_race_decider decider = hd_race_decider_new(method, &task);
    double prepared = hd_seconds_now();
    bool done = hd_races_decide(&decider, options, options->instances, &decisions, stats, error);
    done = done && relax(predict, &task, &decisions, error);
    double decided = hd_seconds_now();
    if (done) report(predict, candidates, &decisions, findings);
    stats->prepare_seconds += prepared - start;
    stats->decide_seconds += decided - prepared;
    stats->report_seconds += hd_seconds_now() - decided;
    hd_race_decisions_free(&decisions);
    hd_race_decider_free(&decider);
    return done;
}

bool hd_predict_races(struct hd_predict *predict, struct hd_findings *findings,
                      struct hd_error *error) {
    const struct hd_predict_options *options = &predict->options;
    if (options->method->race->stream != NULL && !options->instances && !options->all) {
        stream(predict, findings);
        return true;
    }
    double start = hd_seconds_now();
    const struct hd_conflicts *candidates = hd_conflicts(predict->analysis, options->reading);
    predict->stats.candidate_seconds += hd_seconds_now() - start;
    predict->stats.groups += candidates->group.size;
    findings->summary.left += candidates->left;
    return candidates->group.size == 0 || decide(predict, candidates, findings, error);
}
