/* Items, keys and the runs that are known. See closing.h. */
#include "explore/closing.h"

#include "base/alloc.h"
#include "base/map.h"
#include "explore/closing_idle.h"
#include "explore/closing_order.h"
#include "finding/finding.h"
#include "model/describe.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define MOST_COMBINATIONS 4096u /* of what one access over several locations may see */

/* What is to be asked of a run that has these pins: what else could each read after them see? */
struct item {
    uint32_t view;
    closing_pins pins;
};

enum { STACK_DROPPED = 1, STACK_LENT = 2 };

struct closing {
    HD_VECTOR(struct closing_view *) view; /* runs, one of each kind */
    HD_VECTOR(struct item) item;
    size_t item_at;
    HD_VECTOR(struct closing_work *) work;
    size_t work_at;
    uint64_t under_way;
    struct hd_map asked;  /* keys of pins */
    struct hd_map known;  /* whole runs: their number */
    struct hd_map placed; /* reasons by text and site */
    struct hd_map stack;  /* threads: what became of accesses to their stacks */
    closing_reason_list reason;
    uint64_t bytes;
    bool begun;
};

struct closing *closing_new(void) {
    return hd_zalloc(1, sizeof(struct closing));
}

static void free_work(struct closing_work *work) {
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
    for (size_t i = c->work_at; i < c->work.size; i++) free_work(c->work.data[i]);
    for (size_t i = 0; i < c->reason.size; i++) free(c->reason.data[i].text);
    hd_vector_free(&c->view);
    hd_vector_free(&c->item);
    hd_vector_free(&c->work);
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

static void make_pins(const struct closing_view *view, const uint32_t *steps, closing_pins *pins) {
    for (uint32_t t = 0; t < view->threads; t++) {
        if (steps[t] == 0) continue;
        uint32_t known = closing_steps(view, t);
        uint32_t k = steps[t] < known ? steps[t] : known;
        struct closing_pin pin = {view->thread_id[t], closing_hash(view, t, k), steps[t]};
        hd_vector_push(pins, pin);
    }
    if (pins->size > 0) qsort(pins->data, pins->size, sizeof *pins->data, compare_pins);
}

static uint64_t key_of(const closing_pins *pins) {
    uint64_t key = 13;
    for (size_t i = 0; i < pins->size; i++) {
        const struct closing_pin *pin = &pins->data[i];
        key = hd_mix64(hd_mix64(key * 31 + pin->thread) + pin->hash) + pin->steps;
    }
    return hd_mix64(key);
}

static uint32_t thread_of(const struct closing_view *view, uint64_t id) {
    for (uint32_t t = 0; t < view->threads; t++)
        if (view->thread_id[t] == id) return t;
    return HD_NONE;
}

static bool has_pins(const struct closing_view *view, const closing_pins *pins) {
    for (size_t i = 0; i < pins->size; i++) {
        const struct closing_pin *pin = &pins->data[i];
        uint32_t t = thread_of(view, pin->thread);
        if (t == HD_NONE || closing_steps(view, t) < pin->steps ||
            closing_hash(view, t, pin->steps) != pin->hash)
            return false;
    }
    return true;
}

static void copy_pins(closing_pins *to, const closing_pins *from) {
    memset(to, 0, sizeof *to);
    hd_vector_reserve(to, from->size);
    if (from->size > 0) memcpy(to->data, from->data, from->size * sizeof *from->data);
    to->size = from->size;
}

/* ---- runs ----------------------------------------------------------------------------------- */

static void add_item(struct closing *c, uint32_t view, const closing_pins *pins) {
    struct item item = {.view = view};
    copy_pins(&item.pins, pins);
    hd_vector_push(&c->item, item);
}

/* A run that has the pins; HD_NONE: none is known. */
static uint32_t find_view(const struct closing *c, const closing_pins *pins) {
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
            *slot |= STACK_LENT;
            if (*slot & STACK_DROPPED)
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
            *slot |= STACK_DROPPED;
            if (*slot & STACK_LENT)
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
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): a list of pointers */
    hd_vector_push(&c->view, view);
    return *slot;
}

/* ---- wanted runs ---------------------------------------------------------------------------- */

