/* Makes the view of a run. See closing_view.h. */
#include "explore/closing_view.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/vector.h"
#include "run/schedule.h"

#include <stdlib.h>
#include <string.h>

#define MOST_WAITED_MS 1000u /* as runtime/sched_wait.c: that a longer limit is up is not tried */

struct object_state {
    uint32_t last; /* use that wrote, HD_NONE */
    uint16_t thread;
    bool seen, several;
    uint32_t writers, readers;
    uint64_t value;
    bool begun, done;            /* a one-time initialisation */
    HD_VECTOR(uint32_t) waiting; /* for a condition variable */
};

struct maker {
    struct closing_view *view;
    const struct hd_model *model;
    struct object_state *state; /* by cell */
    HD_VECTOR(struct closing_use) use;
    HD_VECTOR(uint32_t) waiter;
};

static uint64_t mix(uint64_t hash, uint64_t value) {
    return hd_mix64(hash * 0x9e3779b97f4a7c15ull + value + 1);
}

/* ---- threads and steps ---------------------------------------------------------------------- */

static unsigned note_of(uint8_t kind, uint8_t flags) {
    return kind == HD_EV_NOTE ? flags & HD_NOTE_TYPE_MASK : HD_NOTE_TEXT;
}

static bool is_once(uint8_t kind, uint8_t flags, enum hd_note_once what) {
    return note_of(kind, flags) == HD_NOTE_ONCE && flags >> HD_NOTE_OBJECT_SHIFT == what;
}

bool closing_is_step(uint8_t kind, uint8_t flags) {
    switch (kind) {
    case HD_EV_NOTE:
        return note_of(kind, flags) == HD_NOTE_MISSED || note_of(kind, flags) == HD_NOTE_ONCE;
    case HD_EV_BLOCKED:
    case HD_EV_BRANCH:
    case HD_EV_HANDLER_ENTER:
    case HD_EV_HANDLER_LEAVE:
        return false;
    default:
        return true;
    }
}

uint32_t closing_steps_done(const struct closing_view *view, uint32_t thread) {
    uint32_t steps = closing_steps(view, thread);
    const struct hd_model *model = &view->model;
    uint32_t last = steps > 0 ? closing_step(view, thread, steps - 1) : HD_NONE;
    bool begun = last != HD_NONE && (model->kind[last] == HD_EV_BEGIN ||
                                     (model->kind[last] == HD_EV_ALLOC &&
                                      (model->flags[last] & HD_BLOCK_TYPE_MASK) == HD_BLOCK_STACK));
    return begun ? 0 : steps;
}

bool closing_is_try(const struct closing_view *view, uint32_t event) {
    uint8_t kind = view->model.kind[event], flags = view->model.flags[event];
    if (view->limit[event] == CLOSING_LONG) return false;
    switch (kind) {
    case HD_EV_TRY_FAILED:
        return true;
    case HD_EV_ACQUIRE:
    case HD_EV_READ_ACQUIRE:
    case HD_EV_SEM_WAIT:
        return (flags & HD_LOCK_BY_TRY) != 0;
    case HD_EV_BLOCKED:
        return view->limit[event] == CLOSING_SHORT;
    default:
        return note_of(kind, flags) == HD_NOTE_MISSED;
    }
}

/* Whether what a thread was blocked in would have read is known if a note told it. */
static unsigned blocked_asks(const struct closing_view *view, uint32_t event) {
    uint64_t wait = hd_trace_extra(view->model.trace, event, 0);
    switch (view->model.flags[event]) {
    case HD_WAIT_LOCK:
        return hd_wire_wait_flags(wait) & HD_WIRE_WAIT_READS ? CLOSING_LETS_READ
                                                             : CLOSING_LETS_WRITE;
    case HD_WAIT_SEM:
        return CLOSING_LETS_TAKE;
    case HD_WAIT_ONCE:
        return CLOSING_LETS_BEGIN | CLOSING_LETS_PASS;
    default:
        return 0;
    }
}

