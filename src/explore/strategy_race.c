/* The race strategy (as RaceFuzzer does it): pairs of accesses that may race by their locksets, in
 * profiled runs; one thread is suspended before its access until another comes to the other one,
 * and then lets that go first. Each pair is tried both ways. A pair is kept as an interleaving
 * without a P. */
#include "explore/strategy.h"

#include "facts/conflicts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 4

static bool add_pair(struct hd_campaign *c, uint32_t first, uint32_t second, uint32_t location,
                     const struct hd_model *model, struct hd_describe *describe) {
    struct hd_interleaving pair = {
        .c = hd_place_of_event(&c->profile.places, model, describe, first),
        .r = hd_place_of_event(&c->profile.places, model, describe, second)};
    if (pair.c == 0 || pair.r == 0) return true;
    uint32_t *slot = hd_map_slot(&c->profile.number, (uint64_t)pair.c << 32 | pair.r, UINT32_MAX);
    if (slot == NULL) return false;
    if (*slot != UINT32_MAX) return true;
    pair.c_stop = pair.c;
    pair.r_stop = pair.r;
    pair.c_thread = model->thread[first];
    pair.r_thread = model->thread[second];
    snprintf(pair.variable, sizeof pair.variable, "%s",
             hd_describe_location(describe, location, HD_SHORT));
    *slot = (uint32_t)c->profile.list.size;
    c->at++; /* news */
    return hd_vector_push(&c->profile.list, pair);
}

static bool look(struct hd_campaign *c, const struct hd_result *run) {
    struct hd_model model;
    struct hd_error ignored;
    if (!hd_model_load(run->trace_path, NULL, &(struct hd_model_options){.lenient = true}, &model,
                       &ignored))
        return true;
    struct hd_describe *describe = hd_describe_open(&model);
    struct hd_conflicts candidates;
    bool good = hd_conflicts_build(&model, HD_CSR, NULL, &candidates, c->error);
    if (good) {
        for (size_t i = 0; good && i < candidates.group.size; i++) {
            const struct hd_conflict_bundle *bundle =
                &candidates.bundle.data[candidates.group.data[i].start];
            good =
                add_pair(c, bundle->event[0], bundle->event[1], bundle->location, &model,
                         describe) &&
                add_pair(c, bundle->event[1], bundle->event[0], bundle->location, &model, describe);
        }
        if (!good) hd_fail(c->error, HD_ERR_MEMORY, "out of memory");
        hd_conflicts_free(&candidates);
    }
    if (!good) c->broken = true;
    c->profile.runs++;
    uint64_t calls = model.trace->hook_calls;
    if (calls > c->profile.calls) c->profile.calls = calls;
    if (model.threads > c->profile.threads) c->profile.threads = model.threads;
    hd_describe_close(describe);
    hd_model_free(&model);
    return good;
}

enum hd_step hd_race_prepare(struct hd_campaign *c) {
    enum hd_step step = hd_campaign_profile(c, look);
    if (step != HD_STEP_PASSED) return step;
    c->count = (uint32_t)c->profile.list.size;
    c->status.total = c->count;
    c->order = malloc(((size_t)c->count + 1) * sizeof *c->order);
    if (c->order == NULL) {
        c->broken = !hd_fail(c->error, HD_ERR_MEMORY, "out of memory");
        return HD_STEP_OVER;
    }
    for (uint32_t i = 0; i < c->count; i++) c->order[i] = i;
    return HD_STEP_PASSED;
}

bool hd_race_next(struct hd_campaign *c, struct hd_steering *s) {
    if (c->at == c->count) {
        c->at = 0;
        c->pass++;
    }
    if (c->count == 0 || c->pass == ROUNDS) return false;
    s->scheduler = HD_SCHED_FREE;
    s->policy = HD_POLICY_FORCE;
    s->timeout_us = c->options->timeout_ms * 1000 * (c->pass + 1);
    s->timeouts = 3;
    s->hits = 8;
    c->chosen.size = 0;
    const struct hd_interleaving *pair = &c->profile.list.data[c->at];
    struct hd_force_target target = hd_interleaving_target(pair, c->options->context);
    target.skip = c->pass;
    snprintf(c->best, sizeof c->best, "%s", pair->variable);
    return hd_vector_push(&s->target, target) && hd_vector_push(&c->chosen, c->at++);
}
