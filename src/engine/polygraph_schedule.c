/* Schedule reconstruction: executes the cut in trace order; a thread whose next event may not come
 * yet waits, and catches up as soon as what it waits for is done. Whatever comes out in full is a
 * correct reordering. If every thread waits, the waits form a cycle, which is the proof that not
 * all the orders taken on the way can hold together.
 *
 * Stretches in which the trace's own order is good are not executed but skipped: they end at the
 * next trigger, an event that a decided order or a section left open wants elsewhere. Nobody waits
 * before the first trigger; and whenever nobody waits and exactly the events of the cut before some
 * point of the trace are done, the state is the one that trace order leads to, as far as it
 * matters: the same sections are open, and the last write of a place, if reads of it are to come,
 * is the trace's (no other may come between). So the same can be said up to the next trigger. */
#include "base/search.h"
#include "engine/polygraph.h"

#include <stdlib.h>
#include <string.h>

/* ---- threads that can go on, by their next event -------------------------------------------- */

static void sift_up(struct hd_engine *engine, uint32_t at) {
    uint32_t *heap = engine->heap, thread = heap[at];
    while (at > 0 && engine->key[heap[(at - 1) / 2]] > engine->key[thread]) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = thread;
}

static void sift_down(struct hd_engine *engine) {
    uint32_t *heap = engine->heap, thread = heap[0], at = 0, count = engine->heaped;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= count) break;
        if (child + 1 < count && engine->key[heap[child + 1]] < engine->key[heap[child]]) child++;
        if (engine->key[heap[child]] >= engine->key[thread]) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = thread;
}

static void heap_push(struct hd_engine *engine, uint32_t thread) {
    engine->heap[engine->heaped++] = thread;
    sift_up(engine, engine->heaped - 1);
}

static void heap_pop(struct hd_engine *engine) {
    engine->heap[0] = engine->heap[--engine->heaped];
    if (engine->heaped > 0) sift_down(engine);
}

/* ---- where a thread is ----------------------------------------------------------------------- */

/* The position of its next step or gate; its cut if there is none before that. */
static uint32_t next_halt(const struct hd_engine *engine, uint32_t thread) {
    const struct hd_view *view = engine->view;
    uint32_t halt = engine->cut[thread];
    if (engine->cursor[thread] < view->first[thread + 1] &&
        view->position[engine->cursor[thread]] < halt)
        halt = view->position[engine->cursor[thread]];
    if (engine->gate_at[thread] < engine->gates.size) {
        uint64_t gate = engine->gates.data[engine->gate_at[thread]];
        if (gate >> 32 == thread && (uint32_t)gate < halt) halt = (uint32_t)gate;
    }
    return halt;
}

static uint32_t event_at(const struct hd_engine *engine, uint32_t thread, uint32_t position) {
    return engine->model->thread_event[engine->model->thread_start[thread] + position];
}

/* Nothing before the next place where it may have to wait can wait: it is as good as executed. Into
 * the heap, unless the thread is through. */