unsigned closing_asks(const struct closing_view *view, uint32_t event) {
    uint8_t kind = view->model.kind[event], flags = view->model.flags[event];
    switch (kind) {
    case HD_EV_ACQUIRE:
        return CLOSING_LETS_WRITE;
    case HD_EV_READ_ACQUIRE:
        return CLOSING_LETS_READ;
    case HD_EV_TRY_FAILED:
        return flags & HD_LOCK_READS ? CLOSING_LETS_READ : CLOSING_LETS_WRITE;
    case HD_EV_SEM_WAIT:
        return CLOSING_LETS_TAKE;
    case HD_EV_ONCE_PASS:
        return CLOSING_LETS_BEGIN | CLOSING_LETS_PASS;
    case HD_EV_BLOCKED:
        return blocked_asks(view, event);
    case HD_EV_NOTE:
        if (note_of(kind, flags) == HD_NOTE_MISSED) return CLOSING_LETS_TAKE;
        return is_once(kind, flags, HD_NOTE_DONE) ? 0 : CLOSING_LETS_BEGIN | CLOSING_LETS_PASS;
    default:
        return 0;
    }
}

/* Does the C library do it? Its allocator has no place where a thread could be held. */
static bool is_in_library(const struct hd_trace *trace, uint32_t site) {
    const struct hd_trace_module *in = NULL;
    for (uint32_t i = 0; i < trace->modules; i++)
        if (trace->module[i].site_base <= site &&
            (in == NULL || trace->module[i].site_base >= in->site_base))
            in = &trace->module[i];
    if (in == NULL || in->path == NULL) return false;
    const char *slash = strrchr(in->path, '/');
    return strncmp(slash != NULL ? slash + 1 : in->path, "libc.", 5) == 0;
}

static void list_steps(struct closing_view *view) {
    const struct hd_model *model = &view->model;
    view->start = hd_alloc(view->threads + (size_t)1, sizeof *view->start);
    view->step = hd_alloc(model->events, sizeof *view->step);
    view->position = hd_alloc(model->events, sizeof *view->position);
    view->blocked = hd_alloc(view->threads, sizeof *view->blocked);
    uint32_t steps = 0;
    for (uint32_t t = 0; t < view->threads; t++) {
        view->start[t] = steps;
        view->blocked[t] = HD_NONE;
        for (uint32_t i = model->thread_start[t]; i < model->thread_start[t + 1]; i++) {
            uint32_t e = model->thread_event[i];
            bool step = closing_is_step(model->kind[e], model->flags[e]);
            view->position[e] = step ? steps - view->start[t] : HD_NONE;
            if (step) view->step[steps++] = e;
            if (model->kind[e] == HD_EV_BLOCKED) view->blocked[t] = e;
        }
    }
    view->start[view->threads] = steps;
    view->crash = HD_NONE;
    view->cut = model->trace->end.signaled || model->trace->end.deadlocked;
    if (!model->trace->end.signaled || model->trace->end.deadlocked) return;
    uint32_t thread = HD_NONE;
    for (uint32_t e = model->events; e-- > 0 && view->crash == HD_NONE;) {
        if (view->position[e] == HD_NONE) continue;
        if (thread == HD_NONE) thread = model->thread[e];
        /* What comes after its last call can't be held back, and a call of malloc neither. */
        bool holds = model->kind[e] != HD_EV_ALLOC && model->kind[e] != HD_EV_FREE &&
                     !is_in_library(model->trace, model->site[e]) && hd_schedule_is_call(model, e);
        if (model->thread[e] == thread && holds) view->crash = e;
    }
}

/* ---- uses ----------------------------------------------------------------------------------- */

static void add_use(struct maker *m, uint32_t event, uint32_t cell, unsigned does, uint8_t lets) {
    struct object_state *state = &m->state[cell];
    uint16_t thread = m->model->thread[event];
    if (state->seen && state->thread != thread) state->several = true;
    state->seen = true;
    state->thread = thread;
    struct closing_use use = {.event = event,
                              .cell = cell,
                              .from = (does & CLOSING_READS) ? state->last : HD_NONE,
                              .does = (uint8_t)does,
                              .lets = lets,
                              .waiting = (uint32_t)m->waiter.size,
                              .waiters = (uint32_t)state->waiting.size};
    for (size_t i = 0; i < state->waiting.size; i++)
        hd_vector_push(&m->waiter, state->waiting.data[i]);
    if (does & CLOSING_WRITES) state->last = (uint32_t)m->use.size;
    hd_vector_push(&m->use, use);
}

