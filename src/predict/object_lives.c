/* Locks, condition variables, barriers and semaphores are made and destroyed by calls (notes of the
 * trace): uses by other threads that might come after the destruction, or before the
 * initialisation. */
#include "base/alloc.h"
#include "predict/order_violations.h"

#include <stdlib.h>

/* Uses of an object, in a list. */
struct use {
    uint32_t event, next;
};

/* One object, as far as the trace has been followed. */
struct life {
    uint32_t uses; /* since the last note about it, HD_NONE: none */
    uint32_t init; /* the note that it lives by, HD_NONE: made by its initialiser, or destroyed */
    uint32_t destroy; /* the note that it is dead by, HD_NONE */
    bool explicit;    /* what destroy ended had begun with an init */
    bool noted;       /* there are notes about it */
};

struct pass {
    struct hd_order_candidates *candidates;
    const struct hd_model *model;
    struct life *life; /* of locks, then of other objects */
    HD_VECTOR(struct use) use;
};

static struct life *life_of(struct pass *pass, uint32_t event, bool lock) {
    const struct hd_model *model = pass->model;
    uint32_t object = model->object[event], most = lock ? model->locks : model->objects;
    if (object >= most) return NULL;
    return &pass->life[lock ? object : model->locks + object];
}

static bool is_stack(const struct hd_model *model, uint32_t event, bool lock) {
    uint32_t object = model->object[event];
    uint32_t block = lock ? model->lock[object].block : model->sync_object[object].block;
    return block < model->blocks && model->block[block].type == HD_BLOCK_STACK;
}

/* ---- candidates -------------------------------------------------------------------------------
 */

static void add_after(struct pass *pass, uint32_t destroy, uint32_t use) {
    const struct hd_model *model = pass->model;
    if (model->thread[use] == model->thread[destroy] ||
        hd_clocks_before(pass->candidates->kept, use, destroy))
        return;
    hd_order_add(pass->candidates, HD_ORDER_USE_AFTER_DESTROY, false, destroy, use, destroy);
}

static void add_before(struct pass *pass, uint32_t use, uint32_t init) {
    const struct hd_model *model = pass->model;
    if (model->thread[use] == model->thread[init]) return;
    bool ordered = use < init ? hd_clocks_before(pass->candidates->kept, use, init)
                              : hd_order_follows(pass->candidates, use, init);
    if (!ordered) hd_order_add(pass->candidates, HD_ORDER_USE_BEFORE_INIT, false, use, init, init);
}

/* ---- the pass ---------------------------------------------------------------------------------
 */

/* After the end of an object that no call had made, or on a stack, another may live there that its
 * initialiser made. */
static void used(struct pass *pass, struct life *life, uint32_t event, bool on_stack) {
    if (!life->noted) return;
    if (life->init != HD_NONE) add_before(pass, event, life->init);
    if (life->destroy != HD_NONE && life->explicit && !on_stack)
        add_after(pass, life->destroy, event);
    struct use use = {event, life->uses};
    life->uses = (uint32_t)pass->use.size;
    hd_vector_push(&pass->use, use);
}

static void noted(struct pass *pass, struct life *life, uint32_t event, bool on_stack) {
    bool init = (pass->model->flags[event] & HD_NOTE_TYPE_MASK) == HD_NOTE_INIT;
    for (uint32_t i = life->uses; i != HD_NONE; i = pass->use.data[i].next) {
        uint32_t use = pass->use.data[i].event;
        if (init)
            add_before(pass, use, event);
        else
            add_after(pass, event, use);
    }
    if (!init && life->destroy != HD_NONE && life->explicit && !on_stack)
        add_after(pass, life->destroy, event);
    life->uses = HD_NONE;
    life->explicit = !init && life->init != HD_NONE;
    life->init = init ? event : HD_NONE;
    life->destroy = init ? HD_NONE : event;
}

/* A wait uses its condition variable when it begins, with the release of the mutex; that a
 * condition is destroyed while those who were woken leave is as it should be. */
static uint32_t begin_of_wait(const struct hd_model *model, uint32_t wait) {
    uint32_t before = hd_event_before(model, wait);
    if (before == HD_NONE || model->kind[before] != HD_EV_RELEASE) return HD_NONE;
    return model->flags[before] & HD_LOCK_BY_WAIT ? before : HD_NONE;
}

static void follow_event(struct pass *pass, uint32_t event) {
    const struct hd_model *model = pass->model;
    bool lock = false;
    uint32_t use = event;
    switch (model->kind[event]) {
    case HD_EV_NOTE:
        lock = hd_model_is_lock_life(model, event);
        if (!lock && !hd_model_is_object_life(model, event)) return;
        break;
    case HD_EV_ACQUIRE:
    case HD_EV_READ_ACQUIRE:
        if (model->flags[event] & HD_LOCK_BY_WAIT) return;
        lock = true;
        break;
    case HD_EV_RELEASE:
    case HD_EV_READ_RELEASE:
    case HD_EV_TRY_FAILED:
        lock = true;
        break;
    case HD_EV_WAIT:
    case HD_EV_WAIT_TIMEOUT:
        use = begin_of_wait(model, event);
        break;
    case HD_EV_SIGNAL:
    case HD_EV_BROADCAST:
    case HD_EV_BARRIER_ARRIVE:
    case HD_EV_POST:
    case HD_EV_SEM_WAIT:
        break;
    default:
        return;
    }
    struct life *life = use != HD_NONE ? life_of(pass, event, lock) : NULL;
    if (life == NULL) return;
    if (model->kind[event] == HD_EV_NOTE)
        noted(pass, life, event, is_stack(model, event, lock));
    else
        used(pass, life, use, is_stack(model, event, lock));
}

/* Which objects are there notes about? Most programs have none about most. */
static bool find_noted(struct pass *pass) {
    const struct hd_model *model = pass->model;
    bool any = false;
    for (uint32_t e = 0; e < model->events; e++) {
        if (model->kind[e] != HD_EV_NOTE) continue;
        bool lock = hd_model_is_lock_life(model, e);
        if (!lock && !hd_model_is_object_life(model, e)) continue;
        struct life *life = life_of(pass, e, lock);
        if (life != NULL) any = life->noted = true;
    }
    return any;
}

void hd_order_find_object_lives(struct hd_order_candidates *candidates) {
    const struct hd_model *model = candidates->model;
    struct pass pass = {.candidates = candidates, .model = model};
    size_t count = (size_t)model->locks + model->objects;
    pass.life = hd_alloc(count, sizeof *pass.life);
    for (size_t i = 0; i < count; i++)
        pass.life[i] = (struct life){.uses = HD_NONE, .init = HD_NONE, .destroy = HD_NONE};
    if (find_noted(&pass))
        for (uint32_t e = 0; e < model->events; e++) follow_event(&pass, e);
    free(pass.life);
    hd_vector_free(&pass.use);
}
