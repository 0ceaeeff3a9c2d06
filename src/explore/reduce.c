/* See reduce.h. */
#include "explore/reduce.h"

#include "base/clock.h"
#include "explore/minimise.h"

#define MINIMISE_SECONDS 10.0
#define REPEAT_SECONDS 20.0

struct asking {
    struct hd_reduce *how;
    const struct hd_program *program;
    double until;
    struct hd_error error;
    bool broken;
};

static bool fails(void *context, const struct hd_schedule *schedule) {
    struct asking *asking = context;
    struct hd_reduce *how = asking->how;
    struct hd_job job = {.program = *asking->program, .steering = hd_schedule_steering(schedule)};
    job.steering.patience_ms = how->patience_ms;
    job.steering.no_trace = true;
    struct hd_result run;
    if (how->told != NULL) how->told(how->context, how, "minimising", 0, 0);
    if (!hd_run(&job, how->host, &run, &asking->error)) {
        asking->broken = true;
        return false;
    }
    how->interrupted = run.interrupted;
    how->asked++;
    bool same = !run.interrupted && run.replay.verdict == HD_REPLAYED_CONFIRMED &&
                hd_outcome_same(&run.outcome, how->outcome);
    hd_result_free(&run);
    return same;
}

static bool enough(void *context) {
    const struct asking *asking = context;
    return asking->broken || asking->how->interrupted || hd_seconds_now() > asking->until;
}

static bool tell_rate(void *context, const struct hd_rate *rate) {
    struct asking *asking = context;
    struct hd_reduce *how = asking->how;
    how->repeated++;
    if (how->told != NULL) how->told(how->context, how, "reproducing", rate->runs, how->times);
    return hd_seconds_now() < asking->until;
}

static bool repeat(struct asking *asking, const struct hd_schedule *schedule, struct hd_rate *rate,
                   struct hd_error *error) {
    struct hd_reduce *how = asking->how;
    struct hd_job job = {.program = *asking->program, .steering = hd_schedule_steering(schedule)};
    job.steering.no_trace = true;
    asking->until = hd_seconds_now() + REPEAT_SECONDS;
    if (!hd_run_times(&job, how->host, how->times, how->outcome, tell_rate, asking, rate, error))
        return false;
    how->interrupted = rate->interrupted;
    return true;
}

bool hd_reduce(struct hd_schedule *schedule, struct hd_reduce *how, struct hd_error *error) {
    struct hd_schedule small;
    how->switches = how->switches_before = hd_schedule_switches(schedule);
    hd_schedule_copy(&small, schedule);
    struct hd_program program = *how->program;
    if (how->outcome->kind == HD_OUTCOME_HANG && how->hangs_again_ms != 0)
        program.limit_ms = how->hangs_again_ms;
    struct asking asking = {
        .how = how, .program = &program, .until = hd_seconds_now() + MINIMISE_SECONDS};
    struct hd_minimise minimise = {
        .fails = fails, .enough = enough, .context = &asking, .most = how->most_questions};
    bool good = true, smaller = true;
    if (!hd_minimise(&small, &minimise)) good = hd_fail(error, HD_ERR_MEMORY, "out of memory");
    if (asking.broken) {
        *error = asking.error;
        good = false;
    }
    if (good && !how->interrupted) good = repeat(&asking, &small, &how->rate, error);
    if (good && !how->interrupted && how->rate.reproduced * 20 < how->rate.runs * 19) {
        struct hd_rate before;
        good = repeat(&asking, schedule, &before, error);
        smaller = before.reproduced * how->rate.runs <= how->rate.reproduced * before.runs;
        if (good && !smaller) how->rate = before;
    }
    if (good && smaller) how->switches = minimise.switches_after;
    hd_schedule_free(good && smaller ? schedule : &small);
    if (good && smaller) *schedule = small;
    return good;
}
