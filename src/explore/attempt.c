/* Runs of the program, one or several at once, inside the time that is left. A run that the end of
 * that time has cut short says nothing: it is not one that hangs.
 *
 * Only hd_run is done in threads. What a run adds to the exploration is added in this thread, in
 * the order in which the runs were asked for: nothing depends on which of them ended first. */
#include "explore/explorer.h"

#include "base/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define MOST_AT_ONCE 16u /* in threads of this process: each run has three open files */

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
    limit *= x->crowd;
    again *= x->crowd;
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

/* A thread that spins may have done millions of things. To read an event takes the one; to load it,
 * if the filter keeps it, and to find the facts the other. */
#define SECONDS_TO_READ 5e-8
#define SECONDS_TO_LOAD 1e-6

/* A trace that would take most of the time that is left is not read. */
static void drop_long_trace(const struct explorer *x, struct hd_result *run) {
    double left = x->last - hd_seconds_now();
    if ((double)run->wire_events * SECONDS_TO_READ > left / 2) run->trace_path[0] = '\0';
}

/* Events that are loaded in half of the time that is left, and that half of the memory has room for
 * beside the runs that are kept. */
static double most_by_time(const struct explorer *x) {
    double left = x->last - hd_seconds_now();
    return left > 0 ? left / 2 / SECONDS_TO_LOAD : 0;
}
static double most_by_memory(const struct explorer *x) {
    uint64_t room = hd_memory_limit() / 2;
    return room > x->bytes ? (double)(room - x->bytes) / HD_EVENT_BYTES_MOST : 0;
}

struct hd_trace_options explore_reading(const struct explorer *x) {
    double time = most_by_time(x), most = most_by_memory(x);
    if (time < most) most = time;
    if (most > UINT32_MAX) most = UINT32_MAX;
    return (struct hd_trace_options){.most_events = most >= 1 ? (uint32_t)most : 1};
}

bool explore_is_for_memory(const struct explorer *x) { return most_by_memory(x) < most_by_time(x); }

/* ---- several at once ------------------------------------------------------------------------ */

/* What the threads share: the explorer is only read. */
struct batch {
    const struct explorer *x;
    struct attempt *attempt;
    uint32_t count;
    atomic_uint next;
    atomic_bool stop;
};

static bool run_next(struct batch *batch) {
    const struct explorer *x = batch->x;
    uint32_t i = atomic_fetch_add(&batch->next, 1);
    if (i >= batch->count || atomic_load(&batch->stop) || hd_seconds_now() >= x->last) return false;
    struct attempt *attempt = &batch->attempt[i];
    struct hd_job job = {.program = x->program, .steering = attempt->steering};
    job.program.limit_ms = limit_for(x, &attempt->steering, attempt->hangs, &attempt->cut);
    attempt->ran = hd_run(&job, &x->host, &attempt->run, &attempt->error);
    attempt->broken = !attempt->ran;
    if (attempt->broken || attempt->run.interrupted) atomic_store(&batch->stop, true);
    return true;
}

static void *run_many(void *batch) {
    while (run_next(batch)) continue;
    return NULL;
}

uint32_t explore_at_once(const struct explorer *x) {
    if (x->options->elsewhere != NULL) return x->options->elsewhere->ahead;
    unsigned at_once = x->options->at_once > 0 ? x->options->at_once : 1;
    return at_once < MOST_AT_ONCE ? at_once : MOST_AT_ONCE;
}

/* ---- done by somebody else ------------------------------------------------------------------ */

static void ask(struct explorer *x, struct attempt *attempt, bool now) {
    const struct hd_elsewhere *elsewhere = x->options->elsewhere;
    struct hd_job job = {.program = x->program, .steering = attempt->steering};
    job.program.limit_ms = limit_for(x, &attempt->steering, attempt->hangs, &attempt->cut);
    attempt->ticket = elsewhere->ask(elsewhere->context, &job, now);
    attempt->asked = true;
}

static void take(struct explorer *x, struct attempt *attempt) {
    const struct hd_elsewhere *elsewhere = x->options->elsewhere;
    enum hd_taken taken = elsewhere->take(elsewhere->context, attempt->ticket, x->last,
                                          &attempt->run, &attempt->error);
    attempt->asked = false;
    attempt->ran = taken == HD_TAKEN;
    attempt->broken = taken == HD_TAKEN_BROKEN;
    if (taken == HD_TAKEN_NOT) explore_is_stopped(x);
}

static void forget(struct explorer *x, struct attempt *attempt) {
    const struct hd_elsewhere *elsewhere = x->options->elsewhere;
    if (attempt->ran) hd_result_free(&attempt->run);
    if (attempt->asked) elsewhere->drop(elsewhere->context, attempt->ticket);
    attempt->ran = attempt->asked = false;
}

/* ---- all of them ---------------------------------------------------------------------------- */

/* In this thread, which lives as long as the exploration: what the runs are forked from. False:
 * they can't begin where the user wants them to. */
static bool prepare(struct explorer *x, struct attempt *attempt, uint32_t count) {
    for (uint32_t i = 0; i < count && x->host.server != NULL; i++) {
        struct hd_job job = {.program = x->program, .steering = attempt[i].steering};
        attempt[i].broken = !hd_server_prepare(x->host.server, &job, &x->host, &attempt[i].error);
        if (attempt[i].broken) return false;
    }
    return true;
}