/* The schedule of an order of steps: every event of a thread up to its last step in it. */
static bool make_schedule(struct closing *c, const struct closing_view *view,
                          const closing_events *order, struct hd_schedule *schedule) {
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
    bool good = hd_schedule_from_witness(schedule, model, NULL, span.data, (uint32_t)span.size,
                                         next, &error);
    if (!good) closing_add_reason(c, error.message, model, HD_NONE);
    hd_vector_free(&span);
    free(at);
    return good;
}

static void add_work(struct closing *c, struct closing_work *work) {
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): a list of pointers */
    hd_vector_push(&c->work, work);
}

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
    uint64_t asked;
};

static void take_past(const struct closing_view *view, uint32_t *past, uint32_t event) {
    const uint32_t *other = closing_past(view, event);
    for (uint32_t t = 0; t < view->threads; t++)
        if (other[t] > past[t]) past[t] = other[t];
}

static bool is_compare(const struct closing_view *view, uint32_t event) {
    uint8_t kind = view->model.kind[event];
    return (kind == HD_EV_ATOMIC_READ || kind == HD_EV_ATOMIC_UPDATE) &&
           (view->model.flags[event] & HD_ATOMIC_COMPARES) != 0;
}

static bool is_try(const struct closing_view *view, uint32_t event) {
    uint8_t kind = view->model.kind[event];
    return kind == HD_EV_TRY_FAILED || ((kind == HD_EV_ACQUIRE || kind == HD_EV_READ_ACQUIRE) &&
                                        (view->model.flags[event] & HD_LOCK_BY_TRY) != 0);
}

static unsigned lets_after(const struct closing_view *view, const struct closing_use *use,
                           uint32_t source) {
    return source == HD_NONE ? view->cell_lets[use->cell] : view->use[source].lets;
}

/* Can an operation on a lock or semaphore come right after another one of it? */
static bool is_let(const struct closing_view *view, const struct closing_use *use,
                   uint32_t source) {
    uint8_t kind = view->model.kind[use->event];
    unsigned lets = lets_after(view, use, source);
    if (is_try(view, use->event)) return true;
    switch (kind) {
    case HD_EV_ACQUIRE:
        return lets & CLOSING_LETS_WRITE;
    case HD_EV_READ_ACQUIRE:
        return lets & CLOSING_LETS_READ;
    case HD_EV_SEM_WAIT:
        return lets & CLOSING_LETS_TAKE;
    case HD_EV_BLOCKED:
        /* A lock that is read-locked may let a reader in: what it was is not known. */
        return lets & (CLOSING_LETS_READ | CLOSING_LETS_TAKE);
    default:
        return true;
    }
}

/* Quick signs that an event can't see a write. */
static bool is_out(const struct alternatives *a, const struct closing_use *use, uint32_t source) {
    const struct closing_view *view = a->view;
    bool is_lock = use->cell >= view->memory_cells && view->model.kind[a->event] == HD_EV_RELEASE &&
                   use->cell < view->memory_cells + view->model.locks;
    if (source == use->from) return false;
    if (is_lock) return true; /* a release comes after its own acquire */
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
    if (is_try(view, a->event)) {
        unsigned lets = lets_after(view, &view->use[u], a->from.data[0]);
        bool reads = view->model.kind[a->event] == HD_EV_READ_ACQUIRE;
        return lets & (reads ? CLOSING_LETS_READ : CLOSING_LETS_WRITE) ? 2 : 1;
    }
    if (view->model.kind[a->event] == HD_EV_BLOCKED) return 2;
    return view->use[u].does & CLOSING_WRITES ? 2 : 1;
}

static void make_alternative_pins(const struct alternatives *a, const uint32_t *steps,
                                  closing_pins *pins) {
    const struct closing_view *view = a->view;
    make_pins(view, steps, pins);
    uint64_t hash =
        closing_hash_step(view, closing_hash(view, a->thread, a->position), a->event, a->from.data);
    for (size_t i = 0; i < pins->size; i++)
        if (pins->data[i].thread == view->thread_id[a->thread]) {
            pins->data[i].hash = hash;
            pins->data[i].steps = a->position + 1;
        }
}

