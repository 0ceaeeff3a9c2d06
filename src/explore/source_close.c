/* The source that closes: what closing.h wants is run, each run that is new is asked for races and
 * deadlocks, and when nothing is left, random runs check that it really knows all.
 *
 * A plain hunt has it twice. First for small tests: it gives up where runs are too long or what is
 * known to be left would take longer than the time that it has. In the end it goes on where it
 * stopped, as a search, for as long as there is time. */
#include "explore/explorer.h"

#include "base/memory.h"
#include "explore/closing.h"

#include <stdio.h>
#include <string.h>

#define RANDOM_RUNS 30u /* behind every "complete" */
/* Hook calls of a run, nearly all of which are steps, in a plain hunt. What a run of so many steps
 * leaves to be asked takes seconds, and one that long has never closed. */
#define MOST_CALLS 20000u
#define LEAST_RUNS 8u      /* that tell how long one takes */
#define AFTER_FAILURE 0.25 /* of the time that a plain hunt gives to it, if something fails */

struct closing_state {
    struct closing *closing;
    /* Under way, the first is the present one; none: a random run. Several are run together. */
    HD_VECTOR(struct closing_work *) work;
    uint32_t random; /* random runs since the last that was new */
    uint64_t runs;
    uint64_t first; /* number of the present run */
    bool full;      /* no more memory */
    /* of the present stage */
    bool small;   /* it is to end if the time is not enough */
    double until; /* it ends then */
    double began;
    uint64_t stage_runs;
};

/* ---- stages --------------------------------------------------------------------------------- */

static void give_back(struct closing_state *state) {
    for (size_t i = 0; i < state->work.size; i++)
        closing_give_back(state->closing, state->work.data[i]);
    state->work.size = 0;
}

static void begin_stage(struct explorer *x, bool small, double until) {
    if (x->closing == NULL) {
        x->closing = hd_zalloc(1, sizeof *x->closing);
        x->closing->closing = closing_new(until);
    }
    struct closing_state *state = x->closing;
    give_back(state);
    closing_set_until(state->closing, until);
    state->small = small;
    state->until = until;
    state->began = hd_seconds_now();
    state->stage_runs = 0;
    state->first = 0;
}

static bool is_long(const struct explorer *x) {
    return !x->options->complete && x->calls > MOST_CALLS;
}

static void begin_close(struct explorer *x) {
    if (!is_long(x)) begin_stage(x, false, x->deadline);
}

static void begin_close_small(struct explorer *x) {
    if (!is_long(x)) begin_stage(x, true, x->phase_end);
}

/* Seconds for what is known to be left, by the rate of runs so far; it grows while more becomes
 * known. Negative: not known yet. */
static double seconds_left(const struct closing_state *state) {
    double spent = hd_seconds_now() - state->began;
    if (state->stage_runs < LEAST_RUNS) return -1;
    return (double)closing_left(state->closing) * spent / (double)state->stage_runs;
}

static bool is_out_of_time(const struct explorer *x) {
    const struct closing_state *state = x->closing;
    double until = state->until;
    if (state->small && x->result->failures > 0)
        until = state->began + (until - state->began) * AFTER_FAILURE;
    double left = until - hd_seconds_now();
    return left <= 0 || (state->small && seconds_left(state) > left);
}

/* ---- runs ----------------------------------------------------------------------------------- */

static void say_progress(struct explorer *x, const struct closing_state *state) {
    uint64_t left = closing_left(state->closing);
    double seconds = seconds_left(state);
    int used = snprintf(x->best, sizeof x->best, "%llu ways run, %llu known ones left",
                        (unsigned long long)closing_runs(state->closing), (unsigned long long)left);
    if (seconds >= 0 && left > 0)
        snprintf(x->best + used, sizeof x->best - (size_t)used, ", %.0f s for these", seconds);
    x->all = (uint32_t)(x->number + left);
}

static bool next_close(struct explorer *x, struct wanted *wanted) {
    struct closing_state *state = x->closing;
    struct hd_steering *steering = &wanted->steering;
    if (state == NULL || state->full || is_out_of_time(x)) return false;
    wanted->own_schedule = true;
    size_t ahead = (size_t)(x->number - state->first);
    while (state->work.size <= ahead) {
        struct closing_work *work = closing_next(state->closing);
        if (work == NULL) break;
        /* NOLINTNEXTLINE(bugprone-sizeof-expression): a list of pointers */
        hd_vector_push(&state->work, work);
    }
    steering->scheduler = HD_SCHED_SERIAL;
    steering->no_trace = false;
    steering->states = true;
    steering->unchecked = true;
    steering->patience_ms = x->patience_ms;
    say_progress(x, state);
    if (ahead < state->work.size) {
        steering->policy = HD_POLICY_REPLAY;
        steering->schedule = &state->work.data[ahead]->schedule;
        return true;
    }
    if (ahead > 0 || state->random >= RANDOM_RUNS || closing_reasons(state->closing)->size > 0)
        return false;
    steering->policy = HD_POLICY_POS;
    steering->seed = x->options->seed + 1 + state->random;
    return true;
}

static struct closing_work *take_first(struct closing_state *state) {
    struct closing_work *work = state->work.data[0];
    memmove(state->work.data, state->work.data + 1, --state->work.size * sizeof *state->work.data);
    return work;
}

