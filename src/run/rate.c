/* The same job many times. See run.h. */
#include "run/run.h"

#include <string.h>

/* One run of many; false: it could not be run. */
static bool add_run(const struct hd_job *job, const struct hd_host *host,
                    const struct hd_outcome *like, struct hd_rate *rate, struct hd_error *error) {
    struct hd_result run;
    if (!hd_run(job, host, &run, error)) return false;
    rate->interrupted = run.interrupted;
    rate->wait_status = run.wait_status;
    if (!run.interrupted) {
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
        if (rate->interrupted) break;
        if (step != NULL) enough = !step(context, rate);
    }
    return true;
}