static void want(struct alternatives *a, const closing_pins *pins, const closing_events *order,
                 bool not_writing) {
    struct closing_work *work = hd_zalloc(1, sizeof *work);
    work->aim = CLOSING_FORCED;
    copy_pins(&work->pins, pins);
    work->reader = a->view->thread_id[a->thread];
    work->not_writing = not_writing;
    make_alternative_pins(a, a->past, &work->before);
    if (make_schedule(a->c, a->view, order, &work->schedule))
        add_work(a->c, work);
    else
        free_work(work);
}

static void decide(struct alternatives *a, const closing_pins *pins) {
    struct closing *c = a->c;
    uint32_t known = find_view(c, pins);
    if (known != HD_NONE) {
        add_item(c, known, pins);
        return;
    }
    /* What it was blocked in is no step: the pins have one more than there are. */
    bool blocked = a->view->position[a->event] == HD_NONE;
    if (blocked) a->steps[a->thread]--;
    struct closing_question question = {.view = a->view,
                                        .steps = a->steps,
                                        .reader = a->event,
                                        .from = a->from.data,
                                        .reader_past = a->past};
    closing_events order = {0};
    unsigned ways = ways_to_write(a);
    enum closing_verdict verdict = CLOSING_IMPOSSIBLE;
    for (int writes = 1; writes >= 0 && verdict == CLOSING_IMPOSSIBLE; writes--) {
        if (!(ways >> writes & 1)) continue;
        question.writes = writes;
        verdict = closing_order(&question, &order);
        if (verdict == CLOSING_POSSIBLE) want(a, pins, &order, !writes && ways == 3);
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
            take_past(view, a->past, view->use[a->from.data[i]].event);
    if (a->past[a->thread] > a->position) return;
    a->past[a->thread] = a->position + 1;
    for (uint32_t t = 0; t < view->threads; t++)
        a->steps[t] = a->past[t] > a->pinned[t] ? a->past[t] : a->pinned[t];
    if (a->steps[a->thread] > a->position + 1) return;
    closing_pins pins = {0};
    make_alternative_pins(a, a->steps, &pins);
    uint32_t *slot = hd_map_slot(&a->c->asked, key_of(&pins), 0);
    if (*slot == 0) {
        *slot = 1;
        decide(a, &pins);
    }
    hd_vector_free(&pins);
}

/* All that the event's uses from `u` on may see, with what the earlier ones see in a->from. */
static void choose(struct alternatives *a, uint32_t u, bool other) {
    const struct closing_view *view = a->view;
    while (u < view->use_start[a->event + 1] && !(view->use[u].does & CLOSING_READS)) u++;
    if (u == view->use_start[a->event + 1]) {
        if (other) ask(a);
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
        take_past(a->view, a->before, closing_step(a->view, a->thread, a->position - 1));
    const uint32_t *edge;
    uint32_t edges = hd_model_edges_into(model, a->event, &edge);
    for (uint32_t i = 0; i < edges; i++) {
        const struct hd_edge *it = &model->edge[edge[i]];
        if (it->type == HD_EDGE_FORK || it->type == HD_EDGE_JOIN || it->type == HD_EDGE_SIGNAL ||
            it->type == HD_EDGE_BARRIER)
            take_past(a->view, a->before, it->from);
    }
}

static void ask_about(struct alternatives *a, uint32_t event, uint32_t position) {
    a->event = event;
    a->position = position;
    a->from.size = 0;
    a->asked = 0;
    find_before(a);
    choose(a, a->view->use_start[event], false);
    if (a->asked > MOST_COMBINATIONS)
        closing_add_reason(a->c, "an access sees too many writes at once", &a->view->model, event);
}

/* ---- threads that another's crash stopped ---------------------------------------------------- */

static bool is_finished(const struct closing_view *view, uint32_t t) {
    uint32_t steps = closing_steps(view, t);
    return steps > 0 && view->model.kind[closing_step(view, t, steps - 1)] == HD_EV_END;
}

/* Would its next step be one that only others can bring about: the end of a thread that has not
 * ended, a signal? Another run that saw the same knows what it is. */
static bool waits_for_others(const struct closing *c, const struct closing_view *view, uint32_t t) {
    uint32_t steps = closing_steps(view, t);
    for (size_t i = 0; i < c->view.size; i++) {
        const struct closing_view *other = c->view.data[i];
        uint32_t same = thread_of(other, view->thread_id[t]);
        if (same == HD_NONE || closing_steps(other, same) <= steps ||
            closing_hash(other, same, steps) != closing_hash(view, t, steps))
            continue;
        uint32_t next = closing_step(other, same, steps), child = other->model.object[next];
        if (other->model.kind[next] == HD_EV_WAIT) return true;
        if (other->model.kind[next] != HD_EV_JOIN || child >= other->threads) return false;
        child = thread_of(view, other->thread_id[child]);
        return child == HD_NONE || !is_finished(view, child);
    }
    return false;
}

/* A thread that had not ended when the process died goes on first. */
static void go_further(struct alternatives *a, uint32_t t) {
    const struct closing_view *view = a->view;
    const struct hd_model *model = &view->model;
    uint32_t steps = closing_steps(view, t);
    if (waits_for_others(a->c, view, t)) return;
    memcpy(a->steps, a->pinned, view->threads * sizeof *a->steps);
    if (steps > 0) take_past(view, a->steps, closing_step(view, t, steps - 1));
    for (uint32_t e = 0; steps == 0 && e < model->events; e++)
        if (model->kind[e] == HD_EV_FORK && model->object[e] == t) take_past(view, a->steps, e);
    /* With the last step of the thread that crashed, it has crashed. */
    if (view->crash != HD_NONE &&
        a->steps[model->thread[view->crash]] > view->position[view->crash])
        return;
    closing_pins pins = {0};
    make_pins(view, a->steps, &pins);
    uint32_t *slot = hd_map_slot(&a->c->asked, hd_mix64(key_of(&pins) + view->thread_id[t]), 0);
    if (*slot == 0) {
        *slot = 1;
        struct closing_work *work = hd_zalloc(1, sizeof *work);
        work->aim = CLOSING_FURTHER;
        work->pins = pins;
        work->reader = view->thread_id[t];
        closing_events order = {0};
        for (uint32_t e = 0; e < model->events; e++)
            if (view->position[e] < a->steps[model->thread[e]]) hd_vector_push(&order, e);
        if (make_schedule(a->c, view, &order, &work->schedule)) {
            struct hd_turn turn = {.thread = t, .calls = 1, .to = ""};
            hd_vector_push(&work->schedule.turn, turn);
            add_work(a->c, work);
        } else {
            free_work(work);
        }
        hd_vector_free(&order);
    } else {
        hd_vector_free(&pins);
    }
}

/* ---- items ---------------------------------------------------------------------------------- */

static void process(struct closing *c, const struct item *item) {
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
        uint32_t t = thread_of(view, item->pins.data[i].thread);
        assert(t != HD_NONE);
        pinned[t] = item->pins.data[i].steps;
    }
    for (uint32_t t = 0; t < view->threads; t++) {
        a.thread = t;
        for (uint32_t k = pinned[t]; k < closing_steps(view, t); k++)
            ask_about(&a, closing_step(view, t, k), k);
        if (view->blocked[t] != HD_NONE) ask_about(&a, view->blocked[t], closing_steps(view, t));
        bool crashed = view->crash != HD_NONE && t == view->model.thread[view->crash];
        if (view->cut && !crashed && view->blocked[t] == HD_NONE && !is_finished(view, t))
            go_further(&a, t);
    }
    hd_vector_free(&a.from);
    free(memory);
}

static bool next_item(struct closing *c) {
    if (c->item_at == c->item.size) return false;
    struct item item = c->item.data[c->item_at++];
    if (c->item_at > 1024 && c->item_at * 2 > c->item.size) {
        c->item.size -= c->item_at;
        memmove(c->item.data, c->item.data + c->item_at, c->item.size * sizeof *c->item.data);
        c->item_at = 0;
    }
    process(c, &item);
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
        while (c->work_at == c->work.size)
            if (!next_item(c)) return NULL;
        struct closing_work *work = c->work.data[c->work_at++];
        uint32_t known = work->aim == CLOSING_FORCED ? find_view(c, &work->pins) : HD_NONE;
        if (known == HD_NONE) {
            c->under_way++;
            return work;
        }
        add_item(c, known, &work->pins);
        free_work(work);
    }
}

