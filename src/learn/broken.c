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
