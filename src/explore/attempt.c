/* One run of the program, inside the time that is left. A run that the end of that time has cut
 * short says nothing: it is not one that hangs. */
#include "explore/explorer.h"

/* Is there time for it, and does nobody ask to stop? */
static bool may_run(struct explorer *x) {
    return !explore_is_stopped(x) && hd_seconds_now() < x->last;
}

/* The limit of a run that is known to hang, or is not. *cut: a run that takes longer does not hang,
 * but the time was up; a hang counts only if there is time to see it twice. */
static uint64_t limit_for(const struct explorer *x, const struct hd_steering *steering, bool hangs,
                          bool *cut) {
    uint64_t limit = hangs ? explore_hang_ms(x, steering) : explore_limit_ms(x, steering);
    uint64_t again = hangs ? 0 : explore_hang_ms(x, steering);
    double left = (x->last - hd_seconds_now()) * 1000;
    *cut = (double)(limit + again) > left;
    if ((double)limit <= left) return limit;
    return left > 1 ? (uint64_t)left : 1;
}

/* Does it say anything? */
static bool judge(struct explorer *x, struct hd_result *run, bool cut) {
    if (run->interrupted) x->result->interrupted = run->interrupted;
    bool unknown = cut && run->outcome.kind == HD_OUTCOME_HANG;
    x->result->cut += unknown;
    if (run->interrupted || unknown) return false;
    explore_judge(x, run);
    if (run->replay.verdict == HD_REPLAYED_CONFIRMED && !hd_outcome_failed(&run->outcome))
        run->replay.verdict = HD_REPLAYED_DID_NOT_FAIL;
    return true;
}

bool explore_run(struct explorer *x, const struct hd_steering *steering, bool hangs,
                 struct hd_result *run) {
    bool cut;
    if (!may_run(x)) return false;
    struct hd_job job = {.program = x->program, .steering = *steering};
    job.program.limit_ms = limit_for(x, steering, hangs, &cut);
    x->broken = !hd_run(&job, x->options->host, run, x->error);
    if (x->broken) return false;
    explore_cover(x, run);
    if (judge(x, run, cut)) return true;
    hd_result_free(run);
    return false;
}
