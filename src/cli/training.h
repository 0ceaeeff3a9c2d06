/* One run to learn from (heddle learn), as a value: how it is steered goes in as bytes, what it
 * taught comes out as bytes. So it can be done here, or anywhere (campaign/errand.h). */
#ifndef HEDDLE_CLI_TRAINING_H
#define HEDDLE_CLI_TRAINING_H

#include "campaign/errand.h"
#include "learn/learner.h"
#include "run/observed.h"

struct hd_training_run {
    bool serial;   /* one thread at a time, under a random schedule; else in parallel */
    uint64_t seed; /* of that schedule */
    uint32_t quantum;
    enum hd_granularity granularity;
};
void hd_training_job(struct hd_packed *to, const struct hd_training_run *run);

/* Does one; the context, which may be NULL, has the rules about variables that belong together
 * (struct hd_correlated_rules). */
bool hd_training_perform(void *context, const struct hd_errand *errand, struct hd_errand_done *done,
                         struct hd_error *error);

/* What came of it. */
struct hd_trained {
    enum hd_outcome_kind outcome;
    uint64_t events;
};
/* Notes what a run taught; `path` names the set of invariants in errors. False: it can't be, or is
 * of another program. */
bool hd_training_take(struct hd_learner *learner, const char *path, const char *result,
                      size_t bytes, struct hd_trained *trained, struct hd_error *error);

#endif
