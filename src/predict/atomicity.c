/* Atomicity violations: from decided triples to findings. */
#include "predict/atomicity_decide.h"
#include "predict/intent.h"
#include "predict/predict.h"

#include <stdio.h>
#include <string.h>

/* ---- words ------------------------------------------------------------------------------------
 */

static const char *at(struct hd_findings *findings, const struct hd_finding_event *event) {
    if (*event->site == '\0') return "";
    return hd_finding_text(findings, " at %s", hd_finding_short_site(event->site));
}

/* "T2 holds m", "T2 holds no lock" */
static const char *locks_of(struct hd_findings *findings, const struct hd_finding_event *event) {
    char text[512];
    size_t used = (size_t)snprintf(text, sizeof text, "%s holds ", event->thread);
    if (event->locks == 0 && used < sizeof text)
        snprintf(text + used, sizeof text - used, "no lock");
    for (uint32_t i = 0; i < event->locks && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s%s", i > 0 ? " and " : "",
                                 event->lock[i].name, event->lock[i].reading ? " for reading" : "");
    return hd_finding_text(findings, "%s", text);
}

static bool holds(const struct hd_finding_event *event, const char *lock) {
    for (uint32_t i = 0; i < event->locks; i++)
        if (strcmp(event->lock[i].name, lock) == 0) return true;
    return false;
}

/* A lock that all three accesses hold: each has a section of its own. */
static const char *common_lock(const struct hd_finding *finding) {
    for (uint32_t i = 0; i < finding->event[0].locks; i++) {
        const char *name = finding->event[0].lock[i].name;
        if (holds(&finding->event[1], name) && holds(&finding->event[2], name)) return name;
    }
    return NULL;
}

static const char *why_not_apart(struct hd_findings *findings, const struct hd_finding *finding) {
    const char *lock = common_lock(finding);
    if (lock != NULL)
        return hd_finding_text(findings,
                               "All three hold %s, but the two accesses of %s are in different "
                               "critical sections",
                               lock, finding->event[0].thread);
    return hd_finding_text(findings, "Nothing keeps it out (%s)",
                           locks_of(findings, &finding->event[1]));
}

static const char *conclusion(struct hd_findings *findings, const struct hd_finding *finding,
                              enum hd_pattern pattern) {
    const struct hd_finding_event *i = &finding->event[0], *j = &finding->event[1],
                                  *k = &finding->event[2];
    switch (finding->verdict) {
    case HD_VERDICT_FEASIBLE:
        return hd_finding_text(findings,
                               "%s %s %s%s between two accesses of %s, which %s it%s and then %s "
                               "it%s: %s. %s.",
                               j->thread, j->verb, finding->variable, at(findings, j), i->thread,
                               i->verb, at(findings, i), k->verb, at(findings, k),
                               hd_pattern_wrong(pattern), why_not_apart(findings, finding));
    case HD_VERDICT_POSSIBLE:
        if (finding->witness_spans > 0)
            return hd_finding_text(
                findings,
                "%s %s %s%s between two accesses of %s, which %s it%s and then %s it%s: %s. This "
                "takes a read to see another value than it did; no branch follows that read, but "
                "what the threads do next may still depend on it.",
                j->thread, j->verb, finding->variable, at(findings, j), i->thread, i->verb,
                at(findings, i), k->verb, at(findings, k), hd_pattern_wrong(pattern));
        return hd_finding_text(findings,
                               "Engine %s finds nothing that keeps %s out between the two accesses "
                               "of %s, but has no schedule to show.",
                               finding->engine, j->thread, i->thread);
    case HD_VERDICT_UNDECIDED:
        return hd_finding_text(findings, "The budget ran out before this was decided.");
    default:
        return hd_finding_text(findings,
                               "No correct reordering of this trace brings the access of %s "
                               "between the two of %s.",
                               j->thread, i->thread);
    }
}

/* ---- findings ---------------------------------------------------------------------------------
 */

static bool is_found(enum hd_verdict verdict) {
    return verdict == HD_FEASIBLE || verdict == HD_POSSIBLE;
}

struct reporter {
    struct hd_predict *predict;
    const struct hd_triples *triples;
    struct hd_intent *intent;
    struct hd_findings *findings;
};

