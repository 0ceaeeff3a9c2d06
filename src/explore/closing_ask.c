/* What else could each step of a run that reads see, and what could a thread do that another's
 * crash stopped? See closing.h. */
#include "explore/closing_parts.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <assert.h>
#include <string.h>

#define MOST_COMBINATIONS 4096u /* of what one access over several locations may see */

/* ---- alternatives --------------------------------------------------------------------------- */

struct alternatives {
    struct closing *c;
    const struct closing_view *view;
    uint32_t number;        /* of the view */
    const uint32_t *pinned; /* by thread: steps */
    uint32_t event, thread, position;
    uint32_t *before; /* by thread: steps that the event needs, whatever it sees */
    uint32_t *past;   /* and with what it sees */
    uint32_t *steps;  /* the pins that are asked about */
    HD_VECTOR(uint32_t) from;
    uint32_t wakes; /* HD_NONE: nobody */
    bool expires;   /* the time of its wait is up */
    uint64_t asked;
};

static bool is_compare(const struct closing_view *view, uint32_t event) {
    uint8_t kind = view->model.kind[event];
    return (kind == HD_EV_ATOMIC_READ || kind == HD_EV_ATOMIC_UPDATE) &&
           (view->model.flags[event] & HD_ATOMIC_COMPARES) != 0;
}

static unsigned lets_after(const struct closing_view *view, const struct closing_use *use,
                           uint32_t source) {
    return source == HD_NONE ? view->cell_lets[use->cell] : view->use[source].lets;
}

/* Does the thread wait for a condition variable right after another operation of it? */
static bool is_waiting(const struct closing_view *view, uint32_t source, uint32_t thread) {
    if (source >= CLOSING_NEVER) return false;
    const struct closing_use *use = &view->use[source];
    for (uint32_t i = 0; i < use->waiters; i++)
        if (view->waiter[use->waiting + i] == thread) return true;
    return false;
}

/* Can an operation on a lock or the like come right after another one of it? */
static bool is_let(const struct closing_view *view, const struct closing_use *use,
                   uint32_t source) {
    if (view->model.kind[use->event] == HD_EV_WAIT_TIMEOUT)
        return is_waiting(view, source, view->model.thread[use->event]);
    unsigned asks = closing_asks(view, use->event);
    return asks == 0 || closing_is_try(view, use->event) || (lets_after(view, use, source) & asks);
}

/* Does an operation end what its thread itself has begun: a section, an initialisation? */
static bool is_end(const struct closing_view *view, const struct closing_use *use) {
    uint8_t kind = view->model.kind[use->event];
    bool lock =
        use->cell >= view->memory_cells && use->cell < view->memory_cells + view->model.locks;
    return (lock && kind == HD_EV_RELEASE) || kind == HD_EV_ONCE_DONE ||
           (kind == HD_EV_NOTE && closing_asks(view, use->event) == 0);
}

/* Quick signs that an event can't see a write. */
static bool is_out(const struct alternatives *a, const struct closing_use *use, uint32_t source) {
    const struct closing_view *view = a->view;
    if (source == use->from) return false;
    if (is_end(view, use)) return true; /* it comes after its own begin */
    if (use->cell >= view->memory_cells && !is_let(view, use, source)) return true;
    if (source == HD_NONE) {
        for (uint32_t i = view->cell_start[use->cell]; i < view->cell_start[use->cell + 1]; i++) {
            uint32_t other = view->use[view->cell_use[i]].event;
            if (view->position[other] < a->before[view->model.thread[other]]) return true;
        }
        return false;
    }
    uint32_t writer = view->use[source].event;
    if (writer == a->event || closing_past(view, writer)[a->thread] > a->position) return true;
    if (use->from >= CLOSING_NEVER) return false;
    uint32_t usual = view->use[use->from].event;
    return view->position[usual] < a->before[view->model.thread[usual]] && usual != writer &&
           closing_past(view, usual)[view->model.thread[writer]] > view->position[writer];
}

/* Takes the event for one that writes, or not, in turn: bit 0 as not writing, bit 1 as writing. */
static unsigned ways_to_write(const struct alternatives *a) {
    const struct closing_view *view = a->view;
    if (is_compare(view, a->event)) return 3;
    uint32_t u = view->use_start[a->event];
    if (closing_is_try(view, a->event))
        return lets_after(view, &view->use[u], a->from.data[0]) & closing_asks(view, a->event) ? 2
                                                                                               : 1;
    if (view->model.kind[a->event] == HD_EV_BLOCKED || a->expires) return 2;
    return view->use[u].does & CLOSING_WRITES ? 2 : 1;
}

