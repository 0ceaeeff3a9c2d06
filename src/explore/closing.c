/* Items, keys and the runs that are known. See closing.h. */
#include "explore/closing_parts.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "explore/closing_idle.h"
#include "finding/finding.h"
#include "model/describe.h"

#include <stdio.h>
#include <string.h>

/* What else steps could see is asked of every run before the next one is chosen, so that there is
 * something to choose from. But questions about long runs must not keep the program from running:
 * so many take about as long as a run. */
#define ASKED_PER_RUN 500u

struct closing *closing_new(double until) {
    struct closing *c = hd_zalloc(1, sizeof *c);
    c->until = until;
    return c;
}

void closing_set_until(struct closing *c, double until) { c->until = until; }

void closing_free_work(struct closing_work *work) {
    hd_vector_free(&work->pins);
    hd_vector_free(&work->before);
    hd_schedule_free(&work->schedule);
    free(work);
}

void closing_free(struct closing *c) {
    if (c == NULL) return;
    for (size_t i = 0; i < c->view.size; i++) {
        closing_view_free(c->view.data[i]);
        free(c->view.data[i]);
    }
    for (size_t i = c->item_at; i < c->item.size; i++) hd_vector_free(&c->item.data[i].pins);
    for (size_t i = 0; i < c->work.heap.size; i++) closing_free_work(c->work.heap.data[i].work);
    for (size_t i = 0; i < c->reason.size; i++) free(c->reason.data[i].text);
    hd_vector_free(&c->view);
    hd_vector_free(&c->item);
    closing_queue_free(&c->work);
    hd_vector_free(&c->reason);
    hd_map_free(&c->asked);
    hd_map_free(&c->known);
    hd_map_free(&c->placed);
    hd_map_free(&c->stack);
    free(c);
}

/* ---- reasons -------------------------------------------------------------------------------- */

void closing_add_reason(struct closing *c, const char *text, const struct hd_model *model,
                        uint32_t event) {
    uint64_t key = 11;
    for (const char *at = text; *at != '\0'; at++) key = hd_mix64(key * 31 + (uint8_t)*at);
    if (event != HD_NONE) key = hd_mix64(key + model->site[event]);
    uint32_t *slot = hd_map_slot(&c->placed, key, HD_NONE);
    if (*slot != HD_NONE) {
        c->reason.data[*slot].times++;
        return;
    }
    *slot = (uint32_t)c->reason.size;
    struct closing_reason reason = {.times = 1};
    if (event != HD_NONE) {
        struct hd_describe *describe = hd_describe_open(model);
        const char *site = hd_finding_short_site(hd_describe_site(describe, event));
        reason.text = hd_format("%s%s%s", text, *site != '\0' ? ", " : "", site);
        hd_describe_close(describe);
    } else {
        reason.text = hd_format("%s", text);
    }
    hd_vector_push(&c->reason, reason);
}

const closing_reason_list *closing_reasons(const struct closing *c) { return &c->reason; }

/* ---- pins ----------------------------------------------------------------------------------- */

static int compare_pins(const void *a, const void *b) {
    uint64_t x = ((const struct closing_pin *)a)->thread;
    uint64_t y = ((const struct closing_pin *)b)->thread;
    return (x > y) - (x < y);
}

void closing_make_pins(const struct closing_view *view, const uint32_t *steps, closing_pins *pins) {
    for (uint32_t t = 0; t < view->threads; t++) {
        if (steps[t] == 0) continue;
        uint32_t known = closing_steps(view, t);
        uint32_t k = steps[t] < known ? steps[t] : known;
        struct closing_pin pin = {view->thread_id[t], closing_hash(view, t, k), steps[t]};
        hd_vector_push(pins, pin);
    }
    if (pins->size > 0) qsort(pins->data, pins->size, sizeof *pins->data, compare_pins);
}

