/* Sixth pass: must-order between threads (edges). Forks, joins, signals, barriers, semaphores and
 * once are followed here; those of atomics were found with reads-from. */
#include "base/alloc.h"
#include "base/map.h"
#include "model/build.h"
#include "model/sort.h"

#include <stdlib.h>
#include <string.h>

#define EDGE_LIMIT ((size_t)1 << 28)
/* Every departure from a barrier comes after every arrival: arrivals times departures. Above this
 * many arrivals, and where departures have events of their own (BARRIER_LEAVE), all arrivals lead
 * to the first one to leave and from there to the others. That is as exact: a leave does nothing,
 * has no predecessors but its thread's arrival and the other arrivals, and so can always come
 * first. */
#define MANY_ARRIVALS 8

struct thread_state {
    uint32_t fork;  /* event that forked it, HD_NONE */
    uint32_t end;   /* its END, HD_NONE */
    uint32_t last;  /* latest event, HD_NONE */
    uint32_t round; /* barrier round it has arrived at and not left, HD_NONE */
};

struct round {
    uint32_t object;
    uint32_t arrivals; /* first, HD_NONE */
    uint32_t count;
    uint32_t hub; /* LEAVE that is after all arrivals and stands for them, HD_NONE */
    bool left;    /* someone left */
};

struct object_state {
    uint64_t tokens;     /* semaphore: initial ones not taken yet */
    uint32_t head, tail; /* semaphore: posts not taken yet */
    uint32_t event;      /* once: its DONE; barrier of a text trace: open round; HD_NONE */
    bool initialised;
};

struct chained {
    uint32_t event, next;
};

struct order {
    struct hd_build *build;
    struct thread_state *thread;
    struct object_state *object;
    struct hd_map signals; /* number to event */
    struct hd_map rounds;  /* number to round */
    HD_VECTOR(struct round) round;
    HD_VECTOR(struct chained) arrival, post;
    HD_VECTOR(struct hd_edge) edge;
};

static bool add_edge(struct order *order, uint32_t from, uint32_t to, enum hd_edge_type type) {
    const uint16_t *thread = order->build->trace->thread;
    if (thread[from] == thread[to]) return true;
    if (order->edge.size >= EDGE_LIMIT)
        return hd_fail(order->build->error, HD_ERR_LIMIT, "more than %zu must-order edges",
                       EDGE_LIMIT);
    struct hd_edge edge = {from, to, (uint8_t)type};
    hd_vector_push(&order->edge, edge);
    return true;
}

/* ---- threads ------------------------------------------------------------------------------- */

static bool fork_thread(struct order *order, uint32_t event) {
    struct hd_build *build = order->build;
    uint32_t child = build->memory->object[event];
    if (child == HD_NONE) return hd_rule_broken(build, HD_RULE_UNKNOWN_THREAD, event);
    if (child == build->trace->thread[event]) return hd_rule_broken(build, HD_RULE_ITSELF, event);
    struct thread_state *state = &order->thread[child];
    if (state->last != HD_NONE) return hd_rule_broken(build, HD_RULE_FORK_OF_RUNNING, event);
    if (state->fork != HD_NONE) return hd_rule_broken(build, HD_RULE_FORK_TWICE, event);
    state->fork = event;
    return true;
}

static bool join_thread(struct order *order, uint32_t event) {
    struct hd_build *build = order->build;
    uint32_t child = build->memory->object[event];
    if (child == HD_NONE) return hd_rule_broken(build, HD_RULE_UNKNOWN_THREAD, event);
    if (child == build->trace->thread[event]) return hd_rule_broken(build, HD_RULE_ITSELF, event);
    const struct thread_state *state = &order->thread[child];
    const struct hd_model *model = build->model;
    uint32_t stop = model->thread_start[child + 1];
    if (stop > model->thread_start[child] && model->thread_event[stop - 1] > event &&
        !hd_rule_broken(build, HD_RULE_JOIN_BEFORE_END, event))
        return false;
    /* A child of which nothing was seen still comes after its fork. */
    uint32_t from = state->last != HD_NONE ? state->last : state->fork;
    return from == HD_NONE || add_edge(order, from, event, HD_EDGE_JOIN);
}

/* ---- condition variables, semaphores, once --------------------------------------------------- */

static bool signal_sent(struct order *order, uint32_t event, uint64_t number) {
    if (number == 0) return true;
    uint32_t *slot = hd_map_slot(&order->signals, number, event);
    return *slot == event || hd_rule_broken(order->build, HD_RULE_SIGNAL_TWICE, event);
}

static bool wait_over(struct order *order, uint32_t event, uint64_t number) {
    if (number == 0) return true; /* no signal woke it */
    uint32_t from = hd_map_get(&order->signals, number, HD_NONE);
    if (from == HD_NONE) return hd_rule_broken(order->build, HD_RULE_WAIT_WITHOUT_SIGNAL, event);
    return add_edge(order, from, event, HD_EDGE_SIGNAL);
}