static void add_finding(struct reporter *reporter, const struct hd_triple_decision *decision,
                        const struct hd_intent_verdict *verdict) {
    struct hd_predict *predict = reporter->predict;
    struct hd_findings *findings = reporter->findings;
    const struct hd_predict_options *options = &predict->options;
    const struct hd_triple_group *group = &reporter->triples->group.data[decision->group];
    const struct hd_triple *triple = &decision->triple;
    uint32_t event[3] = {triple->first, triple->remote, triple->second};
    struct hd_finding draft = {
        .kind = HD_FINDING_ATOMICITY,
        .verdict = (enum hd_finding_verdict)decision->verdict,
        .engine = hd_engine_name(options->method, options->reading),
        .instances =
            options->instances ? 1 : hd_triples_instances(reporter->triples, decision->group),
        .pattern = hd_pattern_name(group->pattern),
        .threads_involved = 2,
        .accesses_involved = 3,
        .variables_involved = 1,
        .observed = decision->observed,
        .harm = verdict->harm,
        .score = verdict->score,
        .ranking = hd_finding_text(findings, "%s", verdict->words),
        .repair = "lock strategy: one critical section around the accesses that belong together; "
                  "or design change: one atomic operation, or a value of its own; or condition "
                  "check: look again before the second access"};
    hd_finding_set_events(findings, &draft, predict->describe, predict->model, event, 3);
    draft.variable = hd_finding_text(
        findings, "%s", hd_describe_location(predict->describe, triple->location, HD_SHORT));
    if (decision->witness.runs > 0)
        hd_finding_set_witness(findings, &draft, predict->describe, predict->model,
                               decision->witness.run, decision->witness.runs,
                               decision->witness.next);
    draft.conclusion = conclusion(findings, &draft, group->pattern);
    hd_finding_add(findings, &draft);
}

static bool report_one(struct reporter *reporter, const struct hd_triple_decision *decision) {
    const struct hd_predict_options *options = &reporter->predict->options;
    struct hd_finding_summary *summary = &reporter->findings->summary;
    struct hd_intent_verdict verdict = {0};
    bool found = is_found(decision->verdict);
    summary->candidates++;
    summary->verdict[decision->verdict]++;
    if (!found && !options->all) return true;
    if (!hd_intent_judge(reporter->intent, decision, &verdict)) return false;
    if (!options->all && verdict.harm != HD_HARM_LIKELY) {
        summary->hidden++;
        return true;
    }
    add_finding(reporter, decision, &verdict);
    return true;
}

static bool report(struct hd_predict *predict, const struct hd_triples *triples,
                   const struct hd_branches *branches, const struct hd_triple_decisions *decisions,
                   struct hd_findings *findings, struct hd_error *error) {
    struct reporter reporter = {predict, triples, NULL, findings};
    reporter.intent = hd_intent_new(predict, triples, branches, error);
    if (reporter.intent == NULL) return false;
    bool done = true;
    for (size_t i = 0; done && i < decisions->list.size; i++)
        done = report_one(&reporter, &decisions->list.data[i]);
    hd_intent_free(reporter.intent);
    return done || hd_fail(error, HD_ERR_MEMORY, "out of memory");
}

bool hd_predict_atomicity(struct hd_predict *predict, struct hd_findings *findings,
                          struct hd_error *error) {
    const struct hd_predict_options *options = &predict->options;
    struct hd_predict_stats *stats = &predict->stats;
    struct hd_triples triples;
    struct hd_branches branches = {0};
    struct hd_triple_decisions decisions = {0};
    struct hd_ground *ground = NULL;
    double start = hd_seconds_now();
    if (!hd_branches_build(predict->model, options->branches, &branches, error)) return false;
    if (!hd_triples_build(predict->model, HD_CDSR, options->all_patterns, options->progress,
                          &triples, error)) {
        hd_branches_free(&branches);
        return false;
    }
    double listed = hd_seconds_now();
    stats->groups += triples.group.size;
    bool done = true;
    if (options->method == HD_METHOD_POLY || options->method == HD_METHOD_UA) {
        ground = hd_ground_build(predict->model);
        if (ground == NULL) done = hd_fail(error, HD_ERR_MEMORY, "out of memory");
    }
    double prepared = hd_seconds_now();
    done = done && hd_triples_decide(&triples, ground, &branches, options->method, options,
                                     &decisions, stats, error);
    double decided = hd_seconds_now();
    done = done && report(predict, &triples, &branches, &decisions, findings, error);
    stats->candidate_seconds += listed - start;
    stats->prepare_seconds += prepared - listed;
    stats->decide_seconds += decided - prepared;
    stats->report_seconds += hd_seconds_now() - decided;
    hd_triple_decisions_free(&decisions);
    if (ground != NULL) hd_ground_free(ground);
    hd_triples_free(&triples);
    hd_branches_free(&branches);
    return done;
}
