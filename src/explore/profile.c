/* Profiling runs (CTrigger, step 1): the program recorded under serial, first in its plain order,
 * then with random turns, until new runs bring nothing new. */
#include "explore/strategy.h"

#include <string.h>

#define STABLE 2 /* runs without news */

bool hd_campaign_add_profile(struct hd_campaign *c, const struct hd_result *run) {
    struct hd_model model;
    struct hd_error ignored;
    /* A run without a usable trace tells nothing; the others may. */
    if (!hd_model_load(run->trace_path, NULL, &(struct hd_model_options){.lenient = true}, &model,
                       &ignored))
        return true;
    struct hd_describe *describe = hd_describe_open(&model);
    uint32_t news;
    bool good = hd_profile_add(&c->profile, &model, describe, c->options->pruning, &news, c->error);
    if (good && c->options->strategy == HD_STRATEGY_CTRIGGER)
        good = hd_profile_add_pairs(&c->profile, &model, describe, c->error);
    if (!good) c->broken = true;
    c->at = news; /* for the loop below */
    hd_describe_close(describe);
    hd_model_free(&model);
    return good;
}

enum hd_step hd_campaign_profile(struct hd_campaign *c,
                                 bool (*look)(struct hd_campaign *, const struct hd_result *)) {
    uint32_t quiet = 0;
    for (uint32_t i = 0; i < c->options->profile_runs && quiet < STABLE; i++) {
        struct hd_steering steering = {.strategy = c->options->strategy,
                                       .scheduler = HD_SCHED_SERIAL,
                                       .policy = i == 0 ? HD_POLICY_ROUND_ROBIN : HD_POLICY_RANDOM,
                                       .seed = c->options->seed + i};
        if (i > 0) { /* some dozen turns for each thread */
            uint64_t share = c->profile.calls / (c->profile.threads + 1) / 16;
            steering.quantum = share < 1 ? 1 : share > 100000 ? 100000 : (uint32_t)share;
        }
        c->at = 0;
        enum hd_step step = hd_campaign_step(c, &steering, true, look, NULL);
        if (step != HD_STEP_PASSED) return step;
        quiet = c->at == 0 ? quiet + 1 : 0;
        c->status.total = (uint32_t)c->profile.list.size;
    }
    c->at = 0;
    return HD_STEP_PASSED;
}