static uint8_t lets_of(const struct object_state *state) {
    return (uint8_t)((state->writers == 0 && state->readers == 0 ? CLOSING_LETS_WRITE : 0) |
                     (state->writers == 0 ? CLOSING_LETS_READ : 0) |
                     (state->value > 0 ? CLOSING_LETS_TAKE : 0) |
                     (!state->begun ? CLOSING_LETS_BEGIN : 0) |
                     (state->done ? CLOSING_LETS_PASS : 0));
}

static uint32_t lock_cell(const struct maker *m, uint32_t lock) {
    return m->view->memory_cells + lock;
}
static uint32_t object_cell(const struct maker *m, uint32_t object) {
    return m->view->memory_cells + m->model->locks + object;
}

static void stop_waiting(struct object_state *state, uint32_t thread) {
    size_t kept = 0;
    for (size_t i = 0; i < state->waiting.size; i++)
        if (state->waiting.data[i] != thread) state->waiting.data[kept++] = state->waiting.data[i];
    state->waiting.size = kept;
}

static void add_expiry(struct maker *m, uint32_t e, uint32_t cell) {
    struct closing_use use = {
        .event = e, .cell = cell, .from = CLOSING_NEVER, .does = CLOSING_EXPIRES};
    hd_vector_push(&m->use, use);
}

static void add_sync(struct maker *m, uint32_t e) {
    const struct hd_model *model = m->model;
    const unsigned both = CLOSING_READS | CLOSING_WRITES;
    uint32_t object = model->object[e];
    if (object == HD_NONE) return;
    uint8_t kind = model->kind[e];
    bool is_lock = kind >= HD_EV_ACQUIRE && kind <= HD_EV_TRY_FAILED;
    uint32_t cell = is_lock ? lock_cell(m, object) : object_cell(m, object);
    struct object_state *state = &m->state[cell];
    unsigned does = both;
    switch (kind) {
    case HD_EV_ACQUIRE:
        state->writers++;
        break;
    case HD_EV_RELEASE:
        if (state->writers > 0) state->writers--;
        break;
    case HD_EV_READ_ACQUIRE:
        state->readers++;
        break;
    case HD_EV_READ_RELEASE:
        if (state->readers > 0) state->readers--;
        break;
    case HD_EV_TRY_FAILED:
        does = CLOSING_READS;
        break;
    case HD_EV_SEM_INIT:
        state->value = hd_trace_extra(model->trace, e, 0);
        break;
    case HD_EV_POST:
        state->value++;
        break;
    case HD_EV_SEM_WAIT:
        if (state->value > 0) state->value--;
        break;
    case HD_EV_NOTE:
        if (note_of(kind, model->flags[e]) == HD_NOTE_MISSED)
            does = CLOSING_READS;
        else if (note_of(kind, model->flags[e]) != HD_NOTE_ONCE)
            return;
        state->begun |= is_once(kind, model->flags[e], HD_NOTE_FIRST);
        state->done |= is_once(kind, model->flags[e], HD_NOTE_DONE);
        break;
    case HD_EV_ONCE_DONE:
        state->done = true;
        break;
    case HD_EV_SIGNAL:
        stop_waiting(state, m->view->woken[e]);
        break;
    case HD_EV_BROADCAST:
        state->waiting.size = 0;
        break;
    case HD_EV_WAIT: /* what a signal ended, it ended */
        stop_waiting(state, model->thread[e]);
        if (m->view->limit[e] == CLOSING_SHORT) add_expiry(m, e, cell);
        return;
    case HD_EV_WAIT_TIMEOUT:
        stop_waiting(state, model->thread[e]);
        break;
    case HD_EV_BARRIER_ARRIVE:
    case HD_EV_ONCE_PASS:
        break;
    default:
        return;
    }
    add_use(m, e, cell, does, lets_of(state));
    if (kind == HD_EV_RELEASE && (model->flags[e] & HD_LOCK_BY_WAIT)) {
        uint32_t condition = hd_model_waited_for(m->model, e);
        if (condition == HD_NONE) return;
        cell = object_cell(m, condition);
        hd_vector_push(&m->state[cell].waiting, model->thread[e]);
        add_use(m, e, cell, both, 0);
    }
}

