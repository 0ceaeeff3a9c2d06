/* CTrigger: profile, prune, rank, force (dissertation, chapter 7). The ranked list is gone through
 * several times. First several targets a run, short suspensions: most interleavings that can happen
 * do then. What did not is tried alone, with more patience, and in the context it was profiled in.
 * At last everything again, at later opportunities of the run: an interleaving that did no harm at
 * its first may do so at another. */
#include "explore/strategy.h"

#include <stdio.h>
#include <stdlib.h>

struct pass {
    uint32_t targets;  /* of a run; 0: as the user says */
    uint32_t patience; /* times the user's time-out */
    uint32_t timeouts, hits, skip;
    enum hd_force_strict strict;
    bool context;   /* in the profiled context at least */
    bool exercised; /* also those that came about before */
};
static const struct pass passes[] = {
    {.targets = 0, .patience = 1, .timeouts = 2, .hits = 4},
    {.targets = 1, .patience = 3, .timeouts = 3, .hits = 8},
    {.patience = 2,
     .timeouts = 3,
     .hits = 1,
     .strict = HD_FORCE_R_FIRST,
     .exercised = true,
     .targets = 1},
    {.patience = 2,
     .timeouts = 3,
     .hits = 1,
     .strict = HD_FORCE_C_FIRST,
     .exercised = true,
     .targets = 1},
    {.targets = 1, .patience = 6, .timeouts = 3, .hits = 8, .context = true},
    {.targets = 2, .patience = 2, .timeouts = 3, .hits = 8, .skip = 1, .exercised = true},
    {.targets = 1, .patience = 2, .timeouts = 3, .hits = 8, .skip = 3, .exercised = true},
    {.targets = 1, .patience = 6, .timeouts = 3, .hits = 8, .skip = 7, .exercised = true},
};
#define PASSES (sizeof passes / sizeof *passes)

enum hd_step hd_ctrigger_prepare(struct hd_campaign *c) {
    enum hd_step step = hd_campaign_profile(c, hd_campaign_add_profile);
    if (step != HD_STEP_PASSED) return step;
    c->order = hd_profile_rank(&c->profile, &c->count);
    c->status.total = c->count;
    if (c->order != NULL) return HD_STEP_PASSED;
    c->broken = !hd_fail(c->error, HD_ERR_MEMORY, "out of memory");
    return HD_STEP_OVER;
}

struct hd_force_target hd_interleaving_target(const struct hd_interleaving *it,
                                              enum hd_context context) {
    struct hd_force_target target = {.p = it->p,
                                     .c = it->c,
                                     .r = it->r,
                                     .c_stop = it->c_stop,
                                     .r_stop = it->r_stop,
                                     .c_thread = HD_NONE,
                                     .r_thread = HD_NONE};
    if (context != HD_CONTEXT_NONE) {
        target.c_caller = it->c_caller;
        target.r_caller = it->r_caller;
    }
    if (context == HD_CONTEXT_THREAD) {
        target.c_thread = it->c_thread;
        target.r_thread = it->r_thread;
    }
    return target;
}

bool hd_ctrigger_next(struct hd_campaign *c, struct hd_steering *s) {
    s->scheduler = HD_SCHED_FREE;
    s->policy = HD_POLICY_FORCE;
    c->chosen.size = 0;
    for (; c->pass < PASSES; c->pass++, c->at = 0) {
        const struct pass *pass = &passes[c->pass];
        uint32_t most = pass->targets ? pass->targets : c->options->targets;
        if (most > HD_FORCE_MOST) most = HD_FORCE_MOST;
        enum hd_context context = c->options->context;
        if (pass->context && context == HD_CONTEXT_NONE) context = HD_CONTEXT_CALLER;
        for (; c->at < c->count && c->chosen.size < most; c->at++) {
            struct hd_interleaving *it = &c->profile.list.data[c->order[c->at]];
            if (it->best == HD_FORCE_EXERCISED && !pass->exercised) continue;
            /* Pairs would suspend threads on their way to an interleaving. */
            if (c->chosen.size > 0 &&
                (it->p == 0) != (c->profile.list.data[c->chosen.data[0]].p == 0))
                break;
            struct hd_force_target target = hd_interleaving_target(it, context);
            target.skip = pass->skip;
            if (!hd_vector_push(&s->target, target) || !hd_vector_push(&c->chosen, c->order[c->at]))
                return false;
        }
        if (c->chosen.size == 0) continue;
        s->timeout_us = c->options->timeout_ms * 1000 * pass->patience;
        s->timeouts = pass->timeouts;
        s->hits = pass->hits;
        s->strict = pass->strict;
        hd_interleaving_words(&c->profile.places, &c->profile.list.data[c->chosen.data[0]], c->best,
                              sizeof c->best);
        return true;
    }
    return false;
}

void hd_force_learn(struct hd_campaign *c, const struct hd_steering *steering,
                    const struct hd_result *run) {
    struct hd_wire_force_answer answer;
    _Static_assert(sizeof answer <= sizeof run->answer, "fits");
    __builtin_memcpy(&answer, run->answer, sizeof answer);
    for (size_t i = 0; i < steering->target.size && i < HD_FORCE_MOST; i++) {
        struct hd_interleaving *it = &c->profile.list.data[c->chosen.data[i]];
        if (it->attempts++ == 0) c->status.tried++;
        uint8_t state = answer.state[i];
        if (state <= HD_FORCE_EXERCISED && state > it->best) it->best = state;
    }
}
