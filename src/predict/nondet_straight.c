/* Schedules without search for the sound model.
 *
 * Many witnesses are found by going straight on: the past of the read in trace order; then the
 * writer's thread, before each event whatever of other threads it needs and is still to come, in
 * trace order; then the read. The past in trace order is a correct reordering as long as every
 * section that is open in its end is the last of its lock there. Of what follows each event must
 * get its locks and see what it saw in the trace. It is gone as far as that holds; writes beyond
 * that point are asked about. */
#include "base/search.h"
#include "predict/nondet_sound.h"

#include <string.h>

void hd_sound_add(const struct hd_sound_shared *shared, uint32_t *past, uint32_t event) {
    const struct hd_model *model = shared->couples->model;
    uint32_t thread = model->thread[event], position = hd_model_position(model, event);
    const uint32_t *clock = hd_reach_clock(&shared->base->kept, thread, position);
    for (uint32_t t = 0; clock != NULL && t < model->threads; t++)
        if (clock[t] > past[t]) past[t] = clock[t];
    if (position >= past[thread]) past[thread] = position + 1;
}

uint32_t hd_chain_before(const struct hd_couples *couples, const struct hd_chain *chain,
                         uint32_t position) {
    return hd_first_not(i, 0, chain->count, couples->write_position[chain->first + i] < position);
}

/* The last write of a location in the past, in trace order. */
static uint32_t last_in_past(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                             uint32_t location) {
    if (worker->past_stamp[location] == worker->stamp) return worker->past_write[location];
    const struct hd_couples *couples = shared->couples;
    uint32_t last = HD_NONE;
    for (uint32_t c = couples->chain_first[location]; c < couples->chain_first[location + 1]; c++) {
        const struct hd_chain *chain = &couples->chain.data[c];
        uint32_t count = hd_chain_before(couples, chain, worker->closed[chain->thread]);
        if (count == 0) continue;
        uint32_t write = couples->write[chain->first + count - 1];
        if (last == HD_NONE || write > last) last = write;
    }
    worker->past_stamp[location] = worker->stamp;
    worker->past_write[location] = last;
    return last;
}

/* How many sections of a use begin before a position of its thread. */
static uint32_t begun(const struct hd_sound_shared *shared, const struct hd_lock_sections *use,
                      uint32_t position) {
    const struct hd_view *view = &shared->base->full;
    const uint32_t *section = shared->base->use_section + use->first;
    return hd_first_not(i, 0, use->count,
                        view->position[view->section_acquire[section[i]]] < position);
}

/* A section that a cut leaves open is fine if no other of its lock comes later in the trace. */
static bool is_last(const struct hd_sound_shared *shared, const uint32_t *cut, uint32_t number) {
    const struct hd_model *model = shared->couples->model;
    const struct hd_engine_base *base = shared->base;
    const struct hd_section *section = &model->section[number];
    for (uint32_t u = base->use_first[section->lock]; u < base->use_first[section->lock + 1]; u++) {
        const struct hd_lock_sections *use = &base->use[u];
        if (use->thread == section->thread) continue;
        for (uint32_t i = begun(shared, use, cut[use->thread]); i-- > 0;) {
            const struct hd_section *other = &model->section[base->use_section[use->first + i]];
            if (other->acquire < section->acquire) break;
            if (hd_conflicting_modes(section, other)) return false;
        }
    }
    return true;
}

/* Adds the release of a section, and all it needs, to a cut. */
static bool add_release(const struct hd_sound_shared *shared, uint32_t *cut, uint32_t number) {
    const struct hd_model *model = shared->couples->model;
    const struct hd_section *section = &model->section[number];
    if (section->release == HD_NONE) return false;
    hd_sound_add(shared, cut, section->release);
    return true;
}

/* Makes trace order, restricted to a closed cut, a correct reordering: only the sections that it
 * leaves open can be in the way; those that are not the last of their lock are closed, if no thread
 * has to go beyond `most` for that (reader and writer: two threads and how far they may go). Those
 * left open are listed in `open`. */
