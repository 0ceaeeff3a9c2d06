/* A broken invariant as a finding: see broken.h. */
#include "learn/broken.h"

#include "finding/words.h"

#include <string.h>

void hd_broken_finding(struct hd_findings *findings, struct hd_finding *draft,
                       enum hd_pattern pattern, const struct hd_invariant *invariant) {
    draft->kind = HD_FINDING_INVARIANT;
    draft->verdict = HD_VERDICT_CONFIRMED;
    draft->engine = "avio";
    draft->observed = true;
    draft->pattern = hd_pattern_name(pattern);
    draft->threads_involved = 2;
    draft->variables_involved = 1;
    draft->accesses_involved = 3;
    draft->repair = HD_REPAIR_ATOMICITY;
    draft->conclusion = hd_finding_text(findings, "%s: %s.", hd_words_between(findings, draft),
                                        hd_pattern_wrong(pattern));
    if (invariant == NULL) {
        draft->harm = HD_HARM_UNLIKELY;
        draft->ranking = "no invariant says that the two accesses belong together";
        return;
    }
    char support[256];
    hd_invariant_support(invariant, support, sizeof support);
    draft->harm = HD_HARM_ITSELF;
    draft->support = hd_finding_text(findings, "%s", support);
}

static const char *pair_conclusion(struct hd_findings *findings, const struct hd_finding *finding,
                                   enum hd_two_case which) {
    if (which != HD_TWO_CASE_3) return hd_words_correlated(findings, finding);
    const struct hd_finding_event *event = finding->event;
    return hd_finding_text(findings,
                           "%s, and then %s between two accesses of %s, which %s %s and then %s "
                           "%s. %s and %s belong together, but each thread has seen one of them "
                           "before and one after the other thread.",
                           hd_words_step(findings, &event[1], event[1].variable),
                           hd_words_step(findings, &event[2], event[2].variable), event[0].thread,
                           event[0].verb, event[0].variable, event[3].verb, event[3].variable,
                           finding->variables[0], finding->variables[1]);
}

void hd_broken_pair_finding(struct hd_findings *findings, struct hd_finding *draft,
                            enum hd_two_case which, const struct hd_invariant *invariant,
                            bool likely) {
    draft->kind = HD_FINDING_INVARIANT;
    draft->verdict = HD_VERDICT_CONFIRMED;
    draft->engine = "avio";
    draft->observed = true;
    draft->threads_involved = 2;
    draft->variables_involved = 2;
    draft->accesses_involved = 4;
    draft->repair = HD_REPAIR_ATOMICITY;
    draft->conclusion = pair_conclusion(findings, draft, which);
    draft->harm = !likely ? HD_HARM_UNLIKELY : invariant != NULL ? HD_HARM_ITSELF : HD_HARM_LIKELY;
    if (invariant != NULL) {
        char support[256];
        hd_invariant_support(invariant, support, sizeof support);
        draft->support = hd_finding_text(findings, "%s", support);
    } else if (likely) {
        draft->ranking = "a rule says that the two variables belong together";
    } else {
        draft->ranking = "no invariant says that the two accesses belong together";
    }
}

void hd_broken_in_trace(struct hd_findings *findings, const struct hd_model *model,
                        struct hd_describe *describe, const struct hd_invariants *invariants,
                        const struct hd_detected *detected, bool all) {
    struct hd_arena scratch = {0};
    for (size_t i = 0; i < detected->violation.size; i++) {
        const struct hd_detected_violation *v = &detected->violation.data[i];
        struct hd_place place = hd_place_of_event(describe, model, v->second, &scratch);
        const struct hd_invariant *invariant = hd_invariants_holding(invariants, &place, "");
        findings->summary.candidates++;
        if (invariant == NULL && !all) {
            findings->summary.hidden++;
            continue;
        }
        findings->summary.verdict[HD_VERDICT_CONFIRMED]++;
        struct hd_finding draft = {.instances = v->instances};
        uint32_t event[3] = {v->first, v->remote, v->second};
        hd_finding_set_events(findings, &draft, describe, model, event, 3);
        hd_broken_finding(findings, &draft, v->pattern, invariant);
        hd_finding_add(findings, &draft);
    }
    hd_arena_free(&scratch);
}
