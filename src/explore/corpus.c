/* The corpus: recorded runs that passed, each of which shows something that no other did. They are
 * predicted from, candidates of suspensions come from them, and failing runs are compared with
 * them. */
#include "explore/explorer.h"

#include "explore/closing_idle.h"

#include <stdio.h>
#include <string.h>

#define MOST_PATIENCE_MS 2000u
#define LEAST_PATIENCE_MS 100u
#define MOST_SLICES 20000u    /* of a run: each costs as much as many accesses */
#define RECORDINGS 0x5ec04d5u /* in their keys */
#define RECORDINGS_MOST 16u   /* at once */
#define QUIET_RUNS 3u         /* without anything new, after which there will be nothing new */

/* ---- how to record -------------------------------------------------------------------------- */

static uint32_t at_least(uint32_t quantum, uint64_t calls) {
    uint64_t least = calls / MOST_SLICES;
    if (least > UINT32_MAX) least = UINT32_MAX;
    return quantum > least ? quantum : (uint32_t)least;
}

struct hd_steering explore_recording(uint32_t n, uint64_t seed, uint64_t calls) {
    static const uint32_t quantum[] = {200, 20, 5, 50, 2, 10, 1000, 3};
    struct hd_steering steering = {.scheduler = HD_SCHED_SERIAL, .policy = HD_POLICY_ROUND_ROBIN};
    if (n == 1) steering.quantum = at_least(25, calls);
    if (n < 2) return steering;
    steering.policy = HD_POLICY_RANDOM;
    steering.seed = seed + n;
    steering.quantum = at_least(quantum[(n - 2) % (sizeof quantum / sizeof *quantum)], calls);
    return steering;
}

/* ---- a recorded run ------------------------------------------------------------------------- */

void explore_recorded_free(struct recorded *run) {
    for (size_t i = 0; i < DEPTHS; i++) hd_findings_free(&run->findings[i]);
    hd_findings_free(&run->roles);
    hd_analysis_free(&run->analysis);
    hd_describe_close(run->describe);
    hd_model_free(&run->model);
    free(run);
}

bool explore_repeats(struct explorer *x, struct recorded *run) {
    struct hd_schedule schedule;
    struct hd_result again;
    struct hd_error ignored;
    if (run->asked) return run->repeats;
    if (hd_seconds_now() > x->last ||
        !hd_schedule_from_run(&schedule, &run->model, run->describe, &ignored))
        return false;
    struct hd_steering steering = hd_schedule_steering(&schedule);
    if (explore_run(x, &steering, false, &again)) {
        x->result->runs.repeated++;
        run->asked = true;
        run->repeats = again.replay.verdict == HD_REPLAYED_DID_NOT_FAIL;
        hd_result_free(&again);
    }
    hd_schedule_free(&schedule);
    return run->repeats;
}

/* A thread that is away for several times as long as the whole of a recorded run will not come. */
static void learn_limits(struct explorer *x, const struct hd_result *run) {
    uint64_t took = run->nanoseconds / 1000000u, patience = LEAST_PATIENCE_MS + 4 * took;
    x->patience_ms = (uint32_t)(patience < MOST_PATIENCE_MS ? patience : MOST_PATIENCE_MS);
    if (run->outcome.kind != HD_OUTCOME_HANG) x->recorded_ms = took + 1;
}

void explore_keep(struct explorer *x, struct recorded *run) {
    x->bytes += run->model.bytes;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers, since findings point into runs */
    hd_vector_push(&x->run, run);
}

static const struct hd_model_options lenient = {.lenient = true};

/* Without rounds of loops that only wait, which may be thousands and show nothing new. */
static bool load_without_rounds(const char *path, struct hd_trace_options read,
                                struct hd_model *model, struct hd_error *error) {
    struct hd_trace trace;
    read.keep = HD_KEEP_ALL;
    if (!hd_trace_load(path, &read, &trace, error)) return false;
    uint32_t *kept = hd_zalloc(trace.threads, sizeof *kept);
    uint8_t *wrote = hd_zalloc(trace.threads, 1);
    closing_drop_idle(&trace, kept, HD_NONE, wrote);
    free(kept);
    free(wrote);
    return hd_model_build(&trace, &lenient, model, error);
}

/* Loads a process of a run that passed, and adds it if it shows something new. */
static struct recorded *load(struct explorer *x, const char *path, bool rounds, bool *fresh_run) {
    struct hd_exploration *result = x->result;
    struct recorded *recorded = hd_zalloc(1, sizeof *recorded);
    struct hd_model *model = &recorded->model;
    struct hd_trace_options read = explore_reading(x);
    bool loaded = rounds ? hd_model_load(path, &read, &lenient, model, x->error)
                         : load_without_rounds(path, read, model, x->error);
    if (!loaded && rounds && x->error->code == HD_ERR_LIMIT) { /* what findings are made of */
        read.keep = HD_KEEP_SHARED;
        loaded = hd_model_load(path, &read, &lenient, model, x->error);
    }
    if (!loaded) {
        x->too_long = x->error->code == HD_ERR_LIMIT;
        x->broken = !x->too_long;
        free(recorded);
        return NULL;
    }
    recorded->describe = hd_describe_open(model);
    recorded->analysis = (struct hd_analysis){.model = model, .describe = recorded->describe};
    if (result->build[0] == '\0') hd_trace_build(model->trace, result->build);
    if (model->threads > result->threads) result->threads = model->threads;
    if (model->events > result->events) result->events = model->events;
    if (model->trace->hook_calls > x->calls) x->calls = model->trace->hook_calls;
    uint32_t fresh = hd_history_add(&x->history, model);
    if (x->collect != NULL) fresh += x->collect(x, recorded);
    *fresh_run = fresh > 0;
    if (fresh > 0) explore_keep(x, recorded);
    return recorded;
}

