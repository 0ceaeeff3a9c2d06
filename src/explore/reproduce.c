/* A failure once more: how often, with how few context switches, and as a schedule if the failing
 * run was only steered. A schedule does not depend on time, and so fails again more surely. */
#include "explore/explorer.h"

#include "explore/minimise.h"

#include <string.h>

#define MINIMISE_SECONDS 10.0
#define REPEATS_MOST 16u    /* at once */
#define REPEAT_SECONDS 20.0 /* hangs take their time */
#define PATIENT_US 150000u  /* of a suspension that is to be repeated */
#define MOST_ALONE 6u       /* targets of one run that are tried alone */
#define TRACED_TRIES 40u    /* to see the failing run */
#define TRACED_SECONDS 15.0
#define SEARCH_RUNS 1000u
#define SEARCH_SECONDS 20.0
#define SEARCH_DEPTH 3u /* of PCT */

/* Under the serial scheduler a deadlock is seen as what it is. */
static bool is_same(const struct hd_outcome *again, const struct hd_outcome *failure) {
    return hd_outcome_same(again, failure) ||
           (failure->kind == HD_OUTCOME_HANG && again->kind == HD_OUTCOME_DEADLOCK);
}

static bool hangs(const struct hd_outcome *outcome) { return outcome->kind == HD_OUTCOME_HANG; }

/* ---- how often ------------------------------------------------------------------------------ */

/* A schedule is followed; nobody looks at the trace. */
static struct hd_steering follow(const struct hd_schedule *schedule) {
    struct hd_steering steering = hd_schedule_steering(schedule);
    steering.unchecked = steering.no_trace = true;
    return steering;
}

static bool is_again(const struct hd_steering *steering, const struct hd_outcome *failure,
                     const struct hd_result *run) {
    return hd_outcome_same(&run->outcome, failure) &&
           (steering->schedule == NULL || run->replay.verdict == HD_REPLAYED_CONFIRMED);
}

/* Runs it once. False: it could not be run. *again: it fails in the same way. */
static bool fails_again(struct explorer *x, const struct hd_steering *steering,
                        const struct hd_outcome *failure, bool *again) {
    struct hd_result run;
    if (!explore_run(x, steering, hangs(failure), &run)) return false;
    *again = is_again(steering, failure, &run);
    hd_result_free(&run);
    return true;
}

/* One thread runs at a time: runs that go on at once do not disturb each other. */
static uint32_t repeats_at_once(const struct explorer *x, const struct hd_steering *steering) {
    uint32_t most = steering->scheduler == HD_SCHED_SERIAL ? explore_at_once(x) : 1;
    return most < REPEATS_MOST ? most : REPEATS_MOST;
}

static void repeat(struct explorer *x, const struct hd_steering *steering,
                   const struct hd_outcome *failure, uint32_t *runs, uint32_t *reproduced) {
    double until = explore_until(x, REPEAT_SECONDS);
    uint32_t times = x->options->repeats, most = repeats_at_once(x, steering);
    *runs = *reproduced = 0;
    while (*runs < times && (*runs == 0 || hd_seconds_now() < until)) {
        struct attempt attempt[REPEATS_MOST];
        uint32_t count = most < times - *runs ? most : times - *runs;
        explore_report(x, "reproducing", *runs, times);
        for (uint32_t i = 0; i < count; i++)
            attempt[i] = (struct attempt){.steering = *steering, .hangs = hangs(failure)};
        explore_run_all(x, attempt, count);
        bool all = true;
        for (uint32_t i = 0; i < count; i++) {
            all &= attempt[i].ran;
            if (!attempt[i].ran) continue;
            x->result->runs.repeated++;
            ++*runs;
            *reproduced += is_again(steering, failure, &attempt[i].run);
            hd_result_free(&attempt[i].run);
        }
        if (!all) return;
    }
}

static bool is_less(uint32_t good, uint32_t of, uint32_t than, uint32_t of_that) {
    return (uint64_t)good * of_that < (uint64_t)than * of;
}

/* As often as a user may expect. */
static bool is_reliable(uint32_t good, uint32_t of) {
    return (uint64_t)good * 20 >= (uint64_t)of * 19;
}

/* ---- as few switches as possible ------------------------------------------------------------ */

struct asking {
    struct explorer *x;
    const struct hd_outcome *failure;
    double until;
};

