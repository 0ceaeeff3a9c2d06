/* Clocks of what every reordering with an event must have before it (the closure under must-order
 * and, where reads are kept, reads-from): one pass in trace order, a new version of a thread's
 * clock wherever it learns of something new. */
#include "base/alloc.h"
#include "base/search.h"
#include "base/vector.h"
#include "engine/engine_base.h"

#include <stdlib.h>
#include <string.h>

struct change {
    uint32_t position, version;
};

struct following {
    const struct hd_view *view;
    uint32_t threads;
    uint32_t *now;                      /* threads x threads: the clock of each thread */
    HD_VECTOR(struct change) * changes; /* per thread */
    HD_VECTOR(uint32_t) clock;
    uint32_t versions;
};

/* The clock that a step had. */
static const uint32_t *clock_of(const struct following *following, uint32_t step) {
    uint32_t thread = following->view->thread[step], position = following->view->position[step];
    const struct change *change = following->changes[thread].data;
    size_t low =
        hd_first_not(i, 0, following->changes[thread].size, change[i].position <= position);
    if (low == 0) return NULL;
    return following->clock.data + (size_t)change[low - 1].version * following->threads;
}

/* True if the thread of `step` did not know `on` yet. A thread that knows an event knows all that
 * one needs. */
static bool learn(struct following *following, uint32_t step, uint32_t on) {
    const struct hd_view *view = following->view;
    uint32_t thread = view->thread[step], other = view->thread[on];
    uint32_t *now = following->now + (size_t)thread * following->threads;
    if (thread == other || now[other] > view->position[on]) return false;
    const uint32_t *its = clock_of(following, on);
    for (uint32_t u = 0; its != NULL && u < following->threads; u++)
        if (its[u] > now[u]) now[u] = its[u];
    now[other] = view->position[on] + 1;
    return true;
}

static void store(struct following *following, uint32_t step) {
    uint32_t thread = following->view->thread[step];
    struct change change = {following->view->position[step], following->versions};
    if (following->versions == UINT32_MAX) hd_out_of_memory();
    hd_vector_reserve(&following->clock, following->threads);
    hd_vector_push(&following->changes[thread], change);
    memcpy(following->clock.data + following->clock.size,
           following->now + (size_t)thread * following->threads,
           following->threads * sizeof(uint32_t));
    following->clock.size += following->threads;
    following->versions++;
}

static void follow(struct following *following, uint32_t step) {
    const struct hd_view *view = following->view;
    uint8_t role = view->role[step];
    bool changed = false;
    if ((role & HD_STEP_NEEDS) != 0) {
        const uint32_t *list = view->need_list + view->need[step];
        for (uint32_t i = 1; i <= list[0]; i++)
            if ((list[i] & HD_NEED_IF_IN) == 0) changed |= learn(following, step, list[i]);
    }
    if ((role & HD_STEP_READ) != 0) {
        uint32_t count;
        const uint32_t *entry = hd_entries_of(view, step, &count);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t from = view->access_from[entry[i]];
            if (from != HD_NONE) changed |= learn(following, step, view->access_step[from]);
        }
    }
    if (changed) store(following, step);
}

/* The changes of all threads, end to end. */
static void gather(struct hd_reach *reach, struct following *following) {
    size_t total = 0;
    for (uint32_t t = 0; t < reach->threads; t++) total += following->changes[t].size;
    reach->change_first = hd_alloc(reach->threads + (size_t)1, sizeof *reach->change_first);
    reach->change_position = hd_alloc(total + 1, sizeof *reach->change_position);
    reach->version = hd_alloc(total + 1, sizeof *reach->version);
    uint32_t fill = 0;
    for (uint32_t t = 0; t < reach->threads; t++) {
        reach->change_first[t] = fill;
        for (size_t i = 0; i < following->changes[t].size; i++, fill++) {
            reach->change_position[fill] = following->changes[t].data[i].position;
            reach->version[fill] = following->changes[t].data[i].version;
        }
    }
    reach->change_first[reach->threads] = fill;
    reach->versions = following->versions;
    reach->clock = following->clock.data;
    following->clock.data = NULL;
}

void hd_reach_build(struct hd_reach *reach, const struct hd_model *model,
                    const struct hd_view *view) {
    uint32_t threads = reach->threads = model->threads;
    struct following following = {.view = view, .threads = threads};
    uint32_t *step_of = hd_alloc(model->events + (size_t)1, sizeof *step_of);
    following.now = hd_zalloc((size_t)threads * threads + 1, sizeof *following.now);
    following.changes = hd_zalloc(threads + (size_t)1, sizeof *following.changes);
    memset(step_of, 0xff, model->events * sizeof *step_of);
    for (uint32_t s = 0; s < view->steps; s++) step_of[view->event[s]] = s;
    for (uint32_t e = 0; e < model->events; e++)
        if (step_of[e] != HD_NONE) follow(&following, step_of[e]);
    gather(reach, &following);
    for (uint32_t t = 0; t < threads; t++) hd_vector_free(&following.changes[t]);
    free(step_of);
    free(following.now);
    free(following.changes);
    hd_vector_free(&following.clock);
}

void hd_reach_free(struct hd_reach *reach) {
    free(reach->change_first);
    free(reach->change_position);
    free(reach->version);
    free(reach->clock);
}
