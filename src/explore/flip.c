/* The run is gone through in its own order. A thread whose next event can't be executed yet is held
 * back; when something was executed that may let it go on, the held ones are tried again, those
 * with the earliest events first. */
#include "explore/flip.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

struct lock {
    uint32_t writer;  /* thread, HD_NONE */
    uint32_t readers; /* sections */
};

struct run {
    const struct hd_model *model;
    const struct hd_flip *flip;
    uint32_t flips;
    uint32_t *at;      /* per thread: position of its next event */
    uint8_t *held;     /* per thread: its next event can't be executed yet */
    struct lock *lock; /* per lock */
    uint32_t *ended;   /* per event: the section that it ends, HD_NONE */
    uint32_t *order;
    uint32_t count, holding; /* events executed; threads held back */
};

static bool is_done(const struct run *run, uint32_t event) {
    return hd_model_position(run->model, event) < run->at[run->model->thread[event]];
}

/* The section that an event begins, HD_NONE. */
static uint32_t begun_by(const struct hd_model *model, uint32_t event) {
    uint32_t section = model->event_section[event];
    return section != HD_NONE && model->section[section].acquire == event ? section : HD_NONE;
}

static bool reads_already(const struct hd_model *model, uint32_t event, uint32_t lock) {
    uint32_t section[16], count = hd_model_held(model, event, section, 16);
    for (uint32_t i = 0; i < count && i < 16; i++)
        if (model->section[section[i]].lock == lock && model->section[section[i]].read_mode)
            return true;
    return false;
}

/* Would a thread get a lock? */
static bool is_free(const struct run *run, uint32_t event, uint32_t lock, bool reading) {
    const struct lock *state = &run->lock[lock];
    if (state->writer != HD_NONE && state->writer != run->model->thread[event]) return false;
    if (reading || state->readers == 0) return true;
    return state->readers == 1 && reads_already(run->model, event, lock);
}

static bool can_run(const struct run *run, uint32_t event) {
    const struct hd_model *model = run->model;
    const uint32_t *edges;
    for (uint32_t i = 0; i < run->flips; i++)
        if (event == run->flip[i].waits && !is_done(run, run->flip[i].second)) return false;
    uint32_t count = hd_model_edges_into(model, event, &edges);
    for (uint32_t i = 0; i < count; i++) /* what an atomic read sees is the program's to find out */
        if (model->edge[edges[i]].type != HD_EDGE_ATOMIC &&
            !is_done(run, model->edge[edges[i]].from))
            return false;
    uint32_t section = begun_by(model, event);
    return section == HD_NONE ||
           is_free(run, event, model->section[section].lock, model->section[section].read_mode);
}

static void take_locks(struct run *run, uint32_t event) {
    const struct hd_model *model = run->model;
    uint32_t begins = begun_by(model, event), ends = run->ended[event];
    if (begins != HD_NONE) {
        struct lock *lock = &run->lock[model->section[begins].lock];
        if (model->section[begins].read_mode)
            lock->readers++;
        else
            lock->writer = model->thread[event];
    }
    if (ends != HD_NONE) {
        struct lock *lock = &run->lock[model->section[ends].lock];
        if (!model->section[ends].read_mode)
            lock->writer = HD_NONE;
        else if (lock->readers > 0)
            lock->readers--;
    }
    /* A lock that never came in this run, or was tried in vain, comes now. */
    bool comes = model->kind[event] == HD_EV_BLOCKED && model->flags[event] == HD_WAIT_LOCK;
    for (uint32_t i = 0; i < run->flips; i++)
        comes |= model->kind[event] == HD_EV_TRY_FAILED && run->flip[i].second == event;
    if (comes && model->object[event] < model->locks)
        run->lock[model->object[event]].writer = model->thread[event];
}

static void execute(struct run *run, uint32_t event) {
    run->order[run->count++] = event;
    run->at[run->model->thread[event]]++;
    take_locks(run, event);
}

static uint32_t next_of(const struct run *run, uint32_t thread) {
    uint32_t at = run->model->thread_start[thread] + run->at[thread];
    return at < run->model->thread_start[thread + 1] ? run->model->thread_event[at] : HD_NONE;
}

/* Held threads go on, up to where the run is. */
static void go_on(struct run *run, uint32_t upto) {
    while (run->holding > 0) {
        uint32_t best = HD_NONE;
        for (uint32_t t = 0; t < run->model->threads; t++) {
            if (!run->held[t]) continue;
            uint32_t event = next_of(run, t);
            if (event < best && event <= upto && can_run(run, event)) best = event;
        }
        if (best == HD_NONE) return;
        uint32_t thread = run->model->thread[best];
        execute(run, best);
        uint32_t after = next_of(run, thread);
        if (after == HD_NONE || after > upto) {
            run->held[thread] = false;
            run->holding--;
        }
    }
}

uint32_t hd_flip(const struct hd_model *model, const struct hd_flip *flip, uint32_t flips,
                 uint32_t *order) {
    struct run run = {.model = model, .flip = flip, .flips = flips, .order = order};
    run.at = hd_zalloc(model->threads, sizeof *run.at);
    run.held = hd_zalloc(model->threads, sizeof *run.held);
    run.lock = hd_zalloc(model->locks, sizeof *run.lock);
    run.ended = hd_alloc(model->events, sizeof *run.ended);
    memset(run.ended, 0xff, model->events * sizeof *run.ended);
    for (uint32_t i = 0; i < model->sections; i++)
        if (model->section[i].release != HD_NONE) run.ended[model->section[i].release] = i;
    for (uint32_t i = 0; i < model->locks; i++) run.lock[i].writer = HD_NONE;
    for (uint32_t event = 0; event < model->events; event++) {
        uint32_t thread = model->thread[event];
        if (run.held[thread]) continue;
        if (can_run(&run, event)) {
            execute(&run, event);
            if (run.holding > 0) go_on(&run, event);
        } else {
            run.held[thread] = true;
            run.holding++;
        }
    }
    bool good = true;
    for (uint32_t i = 0; i < flips; i++) good &= is_done(&run, flip[i].second);
    free(run.at);
    free(run.held);
    free(run.lock);
    free(run.ended);
    return good ? run.count : 0;
}
