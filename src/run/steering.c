/* How a run is steered, as options and a plan for the runtime. See steering.h. */
#include "run/steering.h"

#include "base/alloc.h"
#include "run/schedule.h"

#include <string.h>

#define USUAL_QUANTUM 1000000u
#define RANDOM_QUANTUM 2000u
#define USUAL_PATIENCE_MS 2000u
#define USUAL_WATCHDOG_MS 5u

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

void hd_steering_copy(struct hd_steering *to, const struct hd_steering *from) {
    *to = *from;
    memset(&to->target, 0, sizeof to->target);
    for (size_t i = 0; i < from->target.size; i++)
        hd_vector_push(&to->target, from->target.data[i]);
}

static struct hd_wire_place wire_place(const struct hd_sites *places, uint32_t number) {
    const struct hd_site *place = hd_site(places, number);
    if (number == 0) return (struct hd_wire_place){0, 0};
    return (struct hd_wire_place){hd_wire_name_hash(place->module), place->offset};
}

static void *force_plan(const struct hd_steering *s, size_t *bytes) {
    size_t targets = s->target.size < HD_FORCE_MOST ? s->target.size : HD_FORCE_MOST;
    *bytes = sizeof(struct hd_wire_force) + targets * sizeof(struct hd_wire_target);
    struct hd_wire_force *plan = hd_zalloc(1, *bytes);
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

static void *copy_plan(const void *plan, size_t bytes) {
    return memcpy(hd_alloc(1, bytes), plan, bytes);
}

void *hd_steering_plan(const struct hd_steering *s, size_t *bytes) {
    *bytes = 0;
    if (s->scheduler == HD_SCHED_OFF) return NULL;
    switch (s->policy) {
    case HD_POLICY_REPLAY:
        return hd_schedule_plan(s->schedule, hd_steering_patience_ms(s), bytes);
    case HD_POLICY_FORCE:
        return force_plan(s, bytes);
    case HD_POLICY_PCT:
        *bytes = sizeof(struct hd_wire_pct);
        return copy_plan(&(struct hd_wire_pct){.length = s->length, .depth = s->depth}, *bytes);
    case HD_POLICY_NOISE:
        *bytes = sizeof(struct hd_wire_noise);
        return copy_plan(&(struct hd_wire_noise){.per_mille = s->per_mille,
                                                 .most_us = s->most_us,
                                                 .most = s->most},
                         *bytes);
    default:
        return NULL;
    }
}

uint32_t hd_steering_patience_ms(const struct hd_steering *s) {
    return s->patience_ms ? s->patience_ms : USUAL_PATIENCE_MS;
}

struct hd_wire_options hd_steering_options(const struct hd_steering *s) {
    uint32_t usual = s->policy == HD_POLICY_RANDOM ? RANDOM_QUANTUM : USUAL_QUANTUM;
    return (struct hd_wire_options){.scheduler = s->scheduler,
                                    .policy = s->policy,
                                    .seed = s->seed,
                                    .quantum = s->quantum ? s->quantum : usual,
                                    .full = s->check && s->no_trace ? HD_FULL_NOT
                                            : s->direct             ? HD_FULL_DIRECT
                                                                    : HD_FULL_EXPECTED,
                                    .states = s->states,
                                    .children = s->children,
                                    .check = s->check,
                                    .granularity = s->granularity,
                                    .check_waits = s->check_waits,
                                    .watchdog_ms =
                                        s->watchdog_ms ? s->watchdog_ms : USUAL_WATCHDOG_MS};
}