static bool fails(void *context, const struct hd_schedule *schedule) {
    struct asking *asking = context;
    struct explorer *x = asking->x;
    struct hd_steering steering = follow(schedule);
    bool again;
    steering.patience_ms = x->patience_ms;
    explore_report(x, "minimising", 0, 0);
    if (!fails_again(x, &steering, asking->failure, &again)) return false;
    x->result->runs.asked++;
    return again;
}

static bool enough(void *context) {
    const struct asking *asking = context;
    struct explorer *x = asking->x;
    return x->broken || x->result->interrupted || hd_seconds_now() > asking->until;
}

void explore_reproduce(struct explorer *x, const struct hd_schedule *schedule,
                       const struct hd_outcome *failure, struct reproduction *to) {
    memset(to, 0, sizeof *to);
    to->there = true;
    to->outcome = *failure;
    to->switches = to->switches_before = hd_schedule_switches(schedule);
    hd_schedule_copy(&to->schedule, schedule);
    if (x->options->repeats == 0) return;
    struct asking asking = {
        .x = x, .failure = failure, .until = explore_until(x, MINIMISE_SECONDS)};
    struct hd_minimise minimise = {
        .fails = fails, .enough = enough, .context = &asking, .most = x->options->most_questions};
    hd_minimise(&to->schedule, &minimise);
    to->switches = minimise.switches_after;
    struct hd_steering small = follow(&to->schedule), whole = follow(schedule);
    repeat(x, &small, failure, &to->runs, &to->reproduced);
    if (is_reliable(to->reproduced, to->runs)) return;
    uint32_t runs, reproduced;
    repeat(x, &whole, failure, &runs, &reproduced);
    if (!is_less(to->reproduced, to->runs, reproduced, runs)) return;
    hd_schedule_free(&to->schedule);
    hd_schedule_copy(&to->schedule, schedule);
    to->switches = to->switches_before;
    to->runs = runs;
    to->reproduced = reproduced;
}

/* ---- from a steered run to a schedule ------------------------------------------------------- */

struct search {
    struct explorer *x;
    const struct hd_outcome *failure;
    struct reproduction *best;
};

/* Does it fail when it is followed, as often as the steering does, and more often than the best?
 * Then it is the best. */
static void try_schedule(struct search *s, const struct hd_schedule *schedule) {
    struct explorer *x = s->x;
    struct hd_steering steering = follow(schedule);
    struct hd_result run;
    if (!explore_run(x, &steering, false, &run)) return;
    x->result->runs.repeated++;
    struct hd_outcome outcome = run.outcome;
    bool same = run.replay.verdict == HD_REPLAYED_CONFIRMED && is_same(&outcome, s->failure);
    hd_result_free(&run);
    if (!same) return;
    struct reproduction found;
    const struct hd_exploration *result = x->result;
    explore_reproduce(x, schedule, &outcome, &found);
    bool good = found.reproduced > 0 && !is_less(found.reproduced, found.runs,
                                                 result->control_reproduced, result->control_tries);
    if (s->best->there &&
        !is_less(s->best->reproduced, s->best->runs, found.reproduced, found.runs))
        good = false;
    hd_schedule_free(good ? &s->best->schedule : &found.schedule);
    if (good) *s->best = found;
}

/* What can't be read, or can't be followed, is no schedule; that is no error. */
static void try_run(struct search *s, const struct hd_result *run) {
    struct failing failing;
    struct hd_schedule schedule;
    struct hd_error ignored;
    explore_failing_load(s->x, &failing, run->trace_path, NULL);
    if (!failing.there) return;
    if (hd_schedule_from_run(&schedule, &failing.model, failing.describe, &ignored)) {
        try_schedule(s, &schedule);
        hd_schedule_free(&schedule);
    }
    explore_failing_free(&failing);
}

/* The same steering, with a trace. */
static void trace_control(struct search *s, const struct hd_steering *steering) {
    struct hd_steering traced = *steering;
    traced.no_trace = false;
    double until = explore_until(s->x, TRACED_SECONDS);
    for (uint32_t i = 0; i < TRACED_TRIES && !s->best->there && hd_seconds_now() < until; i++) {
        struct hd_result run;
        explore_report(s->x, "scheduling", i, TRACED_TRIES);
        if (!explore_run(s->x, &traced, false, &run)) return;
        s->x->result->runs.repeated++;
        if (hd_outcome_same(&run.outcome, s->failure)) try_run(s, &run);
        hd_result_free(&run);
    }
}