uint64_t closing_key(const closing_pins *pins) {
    uint64_t key = 13;
    for (size_t i = 0; i < pins->size; i++) {
        const struct closing_pin *pin = &pins->data[i];
        key = hd_mix64(hd_mix64(key * 31 + pin->thread) + pin->hash) + pin->steps;
    }
    return hd_mix64(key);
}

uint32_t closing_thread(const struct closing_view *view, uint64_t id) {
    for (uint32_t t = 0; t < view->threads; t++)
        if (view->thread_id[t] == id) return t;
    return HD_NONE;
}

static bool has_pins(const struct closing_view *view, const closing_pins *pins) {
    for (size_t i = 0; i < pins->size; i++) {
        const struct closing_pin *pin = &pins->data[i];
        uint32_t t = closing_thread(view, pin->thread);
        if (t == HD_NONE || closing_steps(view, t) < pin->steps ||
            closing_hash(view, t, pin->steps) != pin->hash)
            return false;
    }
    return true;
}

void closing_copy_pins(closing_pins *to, const closing_pins *from) {
    memset(to, 0, sizeof *to);
    hd_vector_reserve(to, from->size);
    if (from->size > 0) memcpy(to->data, from->data, from->size * sizeof *from->data);
    to->size = from->size;
}

void closing_take_past(const struct closing_view *view, uint32_t *past, uint32_t event) {
    const uint32_t *other = closing_past(view, event);
    for (uint32_t t = 0; t < view->threads; t++)
        if (other[t] > past[t]) past[t] = other[t];
}

/* ---- runs ----------------------------------------------------------------------------------- */

void closing_add_item(struct closing *c, uint32_t view, const closing_pins *pins) {
    struct closing_item item = {.view = view};
    closing_copy_pins(&item.pins, pins);
    hd_vector_push(&c->item, item);
}

uint32_t closing_find_view(const struct closing *c, const closing_pins *pins) {
    for (size_t i = c->view.size; i-- > 0;)
        if (has_pins(c->view.data[i], pins)) return (uint32_t)i;
    return HD_NONE;
}

/* Rounds that wrote to their thread's stack were taken for nothing: only right if nobody else looks
 * there. */
static void look_at_stacks(struct closing *c, const struct closing_view *view) {
    const struct hd_model *model = &view->model;
    for (uint32_t l = 0; l < model->locations; l++) {
        uint32_t block = model->location[l].block;
        if (block == HD_NONE || model->block[block].type != HD_BLOCK_STACK) continue;
        uint32_t owner = model->thread[model->block[block].alloc];
        for (uint32_t i = model->location_start[l]; i < model->location_start[l + 1]; i++) {
            uint32_t e = model->location_event[i];
            if (model->thread[e] == owner) continue;
            uint32_t *slot = hd_map_slot(&c->stack, view->thread_id[owner], 0);
            *slot |= CLOSING_STACK_LENT;
            if (*slot & CLOSING_STACK_DROPPED)
                closing_add_reason(c, "the stack of a thread in a loop is accessed by another",
                                   model, e);
            break;
        }
    }
}

/* Its number, also if one of its kind is known; HD_NONE if the trace can't be used. *idle: the
 * step that the work is about ends a round that goes nowhere. */