static void make_alternative_pins(const struct alternatives *a, const uint32_t *steps,
                                  closing_pins *pins) {
    const struct closing_view *view = a->view;
    closing_make_pins(view, steps, pins);
    struct closing_choice choice = {a->from.data, a->wakes, a->expires};
    uint64_t hash =
        closing_hash_step(view, closing_hash(view, a->thread, a->position), a->event, &choice);
    for (size_t i = 0; i < pins->size; i++)
        if (pins->data[i].thread == view->thread_id[a->thread]) {
            pins->data[i].hash = hash;
            pins->data[i].steps = a->position + 1;
        }
}

static void want(struct alternatives *a, const closing_pins *pins, const closing_events *order,
                 bool writes, bool not_writing) {
    struct closing_work *work = hd_zalloc(1, sizeof *work);
    work->aim = CLOSING_FORCED;
    closing_copy_pins(&work->pins, pins);
    work->reader = a->view->thread_id[a->thread];
    work->not_writing = not_writing;
    for (size_t i = 0; i < a->from.size; i++)
        work->pair += closing_pair(a->view, a->event, a->from.data[i]);
    make_alternative_pins(a, a->past, &work->before);
    /* A lock or semaphore with a time limit that is asked for in vain: that is up too. */
    bool late = !writes && a->view->limit[a->event] == CLOSING_SHORT;
    struct hd_otherwise otherwise = {
        .event = a->event, .wakes = a->wakes, .expires = a->expires || late};
    if (closing_make_schedule(a->c, a->view, order, otherwise, &work->schedule))
        closing_add_work(a->c, work);
    else
        closing_free_work(work);
}

static void decide(struct alternatives *a, const closing_pins *pins) {
    struct closing *c = a->c;
    uint32_t known = closing_find_view(c, pins);
    if (known != HD_NONE) {
        closing_add_item(c, known, pins);
        return;
    }
    /* What it was blocked in is no step: the pins have one more than there are. */
    bool blocked = a->view->position[a->event] == HD_NONE;
    if (blocked) a->steps[a->thread]--;
    struct closing_question question = {.view = a->view,
                                        .steps = a->steps,
                                        .reader = a->event,
                                        .from = a->from.data,
                                        .expires = a->expires,
                                        .reader_past = a->past};
    closing_events order = {0};
    unsigned ways = ways_to_write(a);
    enum closing_verdict verdict = CLOSING_IMPOSSIBLE;
    for (int writes = 1; writes >= 0 && verdict == CLOSING_IMPOSSIBLE; writes--) {
        if (!(ways >> writes & 1)) continue;
        question.writes = writes;
        verdict = closing_order(&question, &order);
        if (verdict == CLOSING_POSSIBLE) want(a, pins, &order, writes, !writes && ways == 3);
    }
    if (verdict == CLOSING_UNDECIDED)
        closing_add_reason(c, "it was too hard to say whether a read can see a write",
                           &a->view->model, a->event);
    hd_vector_free(&order);
    if (blocked) a->steps[a->thread]++;
}

/* The event sees a->from. */
static void ask(struct alternatives *a) {
    const struct closing_view *view = a->view;
    memcpy(a->past, a->before, view->threads * sizeof *a->past);
    for (size_t i = 0; i < a->from.size; i++)
        if (a->from.data[i] < CLOSING_NEVER)
            closing_take_past(view, a->past, view->use[a->from.data[i]].event);
    if (a->past[a->thread] > a->position) return;
    a->past[a->thread] = a->position + 1;
    for (uint32_t t = 0; t < view->threads; t++)
        a->steps[t] = a->past[t] > a->pinned[t] ? a->past[t] : a->pinned[t];
    if (a->steps[a->thread] > a->position + 1) return;
    closing_pins pins = {0};
    make_alternative_pins(a, a->steps, &pins);
    uint32_t *slot = hd_map_slot(&a->c->asked, closing_key(&pins), 0);
    if (*slot == 0) {
        *slot = 1;
        decide(a, &pins);
    }
    hd_vector_free(&pins);
}

/* A signal wakes one of those that wait then. */
static void ask_whom(struct alternatives *a, bool other) {
    const struct closing_view *view = a->view;
    uint32_t source = a->from.size > 0 ? a->from.data[0] : HD_NONE;
    uint32_t waiters = source < CLOSING_NEVER ? view->use[source].waiters : 0;
    for (uint32_t i = 0; i < waiters; i++) {
        a->wakes = view->waiter[view->use[source].waiting + i];
        if (other || a->wakes != view->woken[a->event]) ask(a);
    }
    a->wakes = HD_NONE;
    if (other && waiters == 0) ask(a);
}

