/* Facts found once: see analysis.h. */
#include "facts/analysis.h"

/* The last one first: a fact may point into those that were there before it. */
static void free_facts(struct hd_analysis *analysis, bool small) {
    for (size_t i = analysis->fact.size; i-- > 0;) {
        struct hd_fact *fact = &analysis->fact.data[i];
        if (fact->kind->small && !small) continue;
        fact->kind->free(fact->value);
        fact->kind = NULL;
    }
    size_t kept = 0;
    for (size_t i = 0; i < analysis->fact.size; i++)
        if (analysis->fact.data[i].kind != NULL)
            analysis->fact.data[kept++] = analysis->fact.data[i];
    analysis->fact.size = kept;
}

void hd_analysis_shrink(struct hd_analysis *analysis) { free_facts(analysis, false); }

void *hd_analysis_fact(struct hd_analysis *analysis, const struct hd_fact_kind *kind,
                       unsigned variant) {
    for (size_t i = 0; i < analysis->fact.size; i++) {
        const struct hd_fact *fact = &analysis->fact.data[i];
        if (fact->kind == kind && fact->variant == variant) return fact->value;
    }
    struct hd_fact made = {kind, variant, kind->build(analysis, variant)};
    hd_vector_push(&analysis->fact, made);
    if (kind->small && analysis->lean) hd_analysis_shrink(analysis);
    return made.value;
}

void hd_analysis_free(struct hd_analysis *analysis) {
    free_facts(analysis, true);
    hd_vector_free(&analysis->fact);
}
