/* Judges a run that was to follow a schedule. See replay.h. */
#include "run/replay.h"

#include "run/replay_check.h"
#include "run/run.h"

#include <stdio.h>
#include <string.h>

const char *hd_replay_verdict_name(enum hd_replay_verdict verdict) {
    static const char *const name[] = {
#define X(verdict_name, word) word,
        HD_REPLAY_VERDICTS(X)
#undef X
    };
    return (unsigned)verdict < sizeof name / sizeof *name ? name[verdict] : "?";
}

/* ---- what the runtime says ------------------------------------------------------------------ */

static void expect_turn(struct hd_divergence *d, const struct hd_schedule *schedule,
                        uint32_t turn) {
    const struct hd_turn *wanted = hd_schedule_turn(schedule, turn);
    d->there = true;
    d->turn = turn;
    d->thread = wanted->thread;
    d->event = HD_NO_EVENT;
    d->call = 0;
    for (uint32_t i = 0; i <= turn; i++) {
        const struct hd_turn *t = hd_schedule_turn(schedule, i);
        if (t->thread == wanted->thread) d->call += t->calls + (i < turn ? t->beyond : 0);
    }
    if (wanted->to[0] != '\0')
        snprintf(d->expected, sizeof d->expected, "%s", wanted->to);
    else
        snprintf(d->expected, sizeof d->expected, "call %llu", (unsigned long long)d->call);
}

static void take_divergence(const struct hd_schedule *schedule,
                            const struct hd_wire_replay_answer *answer, uint32_t patience_ms,
                            struct hd_divergence *d) {
    unsigned long long calls = answer->calls;
    if (answer->reason == HD_REPLAY_BAD_PLAN || answer->turn >= hd_schedule_turns(schedule)) {
        d->there = true;
        d->event = HD_NO_EVENT;
        snprintf(d->expected, sizeof d->expected, "a valid schedule");
        snprintf(d->came, sizeof d->came, "the runtime did not understand it");
        return;
    }
    expect_turn(d, schedule, answer->turn);
    switch (answer->reason) {
    case HD_REPLAY_NO_THREAD:
        snprintf(d->came, sizeof d->came, "T%u does not exist yet", d->thread);
        break;
    case HD_REPLAY_ENDED:
        snprintf(d->came, sizeof d->came, "T%u ended after %llu calls", d->thread, calls);
        break;
    case HD_REPLAY_BLOCKED:
        snprintf(d->came, sizeof d->came, "T%u is blocked in its call %llu", d->thread, calls);
        break;
    case HD_REPLAY_AWAY:
        snprintf(d->came, sizeof d->came,
                 "T%u did not come back from a system call (call %llu) within %u ms", d->thread,
                 calls, patience_ms);
        break;
    default:
        snprintf(d->came, sizeof d->came, "the runtime gave up");
    }
}

/* Do all that are left finish the call that they are in? */
static bool only_finishes(const struct hd_schedule *schedule) {
    for (size_t i = 0; i < schedule->then.size; i++)
        if (schedule->then.data[i].calls > 0) return false;
    return true;
}

/* The program ended on the way. If nothing is to come after the last turn but what threads are in
 * already (a wait that nobody ends), that may well be in it: whether the turn was done is seen in
 * the trace. */
static void judge_early_end(struct hd_replay *replay, const struct hd_schedule *schedule,
                            const struct hd_outcome *outcome) {
    uint32_t turn = replay->turns;
    if (turn >= hd_schedule_turns(schedule)) return;
    if (turn + 1 == schedule->turn.size && only_finishes(schedule)) {
        replay->reached = true;
        replay->turns++;
        return;
    }
    expect_turn(&replay->divergence, schedule, turn);
    snprintf(replay->divergence.came, sizeof replay->divergence.came, "the program ended: %.400s",
             outcome->words);
}

/* ---- the verdict ---------------------------------------------------------------------------- */

static void conclude(struct hd_replay *replay, const struct hd_schedule *schedule,
                     const struct hd_outcome *outcome) {
    const struct hd_divergence *d = &replay->divergence;
    if (d->there) {
        replay->verdict = HD_REPLAYED_DIVERGED;
        replay->reached = false;
        snprintf(replay->words, sizeof replay->words,
                 "diverged at turn %u of %u (T%u, call %llu): expected %.300s; came: %.400s. The "
                 "program went on without the schedule: %.300s",
                 d->turn + 1, hd_schedule_turns(schedule), d->thread, (unsigned long long)d->call,
                 d->expected, d->came, outcome->words);
    } else if (hd_outcome_failed(outcome)) {
        replay->verdict = HD_REPLAYED_CONFIRMED;
        snprintf(replay->words, sizeof replay->words, "confirmed: %s", outcome->words);
    } else {
        replay->verdict = HD_REPLAYED_DID_NOT_FAIL;
        snprintf(replay->words, sizeof replay->words,
                 "did not fail: the schedule was followed to its end, and the program %s",
                 outcome->words);
    }
}

void hd_replay_judge(const struct hd_steering *steering, struct hd_result *result) {
    const struct hd_schedule *schedule = steering->schedule;
    struct hd_replay *replay = &result->replay;
    struct hd_wire_replay_answer answer;
    memcpy(&answer, result->answer, sizeof answer);
    replay->turns = answer.turn;
    replay->reached = answer.state == HD_REPLAY_REACHED || answer.state == HD_REPLAY_OVER;
    if (answer.state == HD_REPLAY_DIVERGED)
        take_divergence(schedule, &answer, hd_steering_patience_ms(steering), &replay->divergence);
    else if (!replay->reached)
        judge_early_end(replay, schedule, &result->outcome);
    replay->unchecked =
        steering->unchecked || steering->no_trace ||
        !hd_replay_check(schedule, result->trace_path, replay->turns, &replay->divergence);
    conclude(replay, schedule, &result->outcome);
}
