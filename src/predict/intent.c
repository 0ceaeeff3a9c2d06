/* Signs of intent: see intent.h. */
#include "predict/intent.h"

#include <stdio.h>
#include <stdlib.h>

struct hd_intent {
    const struct hd_predict *predict;
    const struct hd_triples *triples;
    const struct hd_branches *branches;
    bool passed; /* the run did */
};

static bool run_passed(const struct hd_trace_end *end) {
    return !end->signaled && !end->deadlocked && !(end->exited && end->status != 0);
}

struct hd_intent *hd_intent_new(const struct hd_predict *predict, const struct hd_triples *triples,
                                const struct hd_branches *branches, struct hd_error *error) {
    struct hd_intent *intent = calloc(1, sizeof *intent);
    if (intent == NULL) {
        hd_fail(error, HD_ERR_MEMORY, "out of memory");
        return NULL;
    }
    intent->predict = predict;
    intent->triples = triples;
    intent->branches = branches;
    intent->passed = run_passed(&predict->model->trace->end);
    return intent;
}

void hd_intent_free(struct hd_intent *intent) { free(intent); }

bool hd_intent_judge(struct hd_intent *intent, const struct hd_triple_decision *decision,
                     struct hd_intent_verdict *verdict) {
    verdict->harm = decision->observed && intent->passed ? HD_HARM_EXERCISED : HD_HARM_LIKELY;
    verdict->score = 50;
    snprintf(verdict->words, sizeof verdict->words, "%s",
             verdict->harm == HD_HARM_EXERCISED ? "this run did it and passed" : "");
    return true;
}
