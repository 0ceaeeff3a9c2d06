/* Atomicity violations: from decided triples to findings. */
#include "finding/words.h"
#include "predict/atomicity_decide.h"
#include "predict/intent.h"
#include "predict/predict.h"

/* ---- findings ---------------------------------------------------------------------------------
 */

static bool is_found(enum hd_verdict verdict) {
    return verdict == HD_FEASIBLE || verdict == HD_POSSIBLE;
}

struct reporter {
    struct hd_predict *predict;
    const struct hd_triples *triples;
    struct hd_intent intent;
    struct hd_findings *findings;
};

/* An invariant that it would break. */
static void set_support(struct reporter *reporter, const struct hd_triple *triple,
                        struct hd_finding *draft) {
    const struct hd_invariant *invariant = hd_intent_invariant(&reporter->intent, triple);
    if (invariant == NULL || !hd_invariant_holds(reporter->predict->options.invariants, invariant))
        return;
    char words[256];
    hd_invariant_support(invariant, words, sizeof words);
    draft->support = hd_finding_text(reporter->findings, "%s", words);
}

static void add_finding(struct reporter *reporter, const struct hd_triple_decision *decision,
                        const struct hd_weighing *weighing) {
    struct hd_predict *predict = reporter->predict;
    struct hd_findings *findings = reporter->findings;
    const struct hd_predict_options *options = &predict->options;
    const struct hd_triple_group *group = &reporter->triples->group.data[decision->group];
    const struct hd_triple *triple = &decision->triple;
    uint32_t event[3] = {triple->first, triple->remote, triple->second};
    struct hd_finding draft = {
        .kind = HD_FINDING_ATOMICITY,
        .verdict = (enum hd_finding_verdict)decision->verdict,
        .engine = hd_method_full_name(options->method, options->reading),
        .instances =
            options->instances ? 1 : hd_triples_instances(reporter->triples, decision->group),
        .pattern = hd_pattern_name(group->pattern),
        .threads_involved = 2,
        .accesses_involved = 3,
        .variables_involved = 1,
        .observed = decision->observed,
        .repair = HD_REPAIR_ATOMICITY};
    hd_finding_set_intent(findings, &draft, weighing);
    hd_finding_set_events(findings, &draft, predict->describe, predict->model, event, 3);
    draft.variable = hd_finding_text(
        findings, "%s", hd_describe_location(predict->describe, triple->location, HD_SHORT));
    if (decision->witness.runs > 0)
        hd_finding_set_witness(findings, &draft, predict->describe, predict->model,
                               decision->witness.run, decision->witness.runs,
                               decision->witness.next);
    draft.conclusion = hd_words_atomicity(findings, &draft, hd_pattern_wrong(group->pattern));
    set_support(reporter, triple, &draft);
    hd_finding_add(findings, &draft);
}

static void report_one(struct reporter *reporter, const struct hd_triple_decision *decision) {
    const struct hd_predict_options *options = &reporter->predict->options;
    struct hd_finding_summary *summary = &reporter->findings->summary;
    bool found = is_found(decision->verdict);
    summary->candidates++;
    summary->verdict[decision->verdict]++;
    if (!found && !options->all) return;
    struct hd_weighing weighing = hd_intent_weigh(&reporter->intent, decision);
    if (options->all || hd_weighing_harm(&weighing) == HD_HARM_LIKELY)
        add_finding(reporter, decision, &weighing);
    else
        summary->hidden++;
}

bool hd_predict_atomicity(struct hd_predict *predict, struct hd_findings *findings,
                          struct hd_error *error) {
    const struct hd_predict_options *options = &predict->options;
    struct hd_predict_stats *stats = &predict->stats;
    struct hd_triple_decisions decisions;
    const struct hd_atomicity_method *method = options->method->atomicity;
    double start = hd_seconds_now();
    const struct hd_branches *branches = hd_branches(predict->analysis, options->branches);
    const struct hd_triples *triples = hd_triples(predict->analysis, options->all_patterns);
    double listed = hd_seconds_now();
    stats->groups += triples->group.size;
    findings->summary.left += triples->left;
    const struct hd_engine_base *base =
        method->needs_engine ? hd_engine_base(predict->analysis) : NULL;
    double prepared = hd_seconds_now();
    struct hd_triple_task task = {
        .triples = triples, .base = base, .branches = branches, .options = options, .stats = stats};
    bool done = hd_triples_decide(&task, method, &decisions, error);
    double decided = hd_seconds_now();
    struct reporter reporter = {predict, triples, hd_intent(predict, triples, branches), findings};
    for (size_t i = 0; done && i < decisions.list.size; i++)
        report_one(&reporter, &decisions.list.data[i]);
    stats->candidate_seconds += listed - start;
    stats->prepare_seconds += prepared - listed;
    stats->decide_seconds += decided - prepared;
    stats->report_seconds += hd_seconds_now() - decided;
    hd_triple_decisions_free(&decisions);
    return done;
}
