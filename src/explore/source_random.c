/* Sources that need to know little of the program: plain stress, noise at synchronisation, PCT and
 * POS. They never run out. */
#include "explore/explorer.h"

static bool next_stress(struct explorer *x, struct wanted *wanted) {
    wanted->steering.scheduler = x->options->trace_all ? HD_SCHED_FREE : HD_SCHED_OFF;
    return true;
}

/* Noise of several strengths in turn: which one helps depends on the program. */
static bool next_sync(struct explorer *x, struct wanted *wanted) {
    static const uint32_t per_mille[] = {100, 300, 500}, most_us[] = {500, 2000, 10000};
    struct hd_steering *s = &wanted->steering;
    s->scheduler = HD_SCHED_FREE;
    s->policy = HD_POLICY_NOISE;
    s->per_mille = per_mille[x->number % 3];
    s->most_us = most_us[x->number / 3 % 3];
    s->most = 200;
    return true;
}

/* A recorded run tells how long a run is. */
static void begin_pct(struct explorer *x) { explore_record_some(x, 1); }

static bool next_pct(struct explorer *x, struct wanted *wanted) {
    struct hd_steering *s = &wanted->steering;
    s->scheduler = HD_SCHED_SERIAL;
    s->policy = HD_POLICY_PCT;
    s->length = x->calls;
    s->depth = x->options->depth;
    return true;
}

static bool next_pos(struct explorer *x, struct wanted *wanted) {
    (void)x;
    wanted->steering.scheduler = HD_SCHED_SERIAL;
    wanted->steering.policy = HD_POLICY_POS;
    return true;
}

const struct source explore_stress = {.next = next_stress};
const struct source explore_sync = {.next = next_sync};
const struct source explore_pct = {.begin = begin_pct, .next = next_pct, .independent = true};
const struct source explore_pos = {.next = next_pos, .independent = true};
