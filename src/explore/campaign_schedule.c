/* What a campaign's control did to the program, as a schedule: the control is run again with a
 * trace, and the order in which that went is followed by the serial scheduler. That does not depend
 * on time, and can be minimised. What nothing controlled, or can't be followed, is looked for under
 * the serial scheduler from the beginning. */
#include "base/clock.h"
#include "explore/reduce.h"
#include "explore/strategy.h"

#include <stdlib.h>

#define TRACED_TRIES 40u /* to see the failing run */
#define TRACED_SECONDS 15.0
#define SEARCH_RUNS 1000u
#define SEARCH_SECONDS 20.0
#define SEARCH_DEPTH 3u /* of PCT */

/* Under the serial scheduler a deadlock is seen as what it is. */
static bool is_same_there(const struct hd_outcome *there, const struct hd_outcome *here) {
    return hd_outcome_same(there, here) ||
           (here->kind == HD_OUTCOME_HANG && there->kind == HD_OUTCOME_DEADLOCK);
}

static void pass_on(void *context, const struct hd_reduce *how, const char *doing, uint32_t done,
                    uint32_t all) {
    (void)how;
    (void)done;
    (void)all;
    hd_campaign_tell(context, doing);
}

/* A replay fails as the campaign's run did; *run is the caller's to free. */
static bool fails(struct hd_campaign *c, const struct hd_schedule *schedule, bool traced,
                  struct hd_result *run) {
    struct hd_job job = {.program = c->program, .steering = hd_schedule_steering(schedule)};
    job.steering.unchecked = true;
    job.steering.no_trace = !traced;
    if (!hd_run(&job, c->options->host, run, c->error)) {
        c->broken = true;
        return false;
    }
    c->result->interrupted = run->interrupted;
    return !run->interrupted && run->replay.verdict == HD_REPLAYED_CONFIRMED &&
           is_same_there(&run->outcome, &c->result->outcome);
}

/* Once more, with a trace, to name its turns after what they really end with. */
static void name_turns(struct hd_campaign *c, struct hd_schedule *schedule) {
    struct hd_result run;
    struct hd_model model;
    struct hd_error ignored;
    if (fails(c, schedule, true, &run) &&
        hd_model_load(run.trace_path, NULL, &(struct hd_model_options){.lenient = true}, &model,
                      &ignored)) {
        struct hd_describe *describe = hd_describe_open(&model);
        if (!hd_schedule_name_turns(schedule, &model, describe))
            c->broken = !hd_fail(c->error, HD_ERR_MEMORY, "out of memory");
        hd_describe_close(describe);
        hd_model_free(&model);
    }
    hd_result_free(&run);
}

/* As often as a user may expect. */
static bool is_reliable(const struct hd_campaign_result *result) {
    return result->has_schedule &&
           (uint64_t)result->schedule_reproduced * 20 >= (uint64_t)result->schedule_tries * 19;
}

static bool is_better(uint32_t good, uint32_t of, uint32_t than, uint32_t of_that) {
    return (uint64_t)good * of_that > (uint64_t)than * of;
}

/* Is it as good as the control, and better than what there is? Then it is kept, as small as it
 * gets. */
static bool take(struct hd_campaign *c, struct hd_schedule *schedule) {
    struct hd_campaign_result *result = c->result;
    struct hd_result run;
    struct hd_steering serial = {.scheduler = HD_SCHED_SERIAL};
    c->program.limit_ms = hd_campaign_limit(c, &serial);
    bool good = fails(c, schedule, false, &run);
    struct hd_outcome outcome = run.outcome;
    struct hd_reduce how = {.program = &c->program,
                            .host = c->options->host,
                            .outcome = &outcome,
                            .hangs_again_ms = hd_campaign_hangs_again_ms(c, &serial),
                            .times = c->options->tries,
                            .told = pass_on,
                            .context = c};
    hd_result_free(&run);
    if (!good) return false;
    if (!hd_reduce(schedule, &how, c->error)) {
        c->broken = true;
        return false;
    }
    result->interrupted = how.interrupted;
    if (how.interrupted || how.rate.reproduced == 0 ||
        is_better(result->reproduced, result->tries, how.rate.reproduced, how.rate.runs))
        return false;
    if (result->has_schedule && !is_better(how.rate.reproduced, how.rate.runs,
                                           result->schedule_reproduced, result->schedule_tries))
        return false;
    name_turns(c, schedule);
    c->scheduled = outcome;
    result->schedule_tries = how.rate.runs;
    result->schedule_reproduced = how.rate.reproduced;
    result->switches = how.switches;
    result->switches_before = how.switches_before;
    return !c->broken && !result->interrupted;
}