static void post(struct order *order, uint32_t event, struct object_state *state) {
    uint32_t added = (uint32_t)order->post.size;
    struct chained token = {event, HD_NONE};
    hd_vector_push(&order->post, token);
    if (state->head == HD_NONE)
        state->head = added;
    else
        order->post.data[state->tail].next = added;
    state->tail = added;
}

static bool take(struct order *order, uint32_t event, struct object_state *state) {
    if (state->tokens > 0) {
        state->tokens--;
        return true;
    }
    if (state->head != HD_NONE) {
        struct chained token = order->post.data[state->head];
        state->head = token.next;
        return add_edge(order, token.event, event, HD_EDGE_POST);
    }
    /* Without a SEM_INIT the initial value is unknown and may have been anything. */
    return !state->initialised || hd_rule_broken(order->build, HD_RULE_SEMAPHORE_EMPTY, event);
}

/* ---- barriers -------------------------------------------------------------------------------- */

static uint32_t new_round(struct order *order, uint32_t object) {
    struct round round = {object, HD_NONE, 0, HD_NONE, false};
    hd_vector_push(&order->round, round);
    return (uint32_t)order->round.size - 1;
}

/* The round an arrival belongs to: by its number, or, in a text trace without one, the barrier's
 * round of which nobody has gone on. */
static uint32_t round_of(struct order *order, uint32_t object, uint64_t number) {
    if (number != 0) {
        uint32_t *slot = hd_map_slot(&order->rounds, number, HD_NONE);
        if (*slot == HD_NONE) *slot = new_round(order, object);
        return *slot;
    }
    struct object_state *state = &order->object[object];
    if (state->event == HD_NONE || order->round.data[state->event].left)
        state->event = new_round(order, object);
    return state->event;
}

static bool arrive(struct order *order, uint32_t event, uint64_t number) {
    struct hd_build *build = order->build;
    uint32_t at = round_of(order, build->memory->object[event], number);
    struct round *round = &order->round.data[at];
    if (round->left) {
        if (!hd_rule_broken(build, HD_RULE_BARRIER_LEFT_EARLY, event)) return false;
        round->hub = HD_NONE;
    }
    struct chained arrival = {event, round->arrivals};
    round->arrivals = (uint32_t)order->arrival.size;
    round->count++;
    order->thread[build->trace->thread[event]].round = at;
    hd_vector_push(&order->arrival, arrival);
    return true;
}

/* `event` is the first of its thread that a round lets go on. */
static bool depart(struct order *order, uint32_t event, uint32_t at, bool may_be_hub) {
    struct round *round = &order->round.data[at];
    round->left = true;
    if (round->hub != HD_NONE) return add_edge(order, round->hub, event, HD_EDGE_BARRIER);
    for (uint32_t a = round->arrivals; a != HD_NONE; a = order->arrival.data[a].next)
        if (!add_edge(order, order->arrival.data[a].event, event, HD_EDGE_BARRIER)) return false;
    if (may_be_hub && round->count > MANY_ARRIVALS) round->hub = event;
    return true;
}

static bool leave(struct order *order, uint32_t event) {
    struct hd_build *build = order->build;
    struct thread_state *thread = &order->thread[build->trace->thread[event]];
    uint32_t at = thread->round;
    if (at == HD_NONE || order->round.data[at].object != build->memory->object[event])
        return hd_rule_broken(build, HD_RULE_LEAVE_WITHOUT_ARRIVE, event);
    thread->round = HD_NONE;
    bool next_to_arrival =
        thread->last != HD_NONE && build->trace->kind[thread->last] == HD_EV_BARRIER_ARRIVE;
    return depart(order, event, at, next_to_arrival);
}

/* ---- the pass -------------------------------------------------------------------------------- */

static bool follow_event(struct order *order, uint32_t event, uint64_t extra) {
    struct hd_build *build = order->build;
    uint32_t object = build->memory->object[event];
    struct thread_state *thread = &order->thread[build->trace->thread[event]];
    switch (build->trace->kind[event]) {
    case HD_EV_FORK:
        return fork_thread(order, event);
    case HD_EV_JOIN:
        return join_thread(order, event);
    case HD_EV_DETACH:
        return object != HD_NONE || hd_rule_broken(build, HD_RULE_UNKNOWN_THREAD, event);
    case HD_EV_BEGIN:
        return thread->last == HD_NONE || hd_rule_broken(build, HD_RULE_BEGIN_NOT_FIRST, event);
    case HD_EV_END:
        thread->end = event;
        return true;
    case HD_EV_SIGNAL:
    case HD_EV_BROADCAST:
        return signal_sent(order, event, extra);
    case HD_EV_WAIT:
        return wait_over(order, event, extra);
    case HD_EV_BARRIER_ARRIVE:
        return arrive(order, event, extra);
    case HD_EV_BARRIER_LEAVE:
        return leave(order, event);
    case HD_EV_SEM_INIT:
        order->object[object] = (struct object_state){extra, HD_NONE, HD_NONE, HD_NONE, true};
        return true;
    case HD_EV_POST:
        post(order, event, &order->object[object]);
        return true;
    case HD_EV_SEM_WAIT:
        return take(order, event, &order->object[object]);
    case HD_EV_ONCE_DONE:
        order->object[object].event = event;
        return true;
    case HD_EV_ONCE_PASS:
        /* None: it was initialised before the trace began. */
        return order->object[object].event == HD_NONE ||
               add_edge(order, order->object[object].event, event, HD_EDGE_ONCE);
    default:
        return true;
    }
}