/* The same failure under random priorities, which repeat themselves. */
static void search_serially(struct search *s) {
    struct explorer *x = s->x;
    double until = explore_until(x, SEARCH_SECONDS);
    explore_record_some(x, 1);
    for (uint32_t i = 0; i < SEARCH_RUNS && hd_seconds_now() < until; i++) {
        if (s->best->there && is_reliable(s->best->reproduced, s->best->runs)) return;
        struct hd_steering steering = {.strategy = i % 2 ? HD_STRATEGY_PCT : HD_STRATEGY_POS,
                                       .scheduler = HD_SCHED_SERIAL,
                                       .policy = i % 2 ? HD_POLICY_PCT : HD_POLICY_POS,
                                       .seed = x->options->seed + i,
                                       .length = x->calls,
                                       .depth = SEARCH_DEPTH};
        struct hd_result run;
        explore_report(x, "scheduling", i, SEARCH_RUNS);
        if (!explore_run(x, &steering, true, &run)) return;
        x->result->runs.repeated++;
        if (is_same(&run.outcome, s->failure)) try_run(s, &run);
        hd_result_free(&run);
    }
}

/* ---- steered runs --------------------------------------------------------------------------- */

/* Several targets were forced in the run that failed: which one was it? The last that came about
 * is tried first, alone. */
static void fewer_targets(struct explorer *x, struct wanted *wanted, const struct hd_result *run) {
    struct hd_wire_force_answer answer;
    memcpy(&answer, run->answer, sizeof answer);
    size_t count = wanted->steering.target.size;
    uint32_t candidate[HD_FORCE_MOST], candidates = 0;
    if (answer.last < count) candidate[candidates++] = answer.last;
    for (int state = HD_FORCE_EXERCISED; state >= HD_FORCE_MET; state--)
        for (uint32_t i = 0; i < count && i < HD_FORCE_MOST; i++)
            if (answer.state[i] == state && i != answer.last) candidate[candidates++] = i;
    for (uint32_t k = 0; k < candidates && k < MOST_ALONE; k++) {
        struct hd_steering alone = wanted->steering;
        memset(&alone.target, 0, sizeof alone.target);
        hd_vector_push(&alone.target, wanted->steering.target.data[candidate[k]]);
        bool failed = false;
        for (int i = 0; i < 2 && !failed; i++)
            if (!fails_again(x, &alone, &run->outcome, &failed)) break;
        if (failed) {
            wanted->steering.target.data[0] = alone.target.data[0];
            wanted->steering.target.size = 1;
            wanted->chosen.data[0] = wanted->chosen.data[candidate[k]];
            wanted->chosen.size = 1;
        }
        hd_vector_free(&alone.target);
        if (failed) return;
    }
}

void explore_reproduce_control(struct explorer *x, struct wanted *wanted,
                               const struct hd_result *run, struct reproduction *to) {
    struct hd_exploration *result = x->result;
    struct hd_steering *steering = &wanted->steering;
    bool serial = steering->scheduler == HD_SCHED_SERIAL;
    memset(to, 0, sizeof *to);
    if (steering->target.size > 1) fewer_targets(x, wanted, run);
    /* Patience costs nothing where the interleaving comes about, and a busy machine needs it. */
    if (steering->target.size == 1 && steering->timeout_us < PATIENT_US)
        steering->timeout_us = PATIENT_US;
    if (!serial || x->options->plan == HD_PLAN_EXPOSE)
        repeat(x, steering, &run->outcome, &result->control_tries, &result->control_reproduced);
    if (x->options->keep_control || x->options->repeats == 0) return;
    struct search search = {.x = x, .failure = &run->outcome, .best = to};
    bool before = x->explaining;
    x->explaining = true;
    if (serial && run->trace_path[0] != '\0') try_run(&search, run);
    if (steering->scheduler != HD_SCHED_OFF) trace_control(&search, steering);
    if (!to->there || !is_reliable(to->reproduced, to->runs)) search_serially(&search);
    /* No error: the program may not even carry the runtime, which stress does without. */
    x->broken = false;
    x->explaining = before;
}