static uint32_t add_view(struct closing *c, struct hd_trace *trace, const struct closing_work *work,
                         bool *fresh, enum closing_idle *idle) {
    uint64_t *id = closing_name_threads(trace);
    uint32_t *kept = hd_zalloc(trace->threads, sizeof *kept), reader = HD_NONE;
    for (uint32_t t = 0; work != NULL && t < trace->threads; t++) {
        for (size_t i = 0; i < work->pins.size; i++)
            if (work->pins.data[i].thread == id[t]) kept[t] = work->pins.data[i].steps;
        if (work->aim == CLOSING_FORCED && work->reader == id[t]) reader = t;
    }
    uint8_t *wrote = hd_zalloc(trace->threads, 1);
    *idle = closing_drop_idle(trace, kept, reader, wrote);
    for (uint32_t t = 0; t < trace->threads; t++)
        if (wrote[t]) {
            uint32_t *slot = hd_map_slot(&c->stack, id[t], 0);
            *slot |= CLOSING_STACK_DROPPED;
            if (*slot & CLOSING_STACK_LENT)
                closing_add_reason(c, "the stack of a thread in a loop is accessed by another",
                                   NULL, HD_NONE);
        }
    free(wrote);
    free(kept);
    struct hd_model model;
    struct hd_error error;
    if (!hd_model_build(trace, &(struct hd_model_options){.lenient = true}, &model, &error)) {
        closing_add_reason(c, error.message, NULL, HD_NONE);
        free(id);
        return HD_NONE;
    }
    struct closing_view *view = hd_zalloc(1, sizeof *view);
    closing_view_build(view, &model, id);
    view->normal = *idle == CLOSING_NORMAL;
    closing_find_limits(c, view);
    look_at_stacks(c, view);
    uint32_t *slot = hd_map_slot(&c->known, view->whole, (uint32_t)c->view.size);
    *fresh = *slot == c->view.size;
    if (!*fresh) {
        closing_view_free(view);
        free(view);
        return *slot;
    }
    c->bytes += view->bytes;
    closing_queue_saw(&c->work, view);
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): a list of pointers */
    hd_vector_push(&c->view, view);
    return *slot;
}

/* ---- wanted runs ---------------------------------------------------------------------------- */

bool closing_make_schedule(struct closing *c, const struct closing_view *view,
                           const closing_events *order, struct hd_otherwise otherwise,
                           struct hd_schedule *schedule) {
    const struct hd_model *model = &view->model;
    uint32_t *at = hd_alloc(view->threads, sizeof *at);
    HD_VECTOR(struct hd_span) span = {0};
    uint32_t next = 0;
    for (uint32_t t = 0; t < view->threads; t++) at[t] = model->thread_start[t];
    for (size_t i = 0; i < order->size; i++) {
        uint32_t t = model->thread[order->data[i]], e;
        if (view->position[order->data[i]] == HD_NONE) {
            hd_vector_push(&span, ((struct hd_span){order->data[i], 1}));
            next = 1;
            continue;
        }
        do {
            e = model->thread_event[at[t]++];
            hd_vector_push(&span, ((struct hd_span){e, 1}));
        } while (e != order->data[i]);
    }
    struct hd_error error;
    bool good = hd_schedule_from_order(schedule, model, NULL, span.data, (uint32_t)span.size, next,
                                       otherwise, &error);
    if (!good) closing_add_reason(c, error.message, model, HD_NONE);
    hd_vector_free(&span);
    free(at);
    return good;
}

void closing_add_work(struct closing *c, struct closing_work *work) {
    closing_queue_add(&c->work, work);
}

static bool next_item(struct closing *c) {
    if (c->item_at == c->item.size || hd_seconds_now() >= c->until) return false;
    struct closing_item item = c->item.data[c->item_at++];
    if (c->item_at > 1024 && c->item_at * 2 > c->item.size) {
        c->item.size -= c->item_at;
        memmove(c->item.data, c->item.data + c->item_at, c->item.size * sizeof *c->item.data);
        c->item_at = 0;
    }
    if (!closing_process(c, &item))
        closing_add_item(c, item.view, &item.pins); /* it stays to be done */
    hd_vector_free(&item.pins);
    return true;
}

struct closing_work *closing_next(struct closing *c) {
    if (!c->begun) {
        c->begun = true;
        c->under_way++;
        struct closing_work *work = hd_zalloc(1, sizeof *work);
        work->aim = CLOSING_FIRST;
        return work;
    }
    for (;;) {
        while (c->asked.count < ASKED_PER_RUN * c->view.size && next_item(c)) {
        }
        struct closing_work *work;
        while ((work = closing_queue_take(&c->work)) == NULL)
            if (!next_item(c)) return NULL;
        uint32_t known = work->aim == CLOSING_FORCED ? closing_find_view(c, &work->pins) : HD_NONE;
        if (known == HD_NONE) {
            c->under_way++;
            return work;
        }
        closing_add_item(c, known, &work->pins);
        closing_free_work(work);
    }
}

