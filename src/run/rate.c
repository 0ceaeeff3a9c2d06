/* The same job many times. See run.h. */
#include "run/run.h"

#include "base/clock.h"

#include <string.h>

/* At least 1 ms; UINT64_MAX: no end. */
static uint64_t time_left_ms(const struct hd_host *host) {
    if (host->until == 0) return UINT64_MAX;
    uint64_t now = hd_now_ns();
    return now < host->until ? (host->until - now) / 1000000 + 1 : 1;
}

/* One run of many; false: it could not be run. */
static bool add_run(const struct hd_job *job, const struct hd_host *host,
                    const struct hd_outcome *like, struct hd_rate *rate, struct hd_error *error) {
    struct hd_result run;
    struct hd_job shorter = *job;
    uint64_t left = time_left_ms(host);
    bool cut = left < UINT64_MAX && (job->program.limit_ms == 0 || left < job->program.limit_ms);
    if (cut) shorter.program.limit_ms = left;
    if (!hd_run(&shorter, host, &run, error)) return false;
    rate->interrupted = run.interrupted;
    rate->wait_status = run.wait_status;
    rate->late = cut && run.outcome.kind == HD_OUTCOME_HANG; /* it might have ended */
    if (!run.interrupted && !rate->late) {
        bool failed = hd_outcome_failed(&run.outcome);
        rate->runs++;
        rate->nanoseconds += run.nanoseconds;
        if (job->steering.policy == HD_POLICY_REPLAY) {
            failed = run.replay.verdict == HD_REPLAYED_CONFIRMED;
            rate->reached += run.replay.reached;
            if (run.replay.divergence.there && rate->diverged++ == 0)
                rate->divergence = run.replay.divergence;
        }
        if (rate->failed == 0) rate->outcome = run.outcome;
        if (like == NULL) like = &rate->outcome;
        rate->failed += failed;
        rate->reproduced += failed && hd_outcome_same(like, &run.outcome);
    }
    hd_result_free(&run);
    return true;
}

bool hd_run_times(const struct hd_job *job, const struct hd_host *host, uint32_t times,
                  const struct hd_outcome *like,
                  bool (*step)(void *context, const struct hd_rate *rate), void *context,
                  struct hd_rate *rate, struct hd_error *error) {
    memset(rate, 0, sizeof *rate);
    bool enough = false;
    for (uint32_t i = 0; i < times && !enough; i++) {
        if (!add_run(job, host, like, rate, error)) return false;
        if (rate->interrupted || rate->late) break;
        rate->late = i + 1 < times && host->until > 0 && hd_now_ns() >= host->until;
        enough = rate->late;
        if (step != NULL) enough |= !step(context, rate);
    }
    return true;
}