void closing_give_back(struct closing *c, struct closing_work *work) {
    c->under_way--;
    c->begun &= work->aim != CLOSING_FIRST;
    if (work->aim == CLOSING_FIRST)
        free_work(work);
    else
        add_work(c, work);
}

/* ---- what came of it ------------------------------------------------------------------------ */

/* It saw what it was to see, and wrote, which it was not to: then nothing has these pins, since
 * with a write they are impossible. */
static bool wrote(const struct closing_view *view, const struct closing_work *work) {
    if (!work->not_writing || !has_pins(view, &work->before)) return false;
    uint32_t t = thread_of(view, work->reader);
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
    uint32_t t = thread_of(view, work->reader);
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
    uint32_t t = thread_of(view, work->reader);
    uint32_t *steps = hd_zalloc(view->threads, sizeof *steps);
    for (size_t i = 0; i < work->pins.size; i++)
        steps[thread_of(view, work->pins.data[i].thread)] = work->pins.data[i].steps;
    take_past(view, steps, closing_step(view, t, closing_steps(view, t) - 1));
    closing_pins pins = {0};
    make_pins(view, steps, &pins);
    uint32_t *slot = hd_map_slot(&c->asked, key_of(&pins), 0);
    if (*slot == 0) add_item(c, number, &pins);
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
        uint32_t t = thread_of(view, work->reader), pinned = 0;
        for (size_t i = 0; i < work->pins.size; i++)
            if (work->pins.data[i].thread == work->reader) pinned = work->pins.data[i].steps;
        held = t != HD_NONE && closing_steps(view, t) > pinned;
        if (!held)
            closing_add_reason(c, "a thread could not be made to go on before another one crashed",
                               &view->model, view->crash);
    }
    if (held) {
        add_item(c, number, &work->pins);
        if (work->aim == CLOSING_FURTHER) pin_further(c, number, work);
        return;
    }
    if (work->aim == CLOSING_FURTHER || wrote(view, work) || crashed_at_once(view, work)) return;
    uint32_t t = thread_of(view, work->reader), event = HD_NONE;
    for (size_t i = 0; i < work->before.size && t != HD_NONE; i++)
        if (work->before.data[i].thread == work->reader &&
            closing_steps(view, t) >= work->before.data[i].steps)
            event = closing_step(view, t, work->before.data[i].steps - 1);
    closing_add_reason(c, "the program did not follow the schedule made for it", &view->model,
                       event);
}

