/* What a run did that closing has no choice for: with any of it, that nothing is left can't be
 * said. */
#include "explore/closing.h"

#include "base/alloc.h"

#include <stdlib.h>

static const char *note_words(unsigned note) {
    switch (note) {
    case HD_NOTE_TIME:
        return "the program asks for the time";
    case HD_NOTE_RANDOM:
        return "the program asks for random bytes";
    case HD_NOTE_INPUT:
        return "the program reads input";
    case HD_NOTE_CHOICE:
        return "what a call does depends on more than what was seen (a cancellation, a fork, a "
               "thread joined if it has ended, a lock that prefers writers)";
    default:
        return NULL;
    }
}

/* A one-time initialisation whose begin the trace has; others are orders that a pipe, a signal
 * handler or OpenMP makes. */
static bool sees_begin(const struct closing_view *view, uint32_t u) {
    while (view->use[u].from < CLOSING_NEVER) u = view->use[u].from;
    return view->model.kind[view->use[u].event] == HD_EV_NOTE;
}

static const char *event_words(const struct closing_view *view, uint32_t e) {
    const struct hd_model *model = &view->model;
    uint32_t u = view->use_start[e];
    bool shared = u < view->use_start[e + 1] && view->cell_shared[view->use[u].cell];
    switch (model->kind[e]) {
    case HD_EV_NOTE:
        if (model->flags[e] == (HD_NOTE_ONCE | HD_NOTE_FIRST << HD_NOTE_OBJECT_SHIFT))
            return view->use[u].from != HD_NONE ? "an initialisation was given up" : NULL;
        return note_words(model->flags[e] & HD_NOTE_TYPE_MASK);
    case HD_EV_HANDLER_ENTER:
        return "a signal handler runs";
    case HD_EV_WAIT:
        return hd_trace_extra(model->trace, e, 0) == 0 ? "a wait ends without a signal" : NULL;
    case HD_EV_ONCE_PASS:
        return shared && !sees_begin(view, u)
                   ? "several threads meet at an order that no call of theirs makes"
                   : NULL;
    default:
        return NULL;
    }
}

/* Memory that is gone: what the program does with it is not defined. */
static bool sees_free(const struct closing_view *view, uint32_t e) {
    for (uint32_t u = view->use_start[e]; u < view->use_start[e + 1]; u++) {
        uint32_t from = view->use[u].from;
        if (from < CLOSING_NEVER && view->model.kind[view->use[from].event] == HD_EV_FREE)
            return true;
    }
    return false;
}

static const char *gone(const struct hd_model *model, uint32_t e, const char *memory,
                        const char *descriptor) {
    const uint32_t *location;
    bool closed = hd_model_locations(model, e, &location) > 0 &&
                  hd_trace_is_descriptor(model->trace, model->location[location[0]].address);
    return closed ? descriptor : memory;
}

/* What is waited for is known when the wait ends, or the run. */
static void find_waits(struct closing *c, const struct closing_view *view) {
    const struct hd_model *model = &view->model;
    for (uint32_t e = 0; e < model->events; e++)
        if (model->kind[e] == HD_EV_RELEASE && (model->flags[e] & HD_LOCK_BY_WAIT) &&
            view->use_start[e] + 1 == view->use_start[e + 1])
            closing_add_reason(c, "the program ends while a thread begins to wait", model, e);
}

/* Memory that is freed while another thread may still access it may come back as something else. */
static void find_early_frees(struct closing *c, const struct closing_view *view) {
    const struct hd_model *model = &view->model;
    for (uint32_t f = 0; f < model->events; f++) {
        if (model->kind[f] != HD_EV_FREE) continue;
        const uint32_t *location;
        uint32_t count = hd_model_locations(model, f, &location);
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t k = model->location_start[location[i]];
                 k < model->location_start[location[i] + 1]; k++) {
                uint32_t e = model->location_event[k], t = model->thread[e];
                if (t != model->thread[f] && view->position[e] >= closing_past(view, f)[t])
                    closing_add_reason(c,
                                       gone(model, e, "memory may be accessed after it was freed",
                                            "a descriptor may be used after it was closed"),
                                       model, e);
            }
    }
}

static void find_ends(struct closing *c, const struct closing_view *view) {
    const struct hd_model *model = &view->model;
    const struct hd_trace_end *end = &model->trace->end;
    if (!end->whole || end->lost_events > 0)
        closing_add_reason(c, "a run's trace is not whole", model, HD_NONE);
    if (!model->trace->exact)
        closing_add_reason(c, "the order of a run's events is not exact", model, HD_NONE);
    if (end->signaled || end->deadlocked) {
        uint32_t e = view->crash;
        for (uint32_t u = e != HD_NONE ? view->use_start[e] : 0;
             e != HD_NONE && u < view->use_start[e + 1]; u++)
            if ((view->use[u].does & CLOSING_WRITES) && view->cell_shared[view->use[u].cell])
                closing_add_reason(c, "the program crashes right after a write that others may see",
                                   model, e);
        return;
    }
    for (uint32_t t = 1; t < view->threads; t++) {
        uint32_t steps = closing_steps(view, t);
        uint32_t last = steps > 0 ? closing_step(view, t, steps - 1) : HD_NONE;
        if (last == HD_NONE || model->kind[last] != HD_EV_END)
            closing_add_reason(c, "the program ends while a thread runs", model, last);
    }
}

static void find_strangers(struct closing *c, const struct closing_view *view) {
    const struct hd_model *model = &view->model;
    uint8_t *made = hd_zalloc(view->threads, 1);
    for (uint32_t e = 0; e < model->events; e++)
        if (model->kind[e] == HD_EV_FORK && model->object[e] < view->threads)
            made[model->object[e]] = 1;
    for (uint32_t t = 1; t < view->threads; t++)
        if (!made[t])
            closing_add_reason(c, "a thread is made by code that is not instrumented", model,
                               HD_NONE);
    free(made);
}

void closing_find_limits(struct closing *c, const struct closing_view *view) {
    const struct hd_model *model = &view->model;
    for (uint32_t e = 0; e < model->events; e++) {
        const char *words = view->limit[e] == CLOSING_LONG
                                ? "that a time limit of more than a second is up was not tried"
                                : event_words(view, e);
        if (words != NULL) closing_add_reason(c, words, model, e);
        if (view->use_start[e] < view->use_start[e + 1] && hd_model_is_read(model, e) &&
            sees_free(view, e))
            closing_add_reason(c,
                               gone(model, e, "memory is read after it was freed",
                                    "a descriptor is used after it was closed"),
                               model, e);
    }
    find_waits(c, view);
    find_early_frees(c, view);
    find_ends(c, view);
    find_strangers(c, view);
}
