/* May a feasible triple be intended (DESIGN section 6, Harm)? A counter under a lock and a polling
 * loop give unserializable triples all day. Signs for and against a bug, weighed and put into
 * words. */
#ifndef HEDDLE_PREDICT_INTENT_H
#define HEDDLE_PREDICT_INTENT_H

#include "predict/atomicity_decide.h"

struct hd_intent_verdict {
    enum hd_finding_harm harm;
    uint32_t score; /* 0..100; HD_INTENT_LIKELY and more: likely */
    char words[512];
};

struct hd_intent;
struct hd_intent *hd_intent_new(const struct hd_predict *predict, const struct hd_triples *triples,
                                const struct hd_branches *branches, struct hd_error *error);
void hd_intent_free(struct hd_intent *intent);

/* False when memory is out. */
bool hd_intent_judge(struct hd_intent *intent, const struct hd_triple_decision *decision,
                     struct hd_intent_verdict *verdict);

#endif
