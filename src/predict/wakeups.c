/* Waits without an end. A wait can begin after its signal: the condition variable keeps no memory
 * of it, and if nobody signals any more, the wait has no end. A thread ends with a lock that it
 * holds: whoever wants that lock later waits for ever. */
#include "facts/waits.h"
#include "predict/order_violations.h"

#include <stdlib.h>

/* A place where a wait on the condition ended by time-out does not wait for ever. */
static bool is_timed(const struct hd_map *timed, const struct hd_model *model, uint32_t wait) {
    return hd_map_get(timed, (uint64_t)model->site[wait] << 32 | model->object[wait], 0) != 0;
}

void hd_order_find_wakeups(struct hd_order_candidates *candidates) {
    const struct hd_model *model = candidates->model;
    struct hd_map timed = {0};
    for (uint32_t e = 0; e < model->events; e++)
        if (model->kind[e] == HD_EV_WAIT_TIMEOUT)
            hd_map_slot(&timed, (uint64_t)model->site[e] << 32 | model->object[e], 1);
    for (uint32_t i = 0; i < model->edges; i++) {
        const struct hd_edge *edge = &model->edge[i];
        if (edge->type != HD_EDGE_SIGNAL || is_timed(&timed, model, edge->to)) continue;
        uint32_t begins = hd_wait_begins(model, edge->to);
        if (begins == HD_NONE || hd_clocks_before(candidates->kept, begins, edge->from)) continue;
        hd_order_add(candidates, HD_ORDER_MISSED_SIGNAL, false, edge->from, edge->to,
                     model->object[edge->to]);
    }
    hd_map_free(&timed);
}

/* What a thread holds when it ends; a robust mutex is released for it. */
static void find_waiters(struct hd_order_candidates *candidates, const struct hd_section *held,
                         uint32_t end) {
    const struct hd_model *model = candidates->model;
    for (uint32_t i = model->lock_start[held->lock]; i < model->lock_start[held->lock + 1]; i++) {
        const struct hd_section *other = &model->section[model->lock_section[i]];
        if (other->thread == held->thread || (other->read_mode && held->read_mode)) continue;
        if (model->flags[other->acquire] & (HD_LOCK_BY_TRY | HD_LOCK_BY_WAIT)) continue;
        if (hd_clocks_before(candidates->kept, other->acquire, held->acquire)) continue;
        hd_order_add(candidates, HD_ORDER_NEVER_RELEASED, false, end, other->acquire,
                     held->acquire);
    }
}

void hd_order_find_unreleased(struct hd_order_candidates *candidates) {
    const struct hd_model *model = candidates->model;
    for (uint32_t i = 0; i < model->sections; i++) {
        const struct hd_section *section = &model->section[i];
        uint32_t stop = model->thread_start[section->thread + 1u];
        if (section->release != HD_NONE || stop == model->thread_start[section->thread]) continue;
        uint32_t last = model->thread_event[stop - 1];
        if (model->kind[last] == HD_EV_END) find_waiters(candidates, section, last);
    }
}
