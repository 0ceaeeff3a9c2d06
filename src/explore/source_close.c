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
    /* Under way, the first is the present one; none: a random run. Several are run together. */
    HD_VECTOR(struct closing_work *) work;
    uint32_t random; /* random runs since the last that was new */
    uint64_t runs;
    uint64_t first; /* number of the present run */
    bool full;      /* no more memory */
};

static void begin_close(struct explorer *x) {
    struct closing_state *state = hd_zalloc(1, sizeof *state);
    state->closing = closing_new(x->deadline);
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
    size_t ahead = (size_t)(x->number - state->first);
    while (state->work.size <= ahead) {
        struct closing_work *work = closing_next(state->closing);
        if (work == NULL) break;
        /* NOLINTNEXTLINE(bugprone-sizeof-expression): a list of pointers */
        hd_vector_push(&state->work, work);
    }
    steering->scheduler = HD_SCHED_SERIAL;
    steering->no_trace = false;
    steering->full = true;
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
    struct hd_error ignored;
    (void)wanted;
    state->runs++;
    bool there = run->trace_path[0] != '\0' && run->outcome.kind != HD_OUTCOME_HANG &&
                 hd_trace_load(run->trace_path, NULL, &trace, &ignored);
    if (run->outcome.kind == HD_OUTCOME_HANG)
        closing_add_reason(closing, "a run hangs", NULL, HD_NONE);
    if (there && trace.threads > x->result->threads) x->result->threads = trace.threads;
    if (there && trace.events > x->result->events) x->result->events = trace.events;
    for (; state->first < x->number && state->work.size > 0; state->first++)
        closing_give_back(closing, take_first(state)); /* it could not be run */
    state->first = x->number + 1;
    if (state->work.size > 0) {
        closing_done(closing, take_first(state), there ? &trace : NULL);
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

static void give_back(struct closing_state *state) {
    for (size_t i = 0; i < state->work.size; i++)
        closing_give_back(state->closing, state->work.data[i]);
    state->work.size = 0;
}

void explore_conclude_closing(struct explorer *x) {
    struct closing_state *state = x->closing;
    struct hd_exploration *result = x->result;
    if (state == NULL) return;
    struct closing *closing = state->closing;
    give_back(state);
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
    give_back(state);
    hd_vector_free(&state->work);
    closing_free(state->closing);
    free(state);
    x->closing = NULL;
}

const struct source explore_close = {
    .begin = begin_close, .next = next_close, .learn = learn_close, .independent = true};