static void line_up(struct hd_engine *engine, uint32_t thread) {
    uint32_t halt = next_halt(engine, thread);
    engine->at[thread] = halt;
    if (halt == engine->cut[thread]) return;
    engine->key[thread] = event_at(engine, thread, halt);
    heap_push(engine, thread);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static bool wait_for(struct hd_engine *engine, uint32_t thread, uint32_t on, uint32_t position,
                     enum hd_wait_cause cause) {
    engine->wait[thread] = (struct hd_wait){.thread = on, .position = position, .cause = cause};
    return false;
}

static bool wait_for_step(struct hd_engine *engine, uint32_t thread, uint32_t step,
                          enum hd_wait_cause cause) {
    return wait_for(engine, thread, engine->view->thread[step], engine->view->position[step],
                    cause);
}

static bool wait_undecided(struct hd_engine *engine, uint32_t thread, uint32_t step, uint32_t first,
                           uint32_t second) {
    wait_for_step(engine, thread, step, HD_WAIT_UNDECIDED);
    engine->wait[thread].first = first;
    engine->wait[thread].second = second;
    return false;
}

static void block_thread(struct hd_engine *engine, uint32_t thread) {
    const struct hd_wait *wait = &engine->wait[thread];
    engine->deviates = true;
    engine->blocked[thread] = 1;
    engine->waiting++;
    engine->next_wait[thread] = engine->waiters[wait->thread];
    engine->waiters[wait->thread] = thread;
    if (wait->position < engine->soonest[wait->thread])
        engine->soonest[wait->thread] = wait->position;
}

/* Lets those go on that waited for what a thread has now executed. */
static void wake(struct hd_engine *engine, uint32_t thread) {
    uint32_t list = engine->waiters[thread];
    engine->waiters[thread] = HD_NONE;
    engine->soonest[thread] = HD_NONE;
    while (list != HD_NONE) {
        uint32_t each = list;
        list = engine->next_wait[each];
        if (engine->wait[each].position < engine->at[thread]) {
            engine->blocked[each] = 0;
            engine->waiting--;
            heap_push(engine, each);
        } else {
            engine->next_wait[each] = engine->waiters[thread];
            engine->waiters[thread] = each;
            if (engine->wait[each].position < engine->soonest[thread])
                engine->soonest[thread] = engine->wait[each].position;
        }
    }
}

/* ---- rules: may the event come now? Each returns false with the thread's wait set. ----------- */

static bool may_by_orders_of_query(struct hd_engine *engine, uint32_t thread, uint32_t position) {
    uint32_t event = event_at(engine, thread, position);
    for (uint32_t i = 0; i < engine->query->orders; i++) {
        const struct hd_precedes *order = &engine->query->order[i];
        if (order->after != event) continue;
        uint32_t on = engine->model->thread[order->before];
        uint32_t before = hd_model_position(engine->model, order->before);
        if (engine->at[on] <= before) return wait_for(engine, thread, on, before, HD_WAIT_HARD);
    }
    return true;
}

static bool may_by_needs(struct hd_engine *engine, uint32_t thread, uint32_t step) {
    const struct hd_view *view = engine->view;
    const uint32_t *list = view->need_list + view->need[step];
    for (uint32_t i = 1; i <= list[0]; i++) {
        uint32_t on = list[i] & HD_NEED_STEP;
        bool if_in = (list[i] & HD_NEED_IF_IN) != 0;
        if (hd_is_done(engine, on) || (if_in && !hd_in_cut(engine, on))) continue;
        return wait_for_step(engine, thread, on, if_in ? HD_WAIT_IF_IN : HD_WAIT_HARD);
    }
    return true;
}

/* What of a block is still to come before a step, which may itself be the last of it (an atomic
 * update that reads what it replaces): a step, or HD_NONE. */
static uint32_t unfinished(const struct hd_engine *engine, uint32_t block, uint32_t before) {
    const struct hd_view *view = engine->view;
    if (hd_is_section(engine, block)) {
        uint32_t release = view->section_release[block];
        return hd_is_done(engine, release) ? HD_NONE : release;
    }
    uint32_t entry = hd_entry_of_block(engine, block), step = view->access_step[entry];
    if (!hd_is_done(engine, step)) return step;
    struct hd_readers readers = hd_readers_of(engine, view->access_place[entry], entry);
    while ((step = hd_readers_next(engine, &readers)) != HD_NONE)
        if (step != before && !hd_is_done(engine, step)) return step;
    return HD_NONE;
}

static bool may_by_decisions(struct hd_engine *engine, uint32_t thread, uint32_t step) {
    uint32_t at = hd_choices_into(engine, step);
    for (; at != HD_NONE; at = engine->choices.data[at].next_of_start) {
        struct hd_literal order = engine->choices.data[at].literal;
        if (hd_block_start(engine, order.second) != step) continue;
        uint32_t left = unfinished(engine, order.first, step);
        if (left == HD_NONE) continue;
        wait_for_step(engine, thread, left, HD_WAIT_DECIDED);
        engine->wait[thread].choice = at;
        return false;
    }
    return true;
}

static bool may_by_lock(struct hd_engine *engine, uint32_t thread, uint32_t step) {
    const struct hd_view *view = engine->view;
    uint32_t section = view->about[step];
    const struct hd_section *mine = &engine->model->section[section];
    struct hd_lock_state *lock = &engine->lock[mine->lock];
    if (lock->stamp != engine->stamp) return true;
    for (uint32_t *link = &lock->open; *link != HD_NONE;) {
        struct hd_open_section *open = &engine->open.data[*link];
        const struct hd_section *other = &engine->model->section[open->section];
        uint32_t release = view->section_release[open->section];
        if (release != HD_NONE && hd_is_done(engine, release)) {
            *link = open->next;
            continue;
        }
        if (other->thread != thread && hd_conflicting_modes(mine, other)) {
            if (release == HD_NONE) {
                wait_undecided(engine, thread, step, open->section, section);
                engine->wait[thread].thread = other->thread;
                engine->wait[thread].position = HD_NONE;
                return false;
            }
            return wait_undecided(engine, thread, release, open->section, section);
        }
        link = &open->next;
    }
    return true;
}

static struct hd_place_state *place_state(struct hd_engine *engine, uint32_t place) {
    struct hd_place_state *state = &engine->place[place];
    if (state->stamp == engine->stamp) return state;
    /* Nothing of this place was touched in this stretch: it is as trace order left it. */
    const struct hd_view *view = engine->view;
    uint32_t first = view->place_first[place];
    uint32_t low = hd_first_not(i, first, view->place_first[place + 1],
                                view->event[view->access_step[i]] < engine->window);
    uint32_t last = HD_NONE, reader;
    while (last == HD_NONE && low-- > first) {
        uint32_t step = view->access_step[low];
        if ((view->role[step] & HD_STEP_WRITE) != 0 && hd_in_cut(engine, step)) last = low;
    }
    *state = (struct hd_place_state){engine->stamp, last, 0};
    struct hd_readers readers = hd_readers_of(engine, place, last);
    while ((reader = hd_readers_next(engine, &readers)) != HD_NONE)
        state->pending += view->event[reader] >= engine->window;
    return state;
}

/* A write may come when all reads of the value that it replaces have come. */
static bool may_write(struct hd_engine *engine, uint32_t thread, uint32_t step, uint32_t entry) {
    const struct hd_view *view = engine->view;
    uint32_t place = view->access_place[entry], reader;
    const struct hd_place_state *state = place_state(engine, place);
    if (state->pending == 0) return true;
    struct hd_readers readers = hd_readers_of(engine, place, state->last);
    while ((reader = hd_readers_next(engine, &readers)) != HD_NONE) {
        if (reader == step || hd_is_done(engine, reader)) continue;
        if (state->last == HD_NONE) return wait_for_step(engine, thread, reader, HD_WAIT_IF_IN);
        return wait_undecided(engine, thread, reader, hd_block_of_write(engine, state->last),
                              hd_block_of_write(engine, entry));
    }
    return true;
}

/* A read may come when its write has; no other can come between, since that would have to wait. */
static bool may_read(struct hd_engine *engine, uint32_t thread, uint32_t step, uint32_t entry) {
    const struct hd_view *view = engine->view;
    uint32_t from = view->access_from[entry];
    if (from != HD_NONE && hd_keeps_write(engine, step, entry) &&
        !hd_is_done(engine, view->access_step[from]))
        return wait_for_step(engine, thread, view->access_step[from], HD_WAIT_HARD);
    return true;
}

static bool may_read_as_demanded(struct hd_engine *engine, uint32_t thread) {
    for (size_t i = 0; i < engine->demands.size; i++) {
        uint32_t entry = engine->demands.data[i].entry;
        if (entry == HD_NONE || hd_is_done(engine, engine->view->access_step[entry])) continue;
        return wait_for_step(engine, thread, engine->view->access_step[entry], HD_WAIT_HARD);
    }
    return true;
}

static bool may_access(struct hd_engine *engine, uint32_t thread, uint32_t step) {
    const struct hd_view *view = engine->view;
    uint8_t role = view->role[step];
    uint32_t count;
    const uint32_t *entry = hd_entries_of(view, step, &count);
    if (step == engine->reader && !may_read_as_demanded(engine, thread)) return false;
    for (uint32_t i = 0; i < count; i++) {
        if ((role & HD_STEP_READ) != 0 && !may_read(engine, thread, step, entry[i])) return false;
        if ((role & HD_STEP_WRITE) != 0 && !may_write(engine, thread, step, entry[i])) return false;
    }
    return true;
}

static bool may_execute(struct hd_engine *engine, uint32_t thread, uint32_t position, uint32_t step,
                        bool gate) {
    if (gate && !may_by_orders_of_query(engine, thread, position)) return false;
    if (step == HD_NONE) return true;
    uint8_t role = engine->view->role[step];
    if ((role & HD_STEP_NEEDS) != 0 && !may_by_needs(engine, thread, step)) return false;
    if (!may_by_decisions(engine, thread, step)) return false;
    if ((role & HD_STEP_ACQUIRE) != 0 && !may_by_lock(engine, thread, step)) return false;
    if ((role & (HD_STEP_READ | HD_STEP_WRITE)) != 0 && !may_access(engine, thread, step))
        return false;
    return true;
}

/* ---- effects --------------------------------------------------------------------------------- */

static void take_lock(struct hd_engine *engine, uint32_t section) {
    struct hd_lock_state *lock = &engine->lock[engine->model->section[section].lock];
    if (lock->stamp != engine->stamp) *lock = (struct hd_lock_state){engine->stamp, HD_NONE};
    struct hd_open_section open = {section, lock->open};
    hd_vector_push(&engine->open, open);
    lock->open = (uint32_t)engine->open.size - 1;
}

static void do_access(struct hd_engine *engine, uint32_t step) {
    const struct hd_view *view = engine->view;
    uint8_t role = view->role[step];
    uint32_t count;
    const uint32_t *entry = hd_entries_of(view, step, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct hd_place_state *state = place_state(engine, view->access_place[entry[i]]);
        if ((role & HD_STEP_READ) != 0 && hd_keeps_write(engine, step, entry[i])) state->pending--;
        if (step == engine->reader)
            state->pending -= hd_demand_at(engine, view->access_place[entry[i]]) != NULL;
        if ((role & HD_STEP_WRITE) == 0) continue;
        struct hd_readers readers = hd_readers_of(engine, view->access_place[entry[i]], entry[i]);
        state->last = entry[i];
        state->pending = 0;
        while (hd_readers_next(engine, &readers) != HD_NONE) state->pending++;
    }
}

static void execute(struct hd_engine *engine, uint32_t step) {
    uint8_t role = engine->view->role[step];
    if ((role & HD_STEP_ACQUIRE) != 0) take_lock(engine, engine->view->about[step]);
    if ((role & (HD_STEP_READ | HD_STEP_WRITE)) != 0) do_access(engine, step);
}

static void record(struct hd_engine *engine, uint32_t thread, uint32_t upto) {
    size_t count = engine->slices.size;
    if (count > 0 && engine->slices.data[count - 1].thread == thread) {
        engine->slices.data[count - 1].upto = upto;
        return;
    }
    struct hd_slice run = {thread, upto};
    hd_vector_push(&engine->slices, run);
}

/* Exactly the events before the next one are done. */
static bool in_step(const struct hd_engine *engine, uint32_t next) {
    return engine->waiting == 0 && next > engine->latest &&
           (engine->reader == HD_NONE || hd_is_done(engine, engine->reader));
}

/* Runs a thread until another one's next event is due, it has to wait, it is through, or trace
 * order will do again. The thread is out of the heap. */
static void run_thread(struct hd_engine *engine, uint32_t thread) {
    const struct hd_view *view = engine->view;
    uint32_t due = engine->heaped > 0 ? engine->key[engine->heap[0]] : HD_NONE;
    for (;;) {
        uint32_t position = engine->at[thread], step = engine->cursor[thread];
        if (step == view->first[thread + 1] || view->position[step] != position) step = HD_NONE;
        bool gate =
            engine->gate_at[thread] < engine->gates.size &&
            engine->gates.data[engine->gate_at[thread]] == ((uint64_t)thread << 32 | position);
        if (!may_execute(engine, thread, position, step, gate)) {
            block_thread(engine, thread);
            return;
        }
        if (step != HD_NONE) {
            execute(engine, step);
            engine->cursor[thread]++;
        }
        if (gate) engine->gate_at[thread]++;
        if (engine->key[thread] > engine->latest) engine->latest = engine->key[thread];
        record(engine, thread, position + 1);
        engine->at[thread] = next_halt(engine, thread);
        if (engine->soonest[thread] < engine->at[thread]) {
            wake(engine, thread);
            due = engine->heaped > 0 ? engine->key[engine->heap[0]] : HD_NONE;
        }
        if (engine->at[thread] == engine->cut[thread]) return;
        engine->key[thread] = event_at(engine, thread, engine->at[thread]);
        if (engine->key[thread] > due || in_step(engine, engine->key[thread])) {
            heap_push(engine, thread);
            return;
        }
    }
}

/* ---- stretches of trace order ---------------------------------------------------------------- */

static void add_trigger(struct hd_engine *engine, uint32_t event) {
    hd_vector_push(&engine->triggers, event);
}

/* Does a decided order want its second block later than the trace has it? */
static bool against_trace(const struct hd_engine *engine, struct hd_literal order) {
    const struct hd_view *view = engine->view;
    uint32_t start = view->event[hd_block_start(engine, order.second)];
    if (hd_is_section(engine, order.first))
        return view->event[view->section_release[order.first]] > start;
    uint32_t entry = hd_entry_of_block(engine, order.first), step;
    if (view->event[view->access_step[entry]] > start) return true;
    struct hd_readers readers = hd_readers_of(engine, view->access_place[entry], entry);
    while ((step = hd_readers_next(engine, &readers)) != HD_NONE)
        if (view->event[step] > start) return true;
    return false;
}

static int by_event(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void find_triggers(struct hd_engine *engine) {
    const struct hd_view *view = engine->view;
    engine->triggers.size = 0;
    engine->left_open.size = 0;
    if (engine->reading == HD_UA) { /* reads beyond the cut matter too: nothing is skipped */
        add_trigger(engine, 0);
        return;
    }
    hd_open_list(engine);
    for (size_t i = 0; i < engine->choices.size; i++) {
        struct hd_literal order = engine->choices.data[i].literal;
        if (hd_is_order(order) && against_trace(engine, order))
            add_trigger(engine, view->event[hd_block_start(engine, order.second)]);
    }
    for (uint32_t i = 0; i < engine->query->orders; i++)
        if (engine->query->order[i].before > engine->query->order[i].after)
            add_trigger(engine, engine->query->order[i].after);
    for (size_t i = 0; i < engine->demands.size; i++) {
        /* from the first write after the one that is to be seen */
        const struct hd_demand *demand = &engine->demands.data[i];
        uint32_t entry =
            demand->entry == HD_NONE ? view->place_first[demand->place] : demand->entry + 1;
        while (entry < view->place_first[demand->place + 1] &&
               (view->role[view->access_step[entry]] & HD_STEP_WRITE) == 0)
            entry++;
        if (entry < view->place_first[demand->place + 1])
            add_trigger(engine, view->event[view->access_step[entry]]);
        add_trigger(engine, view->event[engine->reader]);
    }
    if (engine->triggers.size > 1)
        qsort(engine->triggers.data, engine->triggers.size, sizeof *engine->triggers.data,
              by_event);
}

/* How many events of a thread come before an event of the trace. */
static uint32_t events_before(const struct hd_engine *engine, uint32_t thread, uint32_t event) {
    const uint32_t *list = engine->model->thread_event + engine->model->thread_start[thread];
    return hd_lower_bound(list, engine->cut[thread], event);
}

/* All events of the cut before this one are done, in trace order. */
static void skip_to(struct hd_engine *engine, uint32_t event) {
    const struct hd_model *model = engine->model;
    size_t gate = 0;
    engine->stamp++;
    engine->window = event;
    engine->latest = event > 0 ? event - 1 : 0;
    engine->open.size = 0;
    engine->heaped = 0;
    for (uint32_t t = 0; t < engine->threads; t++) {
        uint32_t done = events_before(engine, t, event);
        while (gate < engine->gates.size && engine->gates.data[gate] < ((uint64_t)t << 32 | done))
            gate++;
        engine->gate_at[t] = (uint32_t)gate;
        engine->cursor[t] = hd_step_at(engine->view, t, done);
        line_up(engine, t);
        if (done == 0) continue;
        hd_open_after(engine, model->thread_event[model->thread_start[t] + done - 1]);
        for (size_t i = 0; i < engine->stack.size; i++) take_lock(engine, engine->stack.data[i]);
    }
    struct hd_slice run = {HD_NONE, event};
    hd_vector_push(&engine->slices, run);
}

/* The next event from one on at which trace order may not do, HD_NONE. */
static uint32_t next_trigger(const struct hd_engine *engine, uint32_t from) {
    uint32_t least = hd_open_trigger(engine, from);
    for (size_t i = 0; i < engine->triggers.size && engine->triggers.data[i] < least; i++)
        if (engine->triggers.data[i] >= from) return engine->triggers.data[i];
    return least;
}

enum hd_scheduled hd_schedule(struct hd_engine *engine) {
    uint32_t threads = engine->threads;
    engine->slices.size = 0;
    engine->deviates = false;
    engine->waiting = 0;
    memset(engine->blocked, 0, threads * sizeof *engine->blocked);
    memset(engine->waiters, 0xff, threads * sizeof *engine->waiters);
    memset(engine->soonest, 0xff, threads * sizeof *engine->soonest);
    find_triggers(engine);
    skip_to(engine, next_trigger(engine, 0));
    while (engine->heaped > 0) {
        uint32_t thread = engine->heap[0];
        if (in_step(engine, engine->key[thread]) && engine->reading != HD_UA) {
            uint32_t next = next_trigger(engine, engine->key[thread]);
            if (next > engine->key[thread]) {
                skip_to(engine, next);
                continue;
            }
        }
        heap_pop(engine);
        run_thread(engine, thread);
    }
    return engine->waiting > 0 ? HD_STUCK : HD_SCHEDULED;
}

/* ---- obstacles
 * ----------------------------------------------------------------------------------- */

/* Adds one wait to `because` and `undecided`. That the events of a cycle are in the cut follows
 * from any one of them, but for those that wait only if both are. */
static void add_wait(struct hd_engine *engine, uint32_t thread) {
    const struct hd_wait *wait = &engine->wait[thread];
    if (wait->cause == HD_WAIT_HARD) return;
    if (wait->cause == HD_WAIT_IF_IN) hd_because_in(engine, thread, engine->at[thread]);
    if (wait->position < engine->cut[wait->thread])
        hd_because_in(engine, wait->thread, wait->position);
    if (wait->cause == HD_WAIT_DECIDED) hd_because_choice(engine, wait->choice);
    if (wait->cause == HD_WAIT_UNDECIDED) {
        hd_vector_push(&engine->undecided, wait->first);
        hd_vector_push(&engine->undecided, wait->second);
    }
}

/* Adds the obstacle that a thread is part of. */
static void add_obstacle(struct hd_engine *engine, uint32_t thread, bool cyclic) {
    struct hd_obstacle obstacle = {.reason = (uint32_t)engine->obstacle_reasons.size,
                                   .first = (uint32_t)engine->undecided.size,
                                   .cyclic = cyclic};
    uint32_t first = thread;
    hd_because_nothing(engine);
    do {
        add_wait(engine, thread);
        thread = engine->wait[thread].thread;
    } while (cyclic && thread != first);
    for (size_t i = 0; i < engine->because.size; i++)
        hd_vector_push(&engine->obstacle_reasons, engine->because.data[i]);
    obstacle.reasons = (uint32_t)engine->obstacle_reasons.size - obstacle.reason;
    obstacle.pairs = ((uint32_t)engine->undecided.size - obstacle.first) / 2;
    hd_vector_push(&engine->obstacles, obstacle);
}

void hd_schedule_obstacles(struct hd_engine *engine) {
    engine->undecided.size = engine->obstacles.size = engine->obstacle_reasons.size = 0;
    uint32_t *seen = engine->heap; /* empty now: who was come by from which thread, plus one */
    memset(seen, 0, engine->threads * sizeof *seen);
    for (uint32_t t = 0; t < engine->threads; t++) {
        uint32_t thread = t;
        if (!engine->blocked[t]) continue;
        while (seen[thread] == 0) {
            const struct hd_wait *wait = &engine->wait[thread];
            seen[thread] = t + 1;
            if (wait->position >= engine->cut[wait->thread]) {
                add_obstacle(engine, thread, false);
                thread = HD_NONE;
                break;
            }
            thread = wait->thread;
        }
        if (thread != HD_NONE && seen[thread] == t + 1) add_obstacle(engine, thread, true);
    }
}
