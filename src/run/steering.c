/* What a strategy chose for a run, as a control for it. See steering.h. */
#include "run/steering.h"

#include <stdlib.h>
#include <string.h>

const char *hd_strategy_name(enum hd_strategy strategy) {
    static const char *const name[] = {
#define X(strategy_name, word, about) word,
        HD_STRATEGIES(X)
#undef X
    };
    return strategy < HD_STRATEGY_COUNT ? name[strategy] : "";
}

void hd_steering_free(struct hd_steering *steering) {
    hd_vector_free(&steering->target);
    memset(steering, 0, sizeof *steering);
}

bool hd_steering_copy(struct hd_steering *to, const struct hd_steering *from) {
    struct hd_steering copy = *from;
    memset(&copy.target, 0, sizeof copy.target);
    for (size_t i = 0; i < from->target.size; i++) {
        if (hd_vector_push(&copy.target, from->target.data[i])) continue;
        hd_vector_free(&copy.target);
        return false;
    }
    *to = copy;
    return true;
}

static struct hd_wire_place wire_place(const struct hd_places *places, uint32_t number) {
    const struct hd_place *place = hd_place(places, number);
    if (number == 0) return (struct hd_wire_place){0, 0};
    return (struct hd_wire_place){hd_wire_name_hash(place->module), place->offset};
}

static void *force_plan(const struct hd_steering *s, size_t *bytes) {
    size_t targets = s->target.size < HD_FORCE_MOST ? s->target.size : HD_FORCE_MOST;
    *bytes = sizeof(struct hd_wire_force) + targets * sizeof(struct hd_wire_target);
    struct hd_wire_force *plan = calloc(1, *bytes);
    if (plan == NULL) return NULL;
    plan->targets = (uint32_t)targets;
    plan->timeout_us = s->timeout_us;
    plan->timeouts = s->timeouts;
    plan->hits = s->hits;
    plan->strict = s->strict;
    for (size_t i = 0; i < targets; i++) {
        const struct hd_force_target *from = &s->target.data[i];
        plan->target[i] = (struct hd_wire_target){.p = wire_place(s->places, from->p),
                                                  .c = wire_place(s->places, from->c),
                                                  .r = wire_place(s->places, from->r),
                                                  .c_stop = wire_place(s->places, from->c_stop),
                                                  .r_stop = wire_place(s->places, from->r_stop),
                                                  .c_caller = wire_place(s->places, from->c_caller),
                                                  .r_caller = wire_place(s->places, from->r_caller),
                                                  .c_thread = from->c_thread,
                                                  .r_thread = from->r_thread,
                                                  .skip = from->skip};
    }
    return plan;
}

bool hd_steering_control(const struct hd_steering *steering, struct hd_control *control,
                         void **plan) {
    *control = (struct hd_control){.scheduler = steering->scheduler,
                                   .policy = steering->policy,
                                   .seed = steering->seed,
                                   .quantum = steering->quantum,
                                   .no_trace = true};
    *plan = NULL;
    size_t bytes = 0;
    if (steering->policy == HD_POLICY_FORCE) {
        *plan = force_plan(steering, &bytes);
    } else if (steering->policy == HD_POLICY_PCT) {
        struct hd_wire_pct pct = {.length = steering->length, .depth = steering->depth};
        bytes = sizeof pct;
        *plan = malloc(bytes);
        if (*plan != NULL) memcpy(*plan, &pct, bytes);
    } else if (steering->policy == HD_POLICY_NOISE) {
        struct hd_wire_noise noise = {
            .per_mille = steering->per_mille, .most_us = steering->most_us, .most = steering->most};
        bytes = sizeof noise;
        *plan = malloc(bytes);
        if (*plan != NULL) memcpy(*plan, &noise, bytes);
    } else {
        return true;
    }
    control->plan = *plan;
    control->plan_bytes = bytes;
    return *plan != NULL;
}