static void begin(struct explorer *x, struct attempt *attempt, uint32_t count, bool now) {
    for (uint32_t i = 0; i < count; i++) {
        attempt[i].ran = attempt[i].broken = attempt[i].asked = false;
        attempt[i].steering.children = x->options->follow_fork;
    }
    if (count == 0 || !may_run(x)) return;
    if (x->options->elsewhere != NULL) {
        for (uint32_t i = 0; i < count; i++) ask(x, &attempt[i], now);
        return;
    }
    if (!prepare(x, attempt, count)) return;
    struct batch batch = {.x = x, .attempt = attempt, .count = count};
    uint32_t threads = explore_at_once(x) < count ? explore_at_once(x) : count, started = 1;
    pthread_t *thread = hd_alloc(threads, sizeof *thread);
    for (; started < threads; started++) /* fewer are fine too */
        if (pthread_create(&thread[started], NULL, run_many, &batch) != 0) break;
    run_many(&batch);
    for (uint32_t i = 1; i < started; i++) pthread_join(thread[i], NULL);
    free(thread);
}

void explore_begin_all(struct explorer *x, struct attempt *attempt, uint32_t count) {
    begin(x, attempt, count, true);
}

bool explore_take_run(struct explorer *x, struct attempt *attempt) {
    if (attempt->asked) take(x, attempt);
    if (attempt->broken && !x->broken) *x->error = attempt->error;
    x->broken |= attempt->broken;
    if (!attempt->ran) return false;
    drop_long_trace(x, &attempt->run);
    explore_cover(x, &attempt->run);
    if (judge(x, &attempt->run, attempt->cut)) return true;
    hd_result_free(&attempt->run);
    attempt->ran = false;
    return false;
}

void explore_run_all(struct explorer *x, struct attempt *attempt, uint32_t count) {
    explore_begin_all(x, attempt, count);
    for (uint32_t i = 0; i < count; i++) explore_take_run(x, &attempt[i]);
}

bool explore_run(struct explorer *x, const struct hd_steering *steering, bool hangs,
                 struct hd_result *run) {
    struct attempt attempt = {.steering = *steering, .hangs = hangs};
    explore_run_all(x, &attempt, 1);
    if (attempt.ran) *run = attempt.run;
    return attempt.ran;
}

/* ---- runs that will be wanted next ---------------------------------------------------------- */

static struct early_run *find(struct explorer *x, uint64_t key) {
    for (size_t i = 0; i < x->early.size; i++)
        if (x->early.data[i].key == key) return &x->early.data[i];
    return NULL;
}

bool explore_has_early(struct explorer *x, uint64_t key) { return find(x, key) != NULL; }

/* Whoever runs them elsewhere should not wait for us. */
bool explore_wants_coming(struct explorer *x, uint64_t key) {
    if (!explore_has_early(x, key)) return true;
    return x->options->elsewhere != NULL && x->early.size < explore_at_once(x) / 2;
}

static void drop(struct explorer *x, size_t number) {
    struct early_run *run = &x->early.data[number];
    forget(x, run->attempt);
    free(run->attempt);
    memmove(run, run + 1, (x->early.size - number - 1) * sizeof *run);
    x->early.size--;
}

void explore_drop_early(struct explorer *x) {
    while (x->early.size > 0) drop(x, x->early.size - 1);
    hd_vector_free(&x->early);
}

/* Runs what is wanted now, and what comes next together with it; the rest is kept. */
static void run_early(struct explorer *x, const struct coming *coming, uint32_t count) {
    struct attempt *attempt = hd_zalloc(count, sizeof *attempt);
    for (uint32_t i = 0; i < count; i++) attempt[i].steering = coming[i].steering;
    begin(x, attempt, count, false);
    for (uint32_t i = 0; i < count; i++) {
        /* One that could not be run is tried again when its turn comes, and says why then. */
        if (!attempt[i].ran && !attempt[i].asked && i > 0) continue;
        struct attempt *kept = hd_alloc(1, sizeof *kept);
        *kept = attempt[i];
        struct early_run early = {.key = coming[i].key, .attempt = kept};
        hd_vector_push(&x->early, early);
    }
    free(attempt);
    while (x->early.size > 4 * (size_t)explore_at_once(x) + 1) drop(x, 0);
}

/* Those that are under way already are left out. */
static void run_coming(struct explorer *x, const struct coming *coming, uint32_t count) {
    struct coming *fresh = hd_alloc(count, sizeof *fresh);
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!explore_has_early(x, coming[i].key)) fresh[left++] = coming[i];
    if (left > 0) run_early(x, fresh, left);
    free(fresh);
}

bool explore_run_early(struct explorer *x, const struct coming *coming, uint32_t count,
                       struct hd_result *run) {
    if (!may_run(x)) return false;
    if (count > 1 || !explore_has_early(x, coming[0].key)) run_coming(x, coming, count);
    struct early_run *early = find(x, coming[0].key);
    struct attempt attempt = *early->attempt;
    early->attempt->ran = early->attempt->asked = false; /* it is this one's now */
    drop(x, (size_t)(early - x->early.data));
    if (!explore_take_run(x, &attempt)) return false;
    *run = attempt.run;
    return true;
}
