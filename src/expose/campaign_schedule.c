/* What a campaign's control did to the program, as a schedule: the control is run again with a
 * trace, and the order in which that went is followed by the serial scheduler. That does not depend
 * on time, and can be minimised. */
#include "base/clock.h"
#include "expose/reduce.h"
#include "expose/strategy.h"

#define TRACED_TRIES 40u /* to see the failing run */
#define TRACED_SECONDS 15.0

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

/* A replay fails as the campaign's run did; *replay is the caller's to free. */
static bool fails(struct hd_campaign *c, const struct hd_schedule *schedule,
                  const struct hd_replay_options *options, struct hd_replay *replay) {
    if (!hd_replay(&c->program, schedule, options, replay, c->error)) {
        c->broken = true;
        *replay = (struct hd_replay){.run = {.output = -1, .error = -1, .trace = -1}};
        return false;
    }
    c->result->interrupted = replay->run.interrupted;
    return !replay->run.interrupted && replay->verdict == HD_REPLAYED_CONFIRMED &&
           is_same_there(&replay->run.outcome, &c->result->outcome);
}

/* Once more, with a trace, to name its turns after what they really end with. */
static void name_turns(struct hd_campaign *c, struct hd_schedule *schedule) {
    struct hd_replay replay;
    struct hd_model model;
    struct hd_error ignored;
    if (fails(c, schedule, &(struct hd_replay_options){.unchecked = true}, &replay) &&
        hd_model_load(replay.run.trace_path, NULL, &(struct hd_model_options){.lenient = true},
                      &model, &ignored)) {
        struct hd_describe *describe = hd_describe_open(&model);
        if (!hd_schedule_name_turns(schedule, &model, describe))
            c->broken = !hd_fail(c->error, HD_ERR_MEMORY, "out of memory");
        hd_describe_close(describe);
        hd_model_free(&model);
    }
    hd_replay_free(&replay);
}

/* Is it as good as the control? Then it is kept, as small as it gets. */
static bool take(struct hd_campaign *c, struct hd_schedule *schedule) {
    struct hd_campaign_result *result = c->result;
    struct hd_replay replay;
    struct hd_replay_options quick = {.unchecked = true, .no_trace = true};
    struct hd_steering serial = {.scheduler = HD_SCHED_SERIAL};
    c->program.limit_ms = hd_campaign_limit(c, &serial);
    bool good = fails(c, schedule, &quick, &replay);
    struct hd_outcome outcome = replay.run.outcome;
    struct hd_reduce how = {.program = &c->program,
                            .outcome = &outcome,
                            .hangs_again_ms = hd_campaign_hangs_again_ms(c, &serial),
                            .nanoseconds = replay.run.nanoseconds,
                            .times = c->options->tries,
                            .told = pass_on,
                            .context = c};
    hd_replay_free(&replay);
    if (!good) return false;
    if (!hd_reduce(schedule, &how, c->error)) {
        c->broken = true;
        return false;
    }
    result->interrupted = how.interrupted;
    uint64_t here = (uint64_t)how.rate.reproduced * result->tries,
             control = (uint64_t)result->reproduced * how.rate.runs;
    if (how.interrupted || how.rate.reproduced == 0 || here < control) return false;
    name_turns(c, schedule);
    c->scheduled = outcome;
    result->schedule_tries = how.rate.runs;
    result->schedule_reproduced = how.rate.reproduced;
    result->switches = how.switches;
    result->switches_before = how.switches_before;
    return !c->broken && !result->interrupted;
}

/* What can't be read, or can't be followed, is no schedule; that is no error. */
static void try_run(struct hd_campaign *c, const struct hd_program_run *run) {
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
    c->result->has_schedule = take(c, &schedule);
    if (c->result->has_schedule)
        c->result->schedule = schedule;
    else
        hd_schedule_free(&schedule);
}

void hd_campaign_schedule(struct hd_campaign *c) {
    struct hd_campaign_result *result = c->result;
    double until = hd_seconds_now() + TRACED_SECONDS;
    for (uint32_t i = 0; i < TRACED_TRIES && !result->has_schedule && hd_seconds_now() < until;
         i++) {
        struct hd_program_run run;
        hd_campaign_tell(c, "scheduling");
        if (!hd_campaign_steer(c, &c->steering, true, &run)) return;
        if (hd_outcome_same(&run.outcome, &result->outcome)) try_run(c, &run);
        hd_program_run_free(&run);
        if (c->broken || result->interrupted) return;
    }
}
