/* The last part of a hunt that has found nothing: expose's strategies, which need no prediction.
 * What fails under the serial scheduler becomes a schedule like any other; what only fails when
 * threads really run in parallel keeps the control that did it. */
#include "explore/hunt_work.h"

#include "explore/campaign.h"

#include <stdlib.h>
#include <string.h>

#define USUAL_RUNS 50u
#define LEAST_MS 200u

static void pass_on(void *context, const struct hd_campaign_status *status) {
    struct hunt_work *work = context;
    hunt_tell(work, status->doing, status->tried, status->total);
}

/* A traced run of the same control that fails too: its order is the schedule. */
static bool fails_in_order(struct hunt_work *work, const struct hd_steering *steering, bool *done,
                           struct hd_error *error) {
    struct hd_job job = {.program = work->program, .steering = *steering};
    struct hd_result run;
    bool good = true;
    *done = false;
    job.steering.no_trace = false;
    if (!hd_run(&job, work->options->host, &run, error)) return false;
    work->hunt->interrupted = run.interrupted;
    if (!run.interrupted && hunt_failed(work, &run)) {
        good = hunt_failure(work, NULL, NULL, &run, error);
        *done = true;
    }
    hd_result_free(&run);
    return good;
}

/* The failing run as a schedule: from here on a failure like any other. */
static bool fails_by_schedule(struct hunt_work *work, const struct hd_schedule *schedule,
                              bool *done, struct hd_error *error) {
    struct hd_job job = {.program = work->program, .steering = hd_schedule_steering(schedule)};
    struct hd_result run;
    job.steering.unchecked = true;
    if (!hd_run(&job, work->options->host, &run, error)) return false;
    work->hunt->interrupted = run.interrupted;
    bool good = true;
    if (!run.interrupted && hunt_failed(work, &run)) {
        good = hunt_failure(work, NULL, schedule, &run, error);
        *done = true;
    }
    hd_result_free(&run);
    return good;
}

static bool keep_control(struct hunt_work *work, const struct hd_campaign_result *result,
                         enum hd_strategy strategy, struct hd_error *error) {
    struct hd_finding *finding;
    if (!hunt_control_failure(work, &result->outcome, hd_strategy_name(strategy), result->what,
                              result->variable, result->tries, result->reproduced, &finding))
        return hd_fail(error, HD_ERR_MEMORY, "out of memory");
    if (*finding->forced->reproducer == '\0') return true;
    return hd_schedule_save(&result->reproducer, finding->forced->reproducer, error);
}

static bool run_campaign(struct hunt_work *work, enum hd_strategy strategy, uint64_t most_ms,
                         struct hd_error *error) {
    uint32_t runs = work->options->expose_runs ? work->options->expose_runs : USUAL_RUNS;
    struct hd_campaign_options options = {
        .program = work->program,
        .host = work->options->host,
        .strategy = strategy,
        .seed = work->options->seed + 1,
        .most_runs = strategy == HD_STRATEGY_CTRIGGER ? 2 * (uint64_t)runs : runs,
        .most_ms = most_ms,
        .plain_runs = 1,
        .tries = work->options->repeats ? work->options->repeats : 20,
        .profile_runs = 6,
        .depth = 3,
        .pruning = HD_PRUNE_RULES,
        .timeout_ms = 25,
        .targets = 8,
        .no_schedule = strategy != HD_STRATEGY_CTRIGGER, /* its order is one already */
        .report = pass_on,
        .report_context = work};
    /* Campaigns compare output byte by byte; lines that come in any order would all fail. */
    if (work->lines_vary) options.program.output_like = NULL;
    struct hd_campaign_result result;
    if (!hd_campaign_run(&options, &result, error)) return false;
    work->hunt->interrupted = result.interrupted;
    work->hunt->exposed += (uint32_t)result.runs;
    bool good = true, done = false;
    if (!result.interrupted && result.verdict == HD_CAMPAIGN_EXPOSED) {
        if (result.reproducer.control.scheduler == HD_SCHED_SERIAL)
            good = fails_in_order(work, &result.reproducer.control, &done, error);
        else if (result.has_schedule)
            good = fails_by_schedule(work, &result.schedule, &done, error);
        bool output = result.outcome.kind == HD_OUTCOME_OUTPUT;
        if (output && !done) work->lines_vary = true;
        if (good && !done && !output && !work->hunt->interrupted)
            good = keep_control(work, &result, strategy, error);
    }
    hd_campaign_result_free(&result);
    return good;
}

bool hunt_expose(struct hunt_work *work, struct hd_error *error) {
    static const enum hd_strategy strategy[] = {HD_STRATEGY_POS, HD_STRATEGY_PCT,
                                                HD_STRATEGY_CTRIGGER};
    unsigned count = sizeof strategy / sizeof *strategy;
    for (unsigned i = 0; i < count && work->hunt->failures == 0; i++) {
        double left = work->deadline - hd_seconds_now();
        if (hunt_is_over(work) || left * 1000 < LEAST_MS) return true;
        uint64_t share = (uint64_t)(left * 1000 / (count - i));
        if (!run_campaign(work, strategy[i], share, error)) return false;
    }
    return true;
}