void closing_done(struct closing *c, struct closing_work *work, struct hd_trace *trace) {
    c->under_way--;
    if (trace != NULL) {
        bool fresh;
        enum closing_idle idle;
        uint32_t number = add_view(c, trace, work, &fresh, &idle);
        if (number != HD_NONE) judge(c, work, number, idle);
    } else {
        closing_add_reason(c, "a run left no trace", NULL, HD_NONE);
    }
    free_work(work);
}

/* All steps, but for what the thread that crashed did last. */
static void pin_some(const struct closing_view *view, closing_pins *pins) {
    uint32_t *steps = hd_alloc(view->threads, sizeof *steps);
    for (uint32_t t = 0; t < view->threads; t++) steps[t] = closing_steps(view, t);
    if (view->crash != HD_NONE)
        steps[view->model.thread[view->crash]] = view->position[view->crash];
    make_pins(view, steps, pins);
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
        part = i != number && has_pins(c->view.data[i], &pins);
    hd_vector_free(&pins);
    if (!part || view->crash == HD_NONE) return part;
    /* And another one crashed in the same way. */
    make_pins(view, closing_past(view, view->crash), &pins);
    part = false;
    for (size_t i = 0; i < c->view.size && !part; i++)
        part = i != number && c->view.data[i]->crash != HD_NONE && has_pins(c->view.data[i], &pins);
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
    add_item(c, number, &none);
    return false;
}

uint64_t closing_left(const struct closing *c) {
    return c->under_way + (c->work.size - c->work_at) + (c->item.size - c->item_at);
}
uint64_t closing_bytes(const struct closing *c) { return c->bytes; }