/* What a thread was blocked in would have been an operation on a lock or semaphore, or, of a
 * condition variable, could have been that its time is up. */
static void add_blocked(struct maker *m, uint32_t e) {
    const struct hd_model *model = m->model;
    uint32_t object = model->object[e];
    if (object == HD_NONE) return;
    if (model->flags[e] == HD_WAIT_COND && m->view->limit[e] == CLOSING_SHORT)
        add_expiry(m, e, object_cell(m, object));
    if (model->flags[e] != HD_WAIT_LOCK && model->flags[e] != HD_WAIT_SEM &&
        model->flags[e] != HD_WAIT_ONCE)
        return;
    uint32_t cell = model->flags[e] == HD_WAIT_LOCK ? lock_cell(m, object) : object_cell(m, object);
    struct closing_use use = {
        .event = e, .cell = cell, .from = CLOSING_NEVER, .does = CLOSING_READS};
    hd_vector_push(&m->use, use);
}

static void add_memory(struct maker *m, uint32_t e) {
    const struct hd_model *model = m->model;
    const uint32_t *location;
    uint32_t count = hd_model_locations(model, e, &location);
    unsigned does = (hd_model_is_read(model, e) ? CLOSING_READS : 0u) |
                    (hd_model_is_write(model, e) ? CLOSING_WRITES : 0u);
    for (uint32_t i = 0; i < count; i++) add_use(m, e, location[i], does, 0);
}

static void list_woken(struct closing_view *view) {
    const struct hd_model *model = &view->model;
    view->woken = hd_alloc(model->events, sizeof *view->woken);
    for (uint32_t e = 0; e < model->events; e++) view->woken[e] = HD_NONE;
    for (uint32_t i = 0; i < model->edges; i++) {
        const struct hd_edge *edge = &model->edge[i];
        if (edge->type == HD_EDGE_SIGNAL && model->kind[edge->from] == HD_EV_SIGNAL)
            view->woken[edge->from] = model->thread[edge->to];
    }
}

/* A note before a call's events tells its limit. */
static void list_limits(struct closing_view *view) {
    const struct hd_model *model = &view->model;
    view->limit = hd_zalloc(model->events, sizeof *view->limit);
    for (uint32_t t = 0; t < view->threads; t++) {
        uint8_t limit = 0;
        for (uint32_t i = model->thread_start[t]; i < model->thread_start[t + 1]; i++) {
            uint32_t e = model->thread_event[i];
            uint8_t kind = model->kind[e], flags = model->flags[e];
            if (note_of(kind, flags) == HD_NOTE_LIMIT)
                limit = hd_trace_extra(model->trace, e, 0) <= MOST_WAITED_MS ? CLOSING_SHORT
                                                                             : CLOSING_LONG;
            if (kind == HD_EV_RELEASE || !(closing_is_step(kind, flags) || kind == HD_EV_BLOCKED))
                continue;
            view->limit[e] = limit;
            limit = 0;
        }
    }
}

