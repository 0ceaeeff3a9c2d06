/* Closed sets of events: everything that the events of the set need is in it. The clocks of the
 * base tell what an event needs; where a read that may read anything is among that, the clock
 * says too much, and the part of it that rests on the read is followed step by step instead. */
#include "engine/polygraph.h"

bool hd_closure_clean(const struct hd_engine *engine, uint32_t thread, uint32_t position,
                      const uint32_t *clock) {
    if (position >= engine->exempt[thread]) return false;
    if (!engine->tainted || clock == NULL) return true;
    for (uint32_t i = 0; i < engine->query->stops; i++) {
        uint32_t stop = engine->model->thread[engine->query->stop[i].event];
        if (engine->exempt[stop] != HD_NONE && stop != thread && clock[stop] > engine->exempt[stop])
            return false;
    }
    return true;
}

static void join(const struct hd_engine *engine, uint32_t *set, const uint32_t *clock) {
    for (uint32_t t = 0; clock != NULL && t < engine->threads; t++)
        if (clock[t] > set[t]) set[t] = clock[t];
}

static void follow(struct hd_engine *engine, const uint32_t *set, uint32_t step) {
    uint32_t thread = engine->view->thread[step], position = engine->view->position[step];
    if (position < set[thread]) return;
    hd_vector_push(&engine->todo, (uint64_t)thread << 32 | position);
}

/* What a step itself waits for. */
static void follow_step(struct hd_engine *engine, const uint32_t *set, uint32_t step) {
    const struct hd_view *view = engine->view;
    uint8_t role = view->role[step];
    if ((role & HD_STEP_NEEDS) != 0) {
        const uint32_t *list = view->need_list + view->need[step];
        for (uint32_t i = 1; i <= list[0]; i++)
            if ((list[i] & HD_NEED_IF_IN) == 0) follow(engine, set, list[i]);
    }
    if ((role & HD_STEP_READ) == 0) return;
    uint32_t count;
    const uint32_t *entry = hd_entries_of(view, step, &count);
    for (uint32_t i = 0; i < count; i++)
        if (view->access_from[entry[i]] != HD_NONE && hd_keeps_write(engine, step, entry[i]))
            follow(engine, set, view->access_step[view->access_from[entry[i]]]);
}

/* The first position of a thread, at most `position`, whose clock cannot be taken as it is. */
static uint32_t first_unclean(const struct hd_engine *engine, uint32_t thread, uint32_t position) {
    if (engine->exempt[thread] == position && !engine->tainted) return position;
    return hd_first_not(
        i, 0, position,
        hd_closure_clean(engine, thread, i, hd_reach_clock(engine->reach, thread, i)));
}

void hd_closure_add(struct hd_engine *engine, uint32_t *set, uint32_t thread, uint32_t position) {
    const struct hd_view *view = engine->view;
    if (position < set[thread]) return;
    const uint32_t *own = hd_reach_clock(engine->reach, thread, position);
    if (hd_closure_clean(engine, thread, position, own)) {
        join(engine, set, own);
        set[thread] = position + 1;
        return;
    }
    engine->todo.size = 0;
    hd_vector_push(&engine->todo, (uint64_t)thread << 32 | position);
    while (engine->todo.size > 0) {
        uint64_t next = engine->todo.data[--engine->todo.size];
        thread = (uint32_t)(next >> 32);
        position = (uint32_t)next;
        if (position < set[thread]) continue;
        const uint32_t *clock = hd_reach_clock(engine->reach, thread, position);
        if (hd_closure_clean(engine, thread, position, clock)) {
            join(engine, set, clock);
            set[thread] = position + 1;
            continue;
        }
        uint32_t unclean = first_unclean(engine, thread, position), from = set[thread];
        if (unclean > 0) join(engine, set, hd_reach_clock(engine->reach, thread, unclean - 1));
        if (unclean > from) from = unclean;
        set[thread] = position + 1;
        for (uint32_t step = hd_step_at(view, thread, from);
             step < view->first[thread + 1] && view->position[step] <= position; step++)
            follow_step(engine, set, step);
    }
}
