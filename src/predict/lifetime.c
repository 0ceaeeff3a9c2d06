/* The end of a block's life, and what other threads do to the block that might come after it:
 * accesses, frees, operations on locks and other objects that live in it. */
#include "predict/order_violations.h"

#include <stdlib.h>
#include <string.h>

struct pass {
    struct hd_order_candidates *candidates;
    const struct hd_model *model;
};

static void add_use(struct pass *pass, uint32_t use, uint32_t end, uint32_t block) {
    const struct hd_model *model = pass->model;
    struct hd_order_candidates *candidates = pass->candidates;
    if (model->thread[use] == model->thread[end] || hd_clocks_before(candidates->kept, use, end))
        return;
    bool frees = model->kind[use] == HD_EV_FREE;
    hd_order_add(candidates, frees ? HD_ORDER_DOUBLE_FREE : HD_ORDER_USE_AFTER_FREE, false, end,
                 use, block);
}

/* What an event does to an object in memory: its block, HD_NONE. */
static uint32_t object_block(const struct hd_model *model, uint32_t event) {
    uint32_t object = model->object[event];
    if (object == HD_NONE) return HD_NONE;
    switch (hd_kind_class(model->kind[event])) {
    case HD_CLASS_LOCK:
        return object < model->locks ? model->lock[object].block : HD_NONE;
    case HD_CLASS_SYNC:
        return object < model->objects ? model->sync_object[object].block : HD_NONE;
    default:
        return HD_NONE;
    }
}

static bool has_end(const struct hd_model *model, uint32_t block) {
    return block < model->blocks && model->block[block].free != HD_NONE &&
           model->block[block].type != HD_BLOCK_MMAP;
}

/* Accesses of a block's locations; one that touches several is met several times. */
static void find_accesses(struct pass *pass, uint32_t block) {
    const struct hd_model *model = pass->model;
    uint32_t end = model->block[block].free;
    for (uint32_t l = model->block_start[block]; l < model->block_start[block + 1]; l++) {
        if (!model->location[l].shared) continue; /* the free is an access too */
        const uint32_t *event = model->location_event + model->location_start[l];
        uint32_t count = model->location_start[l + 1] - model->location_start[l];
        for (uint32_t i = 0; i < count; i++)
            if (event[i] != end) add_use(pass, event[i], end, block);
    }
}

static void find_object_uses(struct pass *pass) {
    const struct hd_model *model = pass->model;
    bool any = false;
    for (uint32_t i = 0; i < model->locks; i++) any |= has_end(model, model->lock[i].block);
    for (uint32_t i = 0; i < model->objects; i++)
        any |= has_end(model, model->sync_object[i].block);
    for (uint32_t e = 0; any && e < model->events; e++) {
        uint32_t block = object_block(model, e);
        if (has_end(model, block)) add_use(pass, e, model->block[block].free, block);
    }
}

void hd_order_find_lifetimes(struct hd_order_candidates *candidates) {
    const struct hd_model *model = candidates->model;
    struct pass pass = {.candidates = candidates, .model = model};
    for (uint32_t b = 0; b < model->blocks; b++)
        if (has_end(model, b)) find_accesses(&pass, b);
    find_object_uses(&pass);
}