static void list_uses(struct closing_view *view) {
    const struct hd_model *model = &view->model;
    struct maker m = {.view = view, .model = model};
    view->memory_cells = model->locations;
    view->cells = model->locations + model->locks + model->objects;
    m.state = hd_zalloc(view->cells, sizeof *m.state);
    view->cell_lets = hd_zalloc(view->cells, 1);
    for (uint32_t c = 0; c < view->cells; c++) {
        m.state[c].last = HD_NONE;
        view->cell_lets[c] = lets_of(&m.state[c]);
    }
    view->use_start = hd_alloc(model->events + (size_t)1, sizeof *view->use_start);
    for (uint32_t e = 0; e < model->events; e++) {
        view->use_start[e] = (uint32_t)m.use.size;
        if (hd_model_is_access(model, e))
            add_memory(&m, e);
        else if (model->kind[e] == HD_EV_BLOCKED)
            add_blocked(&m, e);
        else
            add_sync(&m, e);
    }
    view->use_start[model->events] = (uint32_t)m.use.size;
    view->use = m.use.data;
    view->waiter = m.waiter.data;
    for (uint32_t c = 0; c < view->cells; c++) hd_vector_free(&m.state[c].waiting);
    view->cell_shared = hd_alloc(view->cells, 1);
    for (uint32_t c = 0; c < view->cells; c++)
        view->cell_shared[c] =
            c < view->memory_cells ? model->location[c].shared : m.state[c].several;
    for (uint32_t t = 0; t < view->threads; t++) {
        uint32_t e = view->blocked[t];
        if (e != HD_NONE && view->use_start[e] < view->use_start[e + 1])
            view->cell_shared[view->use[view->use_start[e]].cell] = 1;
    }
    free(m.state);
}

static void list_writes(struct closing_view *view) {
    uint32_t uses = view->use_start[view->model.events];
    uint32_t *start = view->cell_start = hd_zalloc(view->cells + (size_t)2, sizeof *start);
    view->cell_use = hd_alloc(uses, sizeof *view->cell_use);
    for (uint32_t u = 0; u < uses; u++)
        if (view->use[u].does & CLOSING_WRITES) start[view->use[u].cell + 2]++;
    for (uint32_t c = 0; c < view->cells; c++) start[c + 2] += start[c + 1];
    for (uint32_t u = 0; u < uses; u++)
        if (view->use[u].does & CLOSING_WRITES) view->cell_use[start[view->use[u].cell + 1]++] = u;
}

/* ---- hashes --------------------------------------------------------------------------------- */

uint64_t closing_name(const struct closing_view *view, uint32_t event) {
    return mix(view->thread_id[view->model.thread[event]], view->position[event]);
}

/* Memory: locations depend on what else the run accessed, so what counts is where the write that is
 * seen changes, by the distance from the first byte. Of other cells there is one, or two. */
static uint64_t hash_sources(const struct closing_view *view, uint64_t hash, uint32_t event,
                             const struct closing_choice *choice, bool memory_only) {
    const struct hd_model *model = &view->model;
    uint64_t first = 0, latest = 0;
    uint32_t at = 0;
    bool any = false;
    for (uint32_t u = view->use_start[event]; u < view->use_start[event + 1]; u++) {
        const struct closing_use *use = &view->use[u];
        bool expires = choice != NULL && choice->expires && (use->does & CLOSING_EXPIRES);
        if (!(use->does & CLOSING_READS) && !expires) continue;
        uint32_t source = choice != NULL ? choice->from[at] : use->from;
        at++;
        bool memory = use->cell < view->memory_cells;
        if (memory_only && !memory) continue;
        uint64_t name = source == HD_NONE ? 1 : closing_name(view, view->use[source].event);
        uint64_t address = memory ? model->location[use->cell].address : at;
        if (!any) first = address;
        if (!any || !memory || name != latest) hash = mix(mix(hash, address - first), name);
        latest = name;
        any = true;
    }
    return hash;
}

uint64_t closing_hash_step(const struct closing_view *view, uint64_t before, uint32_t event,
                           const struct closing_choice *choice) {
    uint64_t hash = hash_sources(view, mix(before, view->model.site[event]), event, choice, false);
    uint32_t wakes = choice != NULL ? choice->wakes : view->woken[event];
    bool expires = choice != NULL ? choice->expires : view->model.kind[event] == HD_EV_WAIT_TIMEOUT;
    if (expires) hash = mix(hash, 7);
    return wakes == HD_NONE ? hash : mix(hash, view->thread_id[wakes]);
}

/* What a step adds to the class besides what it read: whether it got what it tried for. */
static uint64_t hash_result(const struct closing_view *view, uint64_t hash, uint32_t e) {
    uint8_t kind = view->model.kind[e];
    bool failed = kind == HD_EV_TRY_FAILED || kind == HD_EV_NOTE || kind == HD_EV_WAIT_TIMEOUT;
    bool waits = kind == HD_EV_WAIT_TIMEOUT || (kind == HD_EV_WAIT && view->limit[e] != 0);
    return closing_is_try(view, e) || waits ? mix(hash, 5 + failed) : hash;
}

