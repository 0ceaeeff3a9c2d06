/* The source that closes: what closing.h wants is run, and when nothing is left, random runs check
 * that it really knows all. */
#include "explore/explorer.h"

#include "base/memory.h"
#include "explore/closing.h"

#include <stdio.h>
#include <string.h>

#define RANDOM_RUNS 30u /* behind every "complete" */

struct closing_state {
    struct closing *closing;
    struct closing_work *work; /* under way; NULL: a random run */
    uint32_t random;           /* random runs since the last that was new */
    uint64_t runs;
    bool full; /* no more memory */
};

static void begin_close(struct explorer *x) {
    struct closing_state *state = hd_zalloc(1, sizeof *state);
    state->closing = closing_new();
    x->closing = state;
}

static void say_progress(struct explorer *x, const struct closing_state *state) {
    uint64_t left = closing_left(state->closing);
    snprintf(x->best, sizeof x->best, "%llu ways run, %llu known ones left",
             (unsigned long long)closing_runs(state->closing), (unsigned long long)left);
    x->all = (uint32_t)(x->number + left);
}

static bool next_close(struct explorer *x, struct wanted *wanted) {
    struct closing_state *state = x->closing;
    struct hd_steering *steering = &wanted->steering;
    if (state->full) return false;
    wanted->own_schedule = true;
    state->work = closing_next(state->closing);
    steering->scheduler = HD_SCHED_SERIAL;
    steering->no_trace = false;
    steering->full = true;
    steering->states = true;
    steering->unchecked = true;
    steering->patience_ms = x->patience_ms;
    say_progress(x, state);
    if (state->work != NULL) {
        steering->policy = HD_POLICY_REPLAY;
        steering->schedule = &state->work->schedule;
        return true;
    }
    if (state->random >= RANDOM_RUNS || closing_reasons(state->closing)->size > 0) return false;
    steering->policy = HD_POLICY_POS;
    steering->seed = x->options->seed + 1 + state->random;
    return true;
}

static void learn_close(struct explorer *x, const struct wanted *wanted,
                        const struct hd_result *run) {
    struct closing_state *state = x->closing;
    struct closing *closing = state->closing;
    struct hd_trace trace;
    struct hd_error ignored;
    (void)wanted;
    state->runs++;
    bool there = run->trace_path[0] != '\0' && run->outcome.kind != HD_OUTCOME_HANG &&
                 hd_trace_load(run->trace_path, NULL, &trace, &ignored);
    if (run->outcome.kind == HD_OUTCOME_HANG)
        closing_add_reason(closing, "a run hangs", NULL, HD_NONE);
    if (there && trace.threads > x->result->threads) x->result->threads = trace.threads;
    if (there && trace.events > x->result->events) x->result->events = trace.events;
    if (state->work != NULL) {
        closing_done(closing, state->work, there ? &trace : NULL);
        state->work = NULL;
    } else if (there) {
        state->random = closing_check(closing, &trace) ? state->random + 1 : 0;
    } else {
        state->random = RANDOM_RUNS;
    }
    if (closing_bytes(closing) > hd_memory_limit() / 2) {
        closing_add_reason(closing, "the runs do not fit into memory", NULL, HD_NONE);
        state->full = true;
    }
}

void explore_conclude_closing(struct explorer *x) {
    struct closing_state *state = x->closing;
    struct hd_exploration *result = x->result;
    if (state == NULL) return;
    struct closing *closing = state->closing;
    if (state->work != NULL) closing_give_back(closing, state->work);
    state->work = NULL;
    struct hd_closed *closed = &result->closed;
    closed->there = true;
    closed->classes = closing_classes(closing);
    closed->runs = state->runs;
    closed->left = closing_left(closing);
    if (closed->left > 0 || state->runs == 0) {
        const char *why = result->interrupted             ? "it was interrupted"
                          : result->end == HD_END_RUNS    ? "no more runs were allowed"
                          : result->end == HD_END_FAILURE ? "it ended at the first failure"
                                                          : "the time was up";
        closing_add_reason(closing, why, NULL, HD_NONE);
    }
    const closing_reason_list *reasons = closing_reasons(closing);
    if (reasons->size == 0 && state->random < RANDOM_RUNS)
        closing_add_reason(closing, "the random runs that check it were not all done", NULL,
                           HD_NONE);
    for (size_t i = 0; i < reasons->size; i++)
        hd_vector_push(&closed->reason, explore_text(x, reasons->data[i].text));
    closed->complete = closed->left == 0 && closed->reason.size == 0;
}

void explore_free_closing(struct explorer *x) {
    if (x->closing == NULL) return;
    struct closing_state *state = x->closing;
    if (state->work != NULL) closing_give_back(state->closing, state->work);
    closing_free(state->closing);
    free(state);
    x->closing = NULL;
}

const struct source explore_close = {
    .begin = begin_close, .next = next_close, .learn = learn_close};