void closing_give_back(struct closing *c, struct closing_work *work) {
    c->under_way--;
    c->begun &= work->aim != CLOSING_FIRST;
    if (work->aim == CLOSING_FIRST)
        closing_free_work(work);
    else
        closing_add_work(c, work);
}

/* ---- what came of it ------------------------------------------------------------------------ */

/* It saw what it was to see, and wrote, which it was not to: then nothing has these pins, since
 * with a write they are impossible. */
static bool wrote(const struct closing_view *view, const struct closing_work *work) {
    if (!work->not_writing || !has_pins(view, &work->before)) return false;
    uint32_t t = closing_thread(view, work->reader);
    for (size_t i = 0; i < work->before.size; i++)
        if (work->before.data[i].thread == work->reader)
            return view->model.kind[closing_step(view, t, work->before.data[i].steps - 1)] ==
                   HD_EV_ATOMIC_UPDATE;
    return false;
}

/* What a read saw made its thread crash at once, before others could do their pinned steps. They
 * can't depend on it, so they can be had without it. */
static bool crashed_at_once(const struct closing_view *view, const struct closing_work *work) {
    if (view->crash == HD_NONE || !has_pins(view, &work->before)) return false;
    uint32_t t = closing_thread(view, work->reader);
    uint32_t e = view->crash;
    for (size_t i = 0; i < work->before.size; i++)
        if (work->before.data[i].thread == work->reader)
            return view->model.thread[e] == t &&
                   view->position[e] + 1 == work->before.data[i].steps &&
                   !hd_model_is_write(&view->model, e);
    return false;
}

/* What the thread did when it went on is kept as well, so that others can go on after it. */
static void pin_further(struct closing *c, uint32_t number, const struct closing_work *work) {
    const struct closing_view *view = c->view.data[number];
    uint32_t t = closing_thread(view, work->reader);
    uint32_t *steps = hd_zalloc(view->threads, sizeof *steps);
    for (size_t i = 0; i < work->pins.size; i++)
        steps[closing_thread(view, work->pins.data[i].thread)] = work->pins.data[i].steps;
    uint32_t done = closing_steps_done(view, t);
    if (done > 0) closing_take_past(view, steps, closing_step(view, t, done - 1));
    closing_pins pins = {0};
    closing_make_pins(view, steps, &pins);
    uint32_t *slot = hd_map_slot(&c->asked, closing_key(&pins), 0);
    if (*slot == 0) closing_add_item(c, number, &pins);
    *slot = 1;
    hd_vector_free(&pins);
    free(steps);
}

static void judge(struct closing *c, const struct closing_work *work, uint32_t number,
                  enum closing_idle idle) {
    const struct closing_view *view = c->view.data[number];
    bool held = has_pins(view, &work->pins);
    if (held && idle == CLOSING_IDLE_LAST)
        return; /* who has these pins is as somebody who has not waited so long */
    if (held && work->aim == CLOSING_FURTHER) {
        uint32_t t = closing_thread(view, work->reader), pinned = 0;
        for (size_t i = 0; i < work->pins.size; i++)
            if (work->pins.data[i].thread == work->reader) pinned = work->pins.data[i].steps;
        /* It goes on, or it is seen what it waits for. */
        held = t != HD_NONE && (closing_steps(view, t) > pinned || view->blocked[t] != HD_NONE);
        if (!held)
            closing_add_reason(c, "a thread could not be made to go on before another one crashed",
                               &view->model, view->crash);
        if (!held) return;
    }
    if (held) {
        closing_add_item(c, number, &work->pins);
        if (work->aim == CLOSING_FURTHER) pin_further(c, number, work);
        return;
    }
    if (work->aim == CLOSING_FORCED && (wrote(view, work) || crashed_at_once(view, work))) return;
    uint32_t t = closing_thread(view, work->reader), event = HD_NONE;
    for (size_t i = 0; i < work->before.size && t != HD_NONE; i++)
        if (work->before.data[i].thread == work->reader &&
            closing_steps(view, t) >= work->before.data[i].steps)
            event = closing_step(view, t, work->before.data[i].steps - 1);
    closing_add_reason(c, "the program did not follow the schedule made for it", &view->model,
                       event);
}

