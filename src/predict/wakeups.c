/* A wait that can begin after its signal: the condition variable keeps no memory of it, and if
 * nobody signals any more, the wait has no end. */
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
