/* Time and runs: what is left of them, and how long one run may take. All that is done stays inside
 * the time that was asked for, give or take 10 % and two seconds, also when runs hang. */
#include "explore/explorer.h"

#include <math.h>
#include <unistd.h>

#define LEAST_MS 3000u /* what a run under the serial scheduler may take in any case */
#define MOST_MS 60000u
#define SLOW                                                                             \
    4u /* times what runs take at most may still be slow, not hanging: machines are busy \
        */
#define GRACE 0.08 /* of the time that was asked for, and */
#define GRACE_SECONDS 1.5

bool explore_is_stopped(struct explorer *x) {
    const struct hd_host *host = x->options->host;
    if (host != NULL && host->stop != NULL && host->stop->signal != 0)
        x->result->interrupted = host->stop->signal;
    return x->broken || x->result->interrupted != 0;
}

bool explore_is_over(struct explorer *x) {
    const struct hd_explore_options *options = x->options;
    struct hd_exploration *result = x->result;
    if (explore_is_stopped(x)) return true;
    const struct hd_explore_runs *runs = &result->runs;
    uint64_t counted = options->plan == HD_PLAN_HUNT
                           ? (uint64_t)runs->forced + runs->closing
                           : (uint64_t)runs->plain + runs->recorded + runs->steered;
    if (options->most_runs > 0 && counted >= options->most_runs) {
        result->end = HD_END_RUNS;
        return true;
    }
    if (hd_seconds_now() <= x->deadline) return false;
    result->end = HD_END_TIME;
    return true;
}

bool explore_phase_is_over(struct explorer *x) {
    return explore_is_over(x) || (x->result->failures == 0 && hd_seconds_now() > x->phase_end);
}

/* What is likely to fail comes first, but something is always left for what needs no prediction. */
void explore_begin_phase(struct explorer *x, double share) {
    double now = hd_seconds_now();
    x->phase_end = isinf(x->deadline) ? x->deadline : now + (x->deadline - now) * share;
}

void explore_begin_budget(struct explorer *x) {
    double seconds = x->options->seconds;
    x->start = hd_seconds_now();
    x->deadline = seconds > 0 ? x->start + seconds : INFINITY;
    x->last = x->deadline + GRACE * seconds + GRACE_SECONDS;
    x->phase_end = x->deadline;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    /* Whoever does runs elsewhere knows how crowded it is there. */
    uint32_t at_once = x->options->elsewhere != NULL ? 1 : explore_at_once(x);
    x->crowd = 1 + (at_once - 1) / (cores > 0 ? (uint32_t)cores : 1);
}

double explore_until(const struct explorer *x, double seconds) {
    double now = hd_seconds_now(), half = now + (x->last - now) / 2;
    return now + seconds < half ? now + seconds : half;
}

void explore_report(struct explorer *x, const char *what, uint32_t done, uint32_t all) {
    if (x->options->report == NULL) return;
    const struct hd_explore_runs *runs = &x->result->runs;
    struct hd_explore_progress progress = {
        .what = what,
        .runs = (uint64_t)runs->plain + runs->recorded + runs->forced + runs->closing +
                runs->steered + runs->asked + runs->repeated,
        .most_runs = x->options->plan == HD_PLAN_EXPOSE ? x->options->most_runs : 0,
        .done = done,
        .all = all,
        .failures = x->result->failures,
        .best = x->best};
    x->options->report(x->options->report_context, &progress);
}

/* ---- one run -------------------------------------------------------------------------------- */

static uint64_t at_most(uint64_t ms) { return ms < MOST_MS ? ms : MOST_MS; }

/* Many times what runs take, and what the steering itself adds. Under the serial scheduler a
 * deadlock is seen at once, so there is no hurry. */
uint64_t explore_hang_ms(const struct explorer *x, const struct hd_steering *s) {
    if (x->options->program.limit_ms != 0) return x->options->program.limit_ms;
    if (s->scheduler == HD_SCHED_SERIAL)
        return at_most(LEAST_MS +
                       (x->recorded_ms > 0 ? 10 * x->recorded_ms : 100 * (x->plain_ms + 1)));
    uint64_t added = 0;
    if (s->policy == HD_POLICY_FORCE)
        added = (uint64_t)s->target.size * s->timeouts * s->timeout_us / 1000;
    if (s->policy == HD_POLICY_NOISE) added = (uint64_t)s->most * s->most_us / 1000;
    return at_most(2000 + 30 * (x->plain_ms + 1) + 2 * added);
}

static double left_ms(double until) {
    double left = (until - hd_seconds_now()) * 1000;
    return left > 0 ? left : 0;
}

/* A machine that is busy gets four times the time, but not if that is most of what is left. */
uint64_t explore_limit_ms(const struct explorer *x, const struct hd_steering *s) {
    if (x->options->program.limit_ms != 0) return x->options->program.limit_ms;
    double left = left_ms(x->deadline);
    if (x->result->plain_tries == x->result->plain_failed) /* nothing is known yet */
        return left / 2 < MOST_MS ? (uint64_t)(left / 2) + 1 : MOST_MS;
    uint64_t hangs = explore_hang_ms(x, s), slow = SLOW * hangs;
    if (left / 4 >= (double)slow) return slow;
    return left / 4 > (double)hangs ? (uint64_t)(left / 4) : hangs;
}