struct bounds {
    uint32_t thread[2], most[2];
};
static bool close_in_trace_order(const struct hd_sound_shared *shared,
                                 struct hd_sound_worker *worker, uint32_t *cut,
                                 const struct bounds *bounds) {
    const struct hd_model *model = shared->couples->model;
    for (bool more = true; more;) {
        more = false;
        worker->open.size = 0;
        for (uint32_t t = 0; t < model->threads; t++) {
            if (cut[t] == 0) continue;
            uint32_t event = model->thread_event[model->thread_start[t] + cut[t] - 1];
            uint32_t s = model->event_section[event];
            for (; s != HD_NONE; s = model->section[s].outer) {
                const struct hd_section *section = &model->section[s];
                if (section->release != HD_NONE && section->release <= event) continue;
                if (!shared->base->contended[section->lock]) continue;
                if (!is_last(shared, cut, s)) {
                    if (!add_release(shared, cut, s)) return false;
                    for (int i = 0; i < 2; i++)
                        if (cut[bounds->thread[i]] > bounds->most[i]) return false;
                    more = true;
                } else
                    hd_vector_push(&worker->open, s);
            }
        }
    }
    return true;
}

/* The past, closed so that trace order is good for it. */
static bool past_in_order(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                          uint32_t event) {
    if (worker->past_open == HD_PAST_UNKNOWN) {
        const struct hd_model *model = shared->couples->model;
        uint32_t reader = model->thread[event], position = hd_model_position(model, event);
        struct bounds bounds = {{reader, reader}, {position, position}};
        memcpy(worker->closed, worker->past, model->threads * sizeof *worker->closed);
        bool good = close_in_trace_order(shared, worker, worker->closed, &bounds);
        worker->open_in_past.size = 0;
        hd_vector_reserve(&worker->open_in_past, worker->open.size);
        for (size_t i = 0; good && i < worker->open.size; i++)
            worker->open_in_past.data[worker->open_in_past.size++] = worker->open.data[i];
        worker->past_open = good ? HD_PAST_IN_ORDER : HD_PAST_OUT_OF_ORDER;
    }
    return worker->past_open == HD_PAST_IN_ORDER;
}

/* What the read needs and what the write needs, in trace order, then the write, then the read:
 * nobody there waits for the write or reads it, so it can come last; unless it reads itself. */
bool hd_write_can_come_last(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                            uint32_t event, const struct hd_placed_write *write) {
    const struct hd_model *model = shared->couples->model;
    const uint32_t *clock = write->clock;
    uint32_t reader = model->thread[event], writer = model->thread[write->event];
    /* without the write itself: nothing else may need it */
    uint32_t last = write->position;
    if (hd_model_is_read(model, write->event) || !past_in_order(shared, worker, event))
        return false;
    if (worker->closed[writer] > last) return false;
    for (uint32_t t = 0; t < model->threads; t++)
        worker->cut[t] =
            clock != NULL && clock[t] > worker->closed[t] ? clock[t] : worker->closed[t];
    worker->cut[writer] = last;
    struct bounds bounds = {{reader, writer}, {hd_model_position(model, event), last}};
    return close_in_trace_order(shared, worker, worker->cut, &bounds);
}

/* What a location holds now. */
static uint32_t last_write(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                           uint32_t location) {
    if (worker->run_stamp[location] == worker->run) return worker->run_write[location];
    return last_in_past(shared, worker, location);
}

static bool acquires(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                     uint32_t section) {
    const struct hd_section *all = shared->couples->model->section, *mine = &all[section];
    for (size_t i = 0; i < worker->open.size; i++) {
        const struct hd_section *other = &all[worker->open.data[i]];
        if (other->lock == mine->lock && other->thread != mine->thread &&
            hd_conflicting_modes(other, mine))
            return false;
    }
    hd_vector_push(&worker->open, section);
    return true;
}