static void hash_steps(struct closing_view *view) {
    const struct hd_model *model = &view->model;
    uint32_t steps = view->start[view->threads];
    view->hash = hd_alloc((size_t)steps + view->threads + 1, sizeof *view->hash);
    view->data = view->steps = view->whole = 0;
    for (uint32_t t = 0; t < view->threads; t++) {
        uint64_t hash = view->thread_id[t], data = hash;
        uint32_t done = closing_steps_done(view, t), counted = done;
        if (view->crash != HD_NONE) counted = closing_past(view, view->crash)[t];
        view->hash[view->start[t] + t] = hash;
        for (uint32_t k = 0; k < closing_steps(view, t); k++) {
            uint32_t e = closing_step(view, t, k);
            hash = closing_hash_step(view, hash, e, NULL);
            view->hash[view->start[t] + t + k + 1] = hash;
            if (k >= counted) continue;
            if (hd_model_is_access(model, e))
                data = hash_sources(view, data, e, NULL, true);
            else
                data = hash_result(view, data, e);
        }
        if (done > 0) view->steps += mix(hash, done);
        if (view->blocked[t] != HD_NONE)
            view->whole += mix(mix(view->thread_id[t], 3), model->site[view->blocked[t]]);
        if (counted > 0) view->data += mix(data, counted);
    }
    view->whole += view->steps;
}

/* ---- what comes before ---------------------------------------------------------------------- */

static void take_past(struct closing_view *view, uint32_t *past, uint32_t event) {
    const uint32_t *other = closing_past(view, event);
    for (uint32_t t = 0; t < view->threads; t++)
        if (other[t] > past[t]) past[t] = other[t];
}

static void find_pasts(struct closing_view *view) {
    const struct hd_model *model = &view->model;
    view->past = hd_zalloc((size_t)model->events * view->threads, sizeof *view->past);
    uint32_t *last = hd_alloc(view->threads, sizeof *last);
    for (uint32_t t = 0; t < view->threads; t++) last[t] = HD_NONE;
    for (uint32_t e = 0; e < model->events; e++) {
        uint32_t t = model->thread[e];
        uint32_t *past = view->past + (size_t)e * view->threads;
        if (last[t] != HD_NONE) take_past(view, past, last[t]);
        const uint32_t *edge;
        uint32_t edges = hd_model_edges_into(model, e, &edge);
        for (uint32_t i = 0; i < edges; i++) take_past(view, past, model->edge[edge[i]].from);
        for (uint32_t u = view->use_start[e]; u < view->use_start[e + 1]; u++)
            if (view->use[u].from < CLOSING_NEVER)
                take_past(view, past, view->use[view->use[u].from].event);
        if (view->position[e] != HD_NONE) past[t] = view->position[e] + 1;
        last[t] = e;
    }
    free(last);
}

/* ---- all of it ------------------------------------------------------------------------------ */

void closing_view_build(struct closing_view *view, struct hd_model *model, uint64_t *thread_id) {
    memset(view, 0, sizeof *view);
    view->model = *model;
    memset(model, 0, sizeof *model);
    view->threads = view->model.threads;
    view->thread_id = thread_id;
    list_steps(view);
    list_woken(view);
    list_limits(view);
    list_uses(view);
    list_writes(view);
    find_pasts(view);
    hash_steps(view);
    view->bytes = view->model.bytes + (uint64_t)view->model.events * (view->threads * 4u + 28u) +
                  (uint64_t)view->use_start[view->model.events] * 32u;
}

void closing_view_free(struct closing_view *view) {
    free(view->thread_id);
    free(view->start);
    free(view->step);
    free(view->position);
    free(view->hash);
    free(view->use);
    free(view->use_start);
    free(view->cell_shared);
    free(view->cell_lets);
    free(view->cell_start);
    free(view->cell_use);
    free(view->waiter);
    free(view->woken);
    free(view->limit);
    free(view->past);
    free(view->blocked);
    hd_model_free(&view->model);
    memset(view, 0, sizeof *view);
}