static bool follow_events(struct order *order) {
    struct hd_build *build = order->build;
    const struct hd_trace *trace = build->trace;
    bool text = trace->format != HD_FORMAT_BINARY;
    uint32_t extra_at = 0;
    for (uint32_t e = 0; e < trace->events; e++) {
        struct thread_state *thread = &order->thread[trace->thread[e]];
        uint8_t kind = trace->kind[e];
        if (thread->last == HD_NONE && thread->fork != HD_NONE &&
            !add_edge(order, thread->fork, e, HD_EDGE_FORK))
            return false;
        bool of_child = kind == HD_EV_NOTE && hd_note_is_child(trace->flags[e]);
        if (thread->end != HD_NONE && !of_child) {
            if (!hd_rule_broken(build, HD_RULE_EVENT_AFTER_END, e)) return false;
            thread->end = HD_NONE;
        }
        if (text && thread->round != HD_NONE && kind != HD_EV_BARRIER_LEAVE) {
            uint32_t at = thread->round;
            thread->round = HD_NONE;
            if (!depart(order, e, at, false)) return false;
        }
        if (kind > HD_EV_TRY_FAILED && kind <= HD_EV_END) {
            while (extra_at < trace->extras && trace->extra_event[extra_at] < e) extra_at++;
            bool has = extra_at < trace->extras && trace->extra_event[extra_at] == e;
            if (!follow_event(order, e, has ? trace->extra_value[extra_at] : 0)) return false;
        }
        thread->last = e;
    }
    return true;
}

/* One list in order of `to`: those found here, and those of atomics. */
static bool merge_edges(struct order *order) {
    struct hd_build *build = order->build;
    struct hd_model_memory *memory = build->memory;
    size_t here = order->edge.size, atomic = build->atomic_edge.size, count = here + atomic;
    if (count > EDGE_LIMIT)
        return hd_fail(build->error, HD_ERR_LIMIT, "more than %zu must-order edges", EDGE_LIMIT);
    struct hd_edge *edge = memory->edge = hd_alloc(count, sizeof *edge);
    size_t i = 0, j = 0;
    for (size_t at = 0; at < count; at++) {
        bool take_here =
            j == atomic || (i < here && order->edge.data[i].to <= build->atomic_edge.data[j].to);
        edge[at] = take_here ? order->edge.data[i++] : build->atomic_edge.data[j++];
    }
    build->model->edge = edge;
    build->model->edges = (uint32_t)count;
    return true;
}

static void index_edges(struct hd_build *build) {
    struct hd_model_memory *memory = build->memory;
    uint32_t count = build->model->edges, events = build->trace->events;
    memory->has_in = hd_zalloc(hd_bit_words(events), sizeof(uint64_t));
    memory->has_out = hd_zalloc(hd_bit_words(events), sizeof(uint64_t));
    memory->edge_by_source = hd_alloc(count, sizeof(uint32_t));
    struct hd_keyed *entry = hd_alloc(count, sizeof *entry);
    for (uint32_t i = 0; i < count; i++) {
        entry[i] = (struct hd_keyed){memory->edge[i].from, i};
        hd_bit_set(memory->has_in, memory->edge[i].to);
        hd_bit_set(memory->has_out, memory->edge[i].from);
    }
    hd_sort_keyed(entry, count);
    for (uint32_t i = 0; i < count; i++) memory->edge_by_source[i] = entry[i].value;
    free(entry);
    if (count <= build->model->locations) return;
    memory->number = hd_realloc(memory->number, count, sizeof *memory->number);
    for (uint32_t i = build->model->locations; i < count; i++) memory->number[i] = i;
}

bool hd_pass_order(struct hd_build *build) {
    struct order order = {.build = build};
    uint32_t threads = build->trace->threads, objects = build->model->objects;
    order.thread = hd_alloc(threads, sizeof *order.thread);
    order.object = hd_alloc(objects, sizeof *order.object);
    memset(order.thread, 0xff, threads * sizeof *order.thread);
    for (uint32_t o = 0; o < objects; o++)
        order.object[o] = (struct object_state){0, HD_NONE, HD_NONE, HD_NONE, false};
    bool done = follow_events(&order) && merge_edges(&order);
    if (done) index_edges(build);
    free(order.thread);
    free(order.object);
    hd_map_free(&order.signals);
    hd_map_free(&order.rounds);
    hd_vector_free(&order.round);
    hd_vector_free(&order.arrival);
    hd_vector_free(&order.post);
    hd_vector_free(&order.edge);
    return done;
}