static struct recorded *add_trace(struct explorer *x, const char *path) {
    bool fresh;
    struct recorded *recorded = load(x, path, true, &fresh);
    if (recorded == NULL || fresh) return recorded;
    explore_recorded_free(recorded);
    return NULL;
}

/* The program itself, or the first other process that shows something new. */
static struct recorded *add(struct explorer *x, const struct hd_result *run) {
    struct hd_exploration *result = x->result;
    struct recorded *added = add_trace(x, run->trace_path);
    result->child_threads |= run->child_threads;
    if (run->others + 1 > result->processes) result->processes = run->others + 1;
    for (uint32_t i = 0; i < run->others && !x->broken; i++) {
        struct recorded *other = add_trace(x, run->other[i].path);
        if (added == NULL) added = other;
    }
    return added;
}

struct recorded *explore_keep_run(struct explorer *x, const struct hd_result *run) {
    return run->trace_path[0] != '\0' ? add(x, run) : NULL;
}

struct recorded *explore_load_run(struct explorer *x, const struct hd_result *run, bool *fresh) {
    *fresh = false;
    return run->trace_path[0] != '\0' ? load(x, run->trace_path, false, fresh) : NULL;
}

static struct recorded *take(struct explorer *x, const struct hd_steering *steering,
                             const struct hd_result *run, bool first) {
    struct recorded *added = NULL;
    if (hd_outcome_failed(&run->outcome)) {
        if (x->explaining) return NULL;
        x->result->recorded_failed++;
        struct wanted wanted = {.steering = *steering};
        bool expose = x->options->plan == HD_PLAN_EXPOSE;
        struct failed failed = {.run = run, .wanted = expose ? &wanted : NULL};
        explore_failure(x, &failed);
        if (first && run->outcome.kind == HD_OUTCOME_HANG && x->result->failures == 0)
            x->broken = !hd_fail(x->error, HD_ERR_LIMIT,
                                 "a recorded run %s, though plain runs end; --limit gives it "
                                 "more time",
                                 run->outcome.words);
    } else {
        x->too_long = run->trace_path[0] == '\0';
        if (!x->too_long) added = add(x, run);
        if (first && x->too_long && x->run.size == 0)
            x->broken = !hd_fail(x->error, HD_ERR_LIMIT,
                                 "a run has %.1f million events, too many for the %s",
                                 (double)run->wire_events * 1e-6,
                                 explore_is_for_memory(x)
                                     ? "memory there is; give the program less to do"
                                     : "time there is; --time gives it more, or give the program "
                                       "less to do");
        else if (first && x->run.size == 0 && !x->broken)
            x->broken = !hd_fail(x->error, HD_ERR_FORMAT, "the recorded run shows no event");
    }
    return added;
}

/* A recording, and those that come after it. The first of all says how long a run is. */
static uint32_t coming_recordings(struct explorer *x, uint32_t number, struct coming *coming) {
    uint32_t count = 0, most = number > 0 ? explore_at_once(x) : 1;
    if (most > RECORDINGS_MOST) most = RECORDINGS_MOST;
    do {
        struct coming *next = &coming[count];
        next->steering = explore_recording(number + count, x->options->seed, x->calls);
        next->steering.strategy = x->options->strategy;
        next->key =
            hd_mix64((uint64_t)next->steering.quantum << 32 | (number + count)) ^ RECORDINGS;
    } while (++count < most && number + count < x->options->most_recorded &&
             explore_wants_coming(x, coming[0].key));
    return count;
}

/* Records one more run. False: it could not be run. */
static bool record(struct explorer *x, struct recorded **added) {
    struct hd_result run;
    uint32_t number = x->recordings++;
    struct coming coming[RECORDINGS_MOST];
    uint32_t count = coming_recordings(x, number, coming);
    const struct hd_steering steering = coming[0].steering;
    *added = NULL;
    if (!explore_run_early(x, coming, count, &run)) return false;
    x->result->runs.recorded++;
    if (number == 0) learn_limits(x, &run);
    *added = take(x, &steering, &run, number == 0);
    /* A program that fails by itself may need a few until one passes. */
    x->quiet = *added != NULL || x->run.size == 0 ? 0 : x->quiet + 1;
    hd_result_free(&run);
    return !x->broken;
}

bool explore_record(struct explorer *x, struct recorded **added) {
    uint32_t most = x->options->most_recorded > 0 ? x->options->most_recorded : 1;
    *added = NULL;
    x->result->saturated = x->quiet >= QUIET_RUNS;
    if (x->result->saturated || x->recordings >= most || explore_phase_is_over(x)) return false;
    explore_report(x, "recording", x->recordings, most);
    return record(x, added);
}

void explore_record_some(struct explorer *x, uint32_t runs) {
    struct recorded *added;
    while (x->run.size < runs && x->recordings < 2 * runs && record(x, &added)) {
    }
}