static void learn_close(struct explorer *x, const struct wanted *wanted,
                        const struct hd_result *run) {
    struct closing_state *state = x->closing;
    struct closing *closing = state->closing;
    struct hd_trace trace;
    struct hd_trace_options all = explore_reading(x);
    all.keep = HD_KEEP_ALL; /* each access is a place for a switch */
    struct hd_error ignored;
    (void)wanted;
    state->runs++;
    state->stage_runs++;
    bool fresh = true; /* until it is known */
    bool there = run->trace_path[0] != '\0' && run->outcome.kind != HD_OUTCOME_HANG &&
                 hd_trace_load(run->trace_path, &all, &trace, &ignored);
    if (run->outcome.kind == HD_OUTCOME_HANG)
        closing_add_reason(closing, "a run hangs", NULL, HD_NONE);
    if (there && trace.threads > x->result->threads) x->result->threads = trace.threads;
    if (there && trace.events > x->result->events) x->result->events = trace.events;
    for (; state->first < x->number && state->work.size > 0; state->first++)
        closing_give_back(closing, take_first(state)); /* it could not be run */
    state->first = x->number + 1;
    if (state->work.size > 0) {
        fresh = closing_done(closing, take_first(state), there ? &trace : NULL);
    } else if (there) {
        fresh = !closing_check(closing, &trace);
        state->random = fresh ? 0 : state->random + 1;
    } else {
        state->random = RANDOM_RUNS;
    }
    if (closing_bytes(closing) > hd_memory_limit() / 2) {
        closing_add_reason(closing, "the runs do not fit into memory", NULL, HD_NONE);
        state->full = true;
    }
    if (fresh && !hd_outcome_failed(&run->outcome) && !explore_ask_run(x, run))
        closing_add_reason(closing, "it was not decided whether a run has races and deadlocks",
                           NULL, HD_NONE);
}

/* ---- what came of it ------------------------------------------------------------------------ */

bool explore_is_closed(const struct explorer *x) {
    const struct closing_state *state = x->closing;
    return state != NULL && state->runs > 0 && state->random >= RANDOM_RUNS && !state->full &&
           closing_left(state->closing) == 0 && closing_reasons(state->closing)->size == 0;
}

static const char *why_it_ended(const struct hd_exploration *result) {
    return result->interrupted             ? "it was interrupted"
           : result->end == HD_END_RUNS    ? "no more runs were allowed"
           : result->end == HD_END_FAILURE ? "it ended at the first failure"
                                           : "the time was up";
}

static void conclude_unbegun(struct explorer *x) {
    const char *why = why_it_ended(x->result);
    if (is_long(x))
        why = hd_finding_text(&x->own,
                              "runs are long: %llu accesses and calls (--complete begins anyway)",
                              (unsigned long long)x->calls);
    hd_vector_push(&x->result->closed.reason, why);
}

/* Every run was asked for them. What was predicted and never came about is neither. */
static enum hd_closed_races find_races(const struct explorer *x) {
    enum hd_closed_races races = HD_CLOSED_NO_RACES;
    for (size_t i = 0; i < x->target.size; i++) {
        const struct target *target = x->target.data[i];
        if (target->depth != DEPTH_EXACT || target->finding->kind != HD_FINDING_RACE) continue;
        if (target->reached || target->failed) return HD_CLOSED_RACES;
        races = HD_CLOSED_RACES_UNKNOWN;
    }
    return races;
}

void explore_conclude_closing(struct explorer *x) {
    struct closing_state *state = x->closing;
    struct hd_exploration *result = x->result;
    if (x->options->plan != HD_PLAN_HUNT || x->options->suspicions != NULL) return;
    result->closed.there = true;
    if (state == NULL) {
        conclude_unbegun(x);
        return;
    }
    struct closing *closing = state->closing;
    give_back(state);
    struct hd_closing_end *closed = &result->closed;
    closed->classes = closing_classes(closing);
    closed->runs = state->runs;
    closed->left = closing_left(closing);
    if (closed->left > 0 || state->runs == 0) {
        bool failed = result->failures > 0 && state->small && result->end == HD_END_EXHAUSTED &&
                      !result->interrupted;
        const char *why = failed ? "it was not gone on with after a failure (--complete does)"
                                 : why_it_ended(result);
        closing_add_reason(closing, why, NULL, HD_NONE);
    }
    const closing_reason_list *reasons = closing_reasons(closing);
    if (reasons->size == 0 && state->random < RANDOM_RUNS)
        closing_add_reason(closing, "the random runs that check it were not all done", NULL,
                           HD_NONE);
    for (size_t i = 0; i < reasons->size; i++)
        hd_vector_push(&closed->reason, explore_text(x, reasons->data[i].text));
    closed->complete = closed->left == 0 && closed->reason.size == 0;
    closed->races = find_races(x);
}

void explore_free_closing(struct explorer *x) {
    if (x->closing == NULL) return;
    struct closing_state *state = x->closing;
    give_back(state);
    hd_vector_free(&state->work);
    closing_free(state->closing);
    free(state);
    x->closing = NULL;
}

const struct source explore_close = {
    .begin = begin_close, .next = next_close, .learn = learn_close, .independent = true};
const struct source explore_close_small = {
    .begin = begin_close_small, .next = next_close, .learn = learn_close, .independent = true};