static void releases(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                     uint32_t event) {
    const struct hd_section *all = shared->couples->model->section;
    for (size_t i = worker->open.size; i-- > 0;)
        if (all[worker->open.data[i]].release == event)
            worker->open.data[i] = worker->open.data[--worker->open.size];
}

/* Does a step whose needs are there go well? */
static bool execute(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                    uint32_t step) {
    const struct hd_model *model = shared->couples->model;
    const struct hd_view *view = &shared->base->full;
    uint32_t event = view->event[step];
    uint8_t role = view->role[step];
    if (model->kind[event] == HD_EV_TRY_FAILED) return false; /* the engine knows */
    if ((role & HD_STEP_ACQUIRE) != 0 && !acquires(shared, worker, view->about[step])) return false;
    if (worker->open.size > 0) releases(shared, worker, event);
    if ((role & (HD_STEP_READ | HD_STEP_WRITE)) == 0) return true;
    uint32_t entries;
    const uint32_t *entry = hd_entries_of(view, step, &entries), *location;
    uint32_t count = hd_model_locations(model, event, &location);
    for (uint32_t i = 0; i < count; i++) {
        if (!model->location[location[i]].shared) continue;
        if ((role & HD_STEP_READ) != 0) {
            uint32_t from = view->access_from[*entry];
            uint32_t saw = from == HD_NONE ? HD_NONE : view->event[view->access_step[from]];
            if (last_write(shared, worker, location[i]) != saw) return false;
        }
        entry++;
        if ((role & HD_STEP_WRITE) == 0) continue;
        worker->run_stamp[location[i]] = worker->run;
        worker->run_write[location[i]] = event;
    }
    return true;
}

/* The steps of other threads that a clock wants and that are still to come, in trace order. */
static bool execute_up_to(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                          const uint32_t *clock) {
    const struct hd_view *view = &shared->base->full;
    uint32_t threads = shared->couples->model->threads;
    for (;;) {
        uint32_t next = HD_NONE;
        for (uint32_t t = 0; t < threads; t++) {
            uint32_t step = worker->cursor[t];
            if (step == view->first[t + 1] || view->position[step] >= clock[t]) continue;
            if (next == HD_NONE || view->event[step] < view->event[next]) next = step;
        }
        if (next == HD_NONE) return true;
        if (!execute(shared, worker, next)) return false;
        worker->cursor[view->thread[next]]++;
    }
}

/* How far a thread can go after the past, at most to a position. */
uint32_t hd_go_straight(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                        uint32_t event, uint32_t thread, uint32_t most) {
    const struct hd_view *view = &shared->base->full;
    uint32_t threads = shared->couples->model->threads;
    if (!past_in_order(shared, worker, event)) return 0;
    worker->run++;
    worker->open.size = 0;
    hd_vector_reserve(&worker->open, worker->open_in_past.size);
    for (size_t i = 0; i < worker->open_in_past.size; i++)
        worker->open.data[worker->open.size++] = worker->open_in_past.data[i];
    for (uint32_t t = 0; t < threads; t++)
        worker->cursor[t] = hd_step_at(view, t, worker->closed[t]);
    const uint32_t *known = NULL;
    uint32_t *cursor = &worker->cursor[thread];
    for (; *cursor < view->first[thread + 1] && view->position[*cursor] < most; ++*cursor) {
        uint32_t position = view->position[*cursor];
        if ((view->role[*cursor] & (HD_STEP_NEEDS | HD_STEP_READ)) != 0) {
            const uint32_t *clock = hd_reach_clock(&shared->base->kept, thread, position);
            if (clock != known && !execute_up_to(shared, worker, clock)) return position;
            known = clock;
        }
        if (!execute(shared, worker, *cursor)) return position;
    }
    return most;
}

bool hd_past_leaves(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                    const struct hd_read *read, uint32_t write) {
    return past_in_order(shared, worker, read->event) &&
           last_in_past(shared, worker, read->location) == write;
}