bool closing_done(struct closing *c, struct closing_work *work, struct hd_trace *trace) {
    bool fresh = false;
    c->under_way--;
    if (trace != NULL) {
        enum closing_idle idle;
        uint32_t number = add_view(c, trace, work, &fresh, &idle);
        if (number != HD_NONE) judge(c, work, number, idle);
    } else {
        closing_add_reason(c, "a run left no trace", NULL, HD_NONE);
    }
    closing_free_work(work);
    return fresh;
}

/* All steps, but for what the thread that crashed did last. */
static void pin_some(const struct closing_view *view, closing_pins *pins) {
    uint32_t *steps = hd_alloc(view->threads, sizeof *steps);
    for (uint32_t t = 0; t < view->threads; t++) steps[t] = closing_steps_done(view, t);
    if (view->crash != HD_NONE)
        steps[view->model.thread[view->crash]] = view->position[view->crash];
    closing_make_pins(view, steps, pins);
    free(steps);
}

/* A failure cut the run short, and another one went on from there. */
static bool is_part(const struct closing *c, size_t number) {
    const struct closing_view *view = c->view.data[number];
    closing_pins pins = {0};
    bool part = false;
    if (!view->cut) return false;
    pin_some(view, &pins);
    for (size_t i = 0; i < c->view.size && !part; i++)
        part = (c->view.data[i]->steps != view->steps || i < number) &&
               has_pins(c->view.data[i], &pins);
    hd_vector_free(&pins);
    if (!part || view->crash == HD_NONE) return part;
    /* And another one crashed in the same way. */
    closing_make_pins(view, closing_past(view, view->crash), &pins);
    part = false;
    for (size_t i = 0; i < c->view.size && !part; i++)
        part = (c->view.data[i]->steps != view->steps || i < number) &&
               c->view.data[i]->crash != HD_NONE && has_pins(c->view.data[i], &pins);
    hd_vector_free(&pins);
    return part;
}

uint64_t closing_classes(const struct closing *c) {
    struct hd_map data = {0};
    for (size_t i = 0; i < c->view.size; i++) {
        const struct closing_view *view = c->view.data[i];
        /* Runs that crash are told apart by what led to it. */
        if (!view->normal || (view->crash == HD_NONE && is_part(c, i))) continue;
        hd_map_slot(&data, view->data, 0);
    }
    uint64_t count = data.count;
    hd_map_free(&data);
    return count;
}
uint64_t closing_runs(const struct closing *c) { return c->view.size; }
bool closing_check(struct closing *c, struct hd_trace *trace) {
    bool fresh;
    enum closing_idle idle;
    uint32_t number = add_view(c, trace, NULL, &fresh, &idle);
    if (number == HD_NONE) return false;
    if (!fresh) return true;
    if (is_part(c, number)) return true;
    closing_pins none = {0};
    closing_add_reason(c, "a random run was of a kind that had not been foreseen",
                       &c->view.data[number]->model, HD_NONE);
    closing_add_item(c, number, &none);
    return false;
}

uint64_t closing_left(const struct closing *c) {
    return c->under_way + c->work.heap.size + (c->item.size - c->item_at);
}
uint64_t closing_bytes(const struct closing *c) { return c->bytes + c->work.bytes; }
