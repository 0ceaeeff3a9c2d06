/* The strategies that need little: stress, sync, PCT, POS; and the table of all. */
#include "explore/strategy.h"

#include <stdlib.h>

static bool next_stress(struct hd_campaign *c, struct hd_steering *s) {
    (void)c;
    s->scheduler = HD_SCHED_OFF;
    return true;
}

/* Noise of several strengths in turn: which one helps depends on the program. */
static bool next_sync(struct hd_campaign *c, struct hd_steering *s) {
    static const uint32_t per_mille[] = {100, 300, 500}, most_us[] = {500, 2000, 10000};
    s->scheduler = HD_SCHED_FREE;
    s->policy = HD_POLICY_NOISE;
    s->per_mille = per_mille[c->number % 3];
    s->most_us = most_us[c->number / 3 % 3];
    s->most = 200;
    return true;
}

/* How long a run is, in hook calls. */
bool hd_campaign_look_length(struct hd_campaign *c, const struct hd_result *run) {
    struct hd_trace trace;
    struct hd_error ignored;
    if (!hd_trace_load(run->trace_path, NULL, &trace, &ignored)) return true;
    if (trace.hook_calls > c->profile.calls) c->profile.calls = trace.hook_calls;
    hd_trace_free(&trace);
    return true;
}

static enum hd_step prepare_pct(struct hd_campaign *c) {
    struct hd_steering steering = {
        .strategy = HD_STRATEGY_PCT, .scheduler = HD_SCHED_SERIAL, .policy = HD_POLICY_ROUND_ROBIN};
    return hd_campaign_step(c, &steering, true, hd_campaign_look_length, NULL);
}

static bool next_pct(struct hd_campaign *c, struct hd_steering *s) {
    s->scheduler = HD_SCHED_SERIAL;
    s->policy = HD_POLICY_PCT;
    s->length = c->profile.calls;
    s->depth = c->options->depth;
    return true;
}

static bool next_pos(struct hd_campaign *c, struct hd_steering *s) {
    (void)c;
    s->scheduler = HD_SCHED_SERIAL;
    s->policy = HD_POLICY_POS;
    return true;
}

const struct hd_strategy_ops hd_strategy_ops[HD_STRATEGY_COUNT] = {
    [HD_STRATEGY_CTRIGGER] = {hd_ctrigger_prepare, hd_ctrigger_next, hd_force_learn},
    [HD_STRATEGY_STRESS] = {NULL, next_stress, NULL},
    [HD_STRATEGY_SYNC] = {NULL, next_sync, NULL},
    [HD_STRATEGY_RACE] = {hd_race_prepare, hd_race_next, hd_force_learn},
    [HD_STRATEGY_PCT] = {prepare_pct, next_pct, NULL},
    [HD_STRATEGY_POS] = {NULL, next_pos, NULL}};