/* All that the event's uses from `u` on may see, with what the earlier ones see in a->from. */
static void choose(struct alternatives *a, uint32_t u, bool other) {
    const struct closing_view *view = a->view;
    while (u < view->use_start[a->event + 1] && !(view->use[u].does & CLOSING_READS)) u++;
    if (u == view->use_start[a->event + 1]) {
        if (view->model.kind[a->event] == HD_EV_SIGNAL)
            ask_whom(a, other);
        else if (other)
            ask(a);
        return;
    }
    if (++a->asked > MOST_COMBINATIONS) return;
    const struct closing_use *use = &view->use[u];
    if (use->from != CLOSING_NEVER) {
        hd_vector_push(&a->from, use->from);
        choose(a, u + 1, other);
        a->from.size--;
    }
    if (!view->cell_shared[use->cell]) return;
    uint32_t writes = view->cell_start[use->cell + 1] - view->cell_start[use->cell];
    for (uint32_t i = 0; i <= writes; i++) {
        uint32_t source = i == 0 ? HD_NONE : view->cell_use[view->cell_start[use->cell] + i - 1];
        if (source == use->from || is_out(a, use, source)) continue;
        hd_vector_push(&a->from, source);
        choose(a, u + 1, true);
        a->from.size--;
    }
}

static void find_before(struct alternatives *a) {
    const struct hd_model *model = &a->view->model;
    memset(a->before, 0, a->view->threads * sizeof *a->before);
    if (a->position > 0)
        closing_take_past(a->view, a->before, closing_step(a->view, a->thread, a->position - 1));
    const uint32_t *edge;
    uint32_t edges = hd_model_edges_into(model, a->event, &edge);
    for (uint32_t i = 0; i < edges; i++) {
        const struct hd_edge *it = &model->edge[edge[i]];
        bool signal = it->type == HD_EDGE_SIGNAL && !a->expires;
        if (it->type == HD_EDGE_FORK || it->type == HD_EDGE_JOIN || signal ||
            it->type == HD_EDGE_BARRIER)
            closing_take_past(a->view, a->before, it->from);
    }
}

/* A wait that ended otherwise, or never: its time could have been up before, at any moment of it.
 */
static void ask_expiry(struct alternatives *a) {
    const struct closing_view *view = a->view;
    uint32_t u = view->use_start[a->event];
    if (u == view->use_start[a->event + 1] || !(view->use[u].does & CLOSING_EXPIRES)) return;
    a->expires = true;
    find_before(a);
    uint32_t cell = view->use[u].cell;
    for (uint32_t i = view->cell_start[cell]; i < view->cell_start[cell + 1]; i++) {
        uint32_t source = view->cell_use[i];
        if (!is_waiting(view, source, a->thread)) continue;
        a->from.size = 0;
        hd_vector_push(&a->from, source);
        ask(a);
    }
    a->from.size = 0;
}

static void ask_about(struct alternatives *a, uint32_t event, uint32_t position) {
    a->event = event;
    a->position = position;
    a->from.size = 0;
    a->wakes = HD_NONE;
    a->expires = a->view->model.kind[event] == HD_EV_WAIT_TIMEOUT;
    a->asked = 0;
    find_before(a);
    choose(a, a->view->use_start[event], false);
    if (a->asked > MOST_COMBINATIONS)
        closing_add_reason(a->c, "an access sees too many writes at once", &a->view->model, event);
    ask_expiry(a);
}

/* ---- threads that another's crash stopped ---------------------------------------------------- */

static bool is_finished(const struct closing_view *view, uint32_t t) {
    uint32_t steps = closing_steps(view, t);
    return steps > 0 && view->model.kind[closing_step(view, t, steps - 1)] == HD_EV_END;
}

/* Can the thread, as far as the run tells, not go on by itself? What it waits for may have come: a
 * thread that it joins has ended, and it had no turn since. */
static bool is_stuck(const struct closing_view *view, uint32_t t) {
    uint32_t blocked = view->blocked[t];
    if (blocked == HD_NONE) return false;
    switch (view->model.flags[blocked]) {
    case HD_WAIT_LOCK: /* asked about as a step that saw nothing */
    case HD_WAIT_SEM:
    case HD_WAIT_ONCE:
    case HD_WAIT_COND: /* the signal that ends it writes its event */
        return true;
    case HD_WAIT_JOIN:
        return view->model.object[blocked] < view->threads &&
               !is_finished(view, view->model.object[blocked]);
    default:
        return false;
    }
}

/* What has come that the thread waited for comes before its next step: the end of a thread that it
 * joins, all arrivals at its barrier. */