/* What can't be read, or can't be followed, is no schedule; that is no error. */
static void try_run(struct hd_campaign *c, const struct hd_result *run) {
    struct hd_model model;
    struct hd_error ignored;
    struct hd_schedule schedule;
    if (!hd_model_load(run->trace_path, NULL, &(struct hd_model_options){.lenient = true}, &model,
                       &ignored))
        return;
    struct hd_describe *describe = hd_describe_open(&model);
    bool made = hd_schedule_from_run(&schedule, &model, describe, &ignored);
    hd_describe_close(describe);
    hd_model_free(&model);
    if (!made) return;
    struct hd_campaign_result *result = c->result;
    if (take(c, &schedule)) {
        if (result->has_schedule) hd_schedule_free(&result->schedule);
        result->has_schedule = true;
        result->schedule = schedule;
    } else {
        hd_schedule_free(&schedule);
    }
}

/* ---- the control, again ---------------------------------------------------------------------- */

static void follow_control(struct hd_campaign *c) {
    struct hd_campaign_result *result = c->result;
    double until = hd_seconds_now() + TRACED_SECONDS;
    for (uint32_t i = 0; i < TRACED_TRIES && !result->has_schedule && hd_seconds_now() < until;
         i++) {
        struct hd_result run;
        hd_campaign_tell(c, "scheduling");
        if (!hd_campaign_steer(c, &c->steering, true, &run)) return;
        if (hd_outcome_same(&run.outcome, &result->outcome)) try_run(c, &run);
        hd_result_free(&run);
        if (c->broken || result->interrupted) return;
    }
}

/* ---- the same failure, where it can be repeated ---------------------------------------------- */

/* False if there is no point in going on: the program may not even carry the runtime, which stress
 * does without. */
static bool run_serially(struct hd_campaign *c, const struct hd_steering *steering, bool traced,
                         struct hd_result *run) {
    struct hd_error ignored;
    struct hd_job job = {.program = c->program, .steering = *steering};
    job.steering.no_trace = !traced;
    job.program.limit_ms = hd_campaign_hangs_again_ms(c, steering);
    if (!hd_run(&job, c->options->host, run, &ignored)) return false;
    c->result->interrupted = run->interrupted;
    if (!run->interrupted && (!traced || run->recorded)) return true;
    hd_result_free(run);
    return false;
}

/* Random priorities, of both kinds in turn. */
static struct hd_steering serial_steering(const struct hd_campaign *c, uint32_t number) {
    struct hd_steering steering = {.strategy = number % 2 ? HD_STRATEGY_PCT : HD_STRATEGY_POS,
                                   .scheduler = HD_SCHED_SERIAL,
                                   .policy = number % 2 ? HD_POLICY_PCT : HD_POLICY_POS,
                                   .seed = c->options->seed + number,
                                   .length = c->profile.calls,
                                   .depth = SEARCH_DEPTH};
    return steering;
}

static bool measure_length(struct hd_campaign *c) {
    struct hd_steering steering = {.scheduler = HD_SCHED_SERIAL, .policy = HD_POLICY_ROUND_ROBIN};
    struct hd_result run;
    if (!run_serially(c, &steering, true, &run)) return false;
    hd_campaign_look_length(c, &run);
    hd_result_free(&run);
    return true;
}

static void search(struct hd_campaign *c) {
    struct hd_campaign_result *result = c->result;
    double until = hd_seconds_now() + SEARCH_SECONDS;
    if (!measure_length(c)) return;
    for (uint32_t i = 0; i < SEARCH_RUNS && !is_reliable(result) && hd_seconds_now() < until; i++) {
        struct hd_steering steering = serial_steering(c, i);
        struct hd_result run;
        hd_campaign_tell(c, "scheduling");
        if (!run_serially(c, &steering, false, &run)) return;
        bool same = is_same_there(&run.outcome, &result->outcome);
        hd_result_free(&run);
        if (!same) continue;
        if (!run_serially(c, &steering, true, &run)) return;
        if (is_same_there(&run.outcome, &result->outcome)) {
            try_run(c, &run);
            if (result->has_schedule) c->serial = steering;
        }
        hd_result_free(&run);
        if (c->broken || result->interrupted) return;
    }
}

void hd_campaign_schedule(struct hd_campaign *c) {
    if (c->steering.scheduler != HD_SCHED_OFF) follow_control(c);
    if (!c->broken && !c->result->interrupted && !is_reliable(c->result)) search(c);
}
