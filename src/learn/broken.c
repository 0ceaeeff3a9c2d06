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
