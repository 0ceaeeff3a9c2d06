/* Runs of the program, one or several at once, inside the time that is left. A run that the end of
 * that time has cut short says nothing: it is not one that hangs.
 *
 * Only hd_run is done in threads. What a run adds to the exploration is added in this thread, in
 * the order in which the runs were asked for: nothing depends on which of them ended first. */
#include "explore/explorer.h"

#include <pthread.h>
#include <stdatomic.h>

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

/* A thread that spins may have logged millions of events. To load an event and to find the facts
 * takes this long. */
#define SECONDS_PER_EVENT 1e-6

/* A trace that would take most of the time that is left is not read. */
static void drop_long_trace(const struct explorer *x, struct hd_result *run) {
    double left = x->last - hd_seconds_now();
    if ((double)run->wire_events * SECONDS_PER_EVENT > left / 2) run->trace_path[0] = '\0';
}

/* Takes a run that is over; false: it says nothing, and is freed. */
static bool take(struct explorer *x, struct hd_result *run, bool cut) {
    drop_long_trace(x, run);
    explore_cover(x, run);
    if (judge(x, run, cut)) return true;
    hd_result_free(run);
    return false;
}

/* ---- several at once ------------------------------------------------------------------------ */

struct ended {
    bool ran, cut, broken;
    struct hd_error error;
};

/* What the threads share: the explorer is only read. */
struct batch {
    struct explorer *x;
    struct attempt *attempt;
    struct ended *of;
    uint32_t count;
    atomic_uint next;
    atomic_bool stop;
};

static bool run_next(struct batch *batch) {
    const struct explorer *x = batch->x;
    uint32_t i = atomic_fetch_add(&batch->next, 1);
    if (i >= batch->count || atomic_load(&batch->stop)) return false;
    struct attempt *attempt = &batch->attempt[i];
    struct ended *of = &batch->of[i];
    if (hd_seconds_now() >= x->last) return false;
    struct hd_job job = {.program = x->program, .steering = attempt->steering};
    job.program.limit_ms = limit_for(x, &attempt->steering, attempt->hangs, &of->cut);
    of->ran = hd_run(&job, x->options->host, &attempt->run, &of->error);
    of->broken = !of->ran;
    if (of->broken || attempt->run.interrupted) atomic_store(&batch->stop, true);
    return true;
}

static void *run_many(void *batch) {
    while (run_next(batch)) continue;
    return NULL;
}

uint32_t explore_at_once(const struct explorer *x) {
    return x->options->at_once > 0 ? x->options->at_once : 1;
}

void explore_run_all(struct explorer *x, struct attempt *attempt, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) attempt[i].ran = false;
    if (count == 0 || !may_run(x)) return;
    struct batch batch = {.x = x, .attempt = attempt, .count = count};
    batch.of = hd_zalloc(count, sizeof *batch.of);
    uint32_t threads = explore_at_once(x) < count ? explore_at_once(x) : count, started = 1;
    pthread_t *thread = hd_alloc(threads, sizeof *thread);
    for (; started < threads; started++) /* fewer are fine too */
        if (pthread_create(&thread[started], NULL, run_many, &batch) != 0) break;
    run_many(&batch);
    for (uint32_t i = 1; i < started; i++) pthread_join(thread[i], NULL);
    for (uint32_t i = 0; i < count; i++) {
        if (batch.of[i].broken && !x->broken) *x->error = batch.of[i].error;
        x->broken |= batch.of[i].broken;
        attempt[i].ran = batch.of[i].ran && take(x, &attempt[i].run, batch.of[i].cut);
    }
    free(thread);
    free(batch.of);
}

bool explore_run(struct explorer *x, const struct hd_steering *steering, bool hangs,
                 struct hd_result *run) {
    struct attempt attempt = {.steering = *steering, .hangs = hangs};
    explore_run_all(x, &attempt, 1);
    if (attempt.ran) *run = attempt.run;
    return attempt.ran;
}