static void take_awaited(const struct closing_view *view, uint32_t *past, uint32_t t) {
    const struct hd_model *model = &view->model;
    uint32_t blocked = view->blocked[t], steps = closing_steps(view, t);
    if (blocked == HD_NONE) return;
    if (model->flags[blocked] == HD_WAIT_JOIN && model->object[blocked] < view->threads) {
        uint32_t child = model->object[blocked];
        if (is_finished(view, child))
            closing_take_past(view, past,
                              closing_step(view, child, closing_steps(view, child) - 1));
    }
    uint32_t last = steps > 0 ? closing_step(view, t, steps - 1) : HD_NONE;
    if (last == HD_NONE || model->kind[last] != HD_EV_BARRIER_ARRIVE) return;
    uint64_t round = hd_trace_extra(model->trace, last, 0);
    for (uint32_t e = 0; e < model->events; e++)
        if (model->kind[e] == HD_EV_BARRIER_ARRIVE && model->object[e] == model->object[last] &&
            hd_trace_extra(model->trace, e, 0) == round)
            closing_take_past(view, past, e);
}

/* A thread that had not ended when the process died goes on first. */
static void go_further(struct alternatives *a, uint32_t t) {
    const struct closing_view *view = a->view;
    const struct hd_model *model = &view->model;
    uint32_t steps = closing_steps(view, t);
    memcpy(a->steps, a->pinned, view->threads * sizeof *a->steps);
    if (steps > 0) closing_take_past(view, a->steps, closing_step(view, t, steps - 1));
    take_awaited(view, a->steps, t);
    for (uint32_t e = 0; steps == 0 && e < model->events; e++)
        if (model->kind[e] == HD_EV_FORK && model->object[e] == t)
            closing_take_past(view, a->steps, e);
    /* With the last step of the thread that crashed, it has crashed. */
    if (view->crash != HD_NONE &&
        a->steps[model->thread[view->crash]] > view->position[view->crash])
        return;
    closing_pins pins = {0};
    closing_make_pins(view, a->steps, &pins);
    uint32_t *slot =
        hd_map_slot(&a->c->asked, hd_mix64(closing_key(&pins) + view->thread_id[t]), 0);
    if (*slot == 0) {
        *slot = 1;
        struct closing_work *work = hd_zalloc(1, sizeof *work);
        work->aim = CLOSING_FURTHER;
        work->pins = pins;
        work->reader = view->thread_id[t];
        closing_events order = {0};
        for (uint32_t e = 0; e < model->events; e++)
            if (view->position[e] < a->steps[model->thread[e]]) hd_vector_push(&order, e);
        if (closing_make_schedule(a->c, view, &order, (struct hd_otherwise){.event = HD_NONE},
                                  &work->schedule)) {
            struct hd_turn turn = {.thread = t, .calls = 1, .to = ""};
            hd_vector_push(&work->schedule.turn, turn);
            closing_add_work(a->c, work);
        } else {
            closing_free_work(work);
        }
        hd_vector_free(&order);
    } else {
        hd_vector_free(&pins);
    }
}

/* ---- items ---------------------------------------------------------------------------------- */

bool closing_process(struct closing *c, const struct closing_item *item) {
    const struct closing_view *view = c->view.data[item->view];
    uint32_t *memory = hd_zalloc((size_t)view->threads * 4, sizeof *memory);
    uint32_t *pinned = memory;
    struct alternatives a = {.c = c,
                             .view = view,
                             .number = item->view,
                             .pinned = pinned,
                             .before = memory + view->threads,
                             .past = memory + (size_t)view->threads * 2,
                             .steps = memory + (size_t)view->threads * 3};
    for (size_t i = 0; i < item->pins.size; i++) {
        uint32_t t = closing_thread(view, item->pins.data[i].thread);
        assert(t != HD_NONE);
        pinned[t] = item->pins.data[i].steps;
    }
    bool in_time = true;
    for (uint32_t t = 0; t < view->threads && in_time; t++) {
        a.thread = t;
        for (uint32_t k = pinned[t]; k < closing_steps(view, t) && in_time; k++) {
            ask_about(&a, closing_step(view, t, k), k);
            in_time = hd_seconds_now() < c->until;
        }
        if (view->blocked[t] != HD_NONE) ask_about(&a, view->blocked[t], closing_steps(view, t));
        bool crashed = view->crash != HD_NONE && t == view->model.thread[view->crash];
        if (view->cut && !crashed && !is_stuck(view, t) && !is_finished(view, t)) go_further(&a, t);
    }
    hd_vector_free(&a.from);
    free(memory);
    return in_time;
}
