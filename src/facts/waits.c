/* See waits.h. */
#include "facts/waits.h"

static bool is_release(const struct hd_model *model, uint32_t event) {
    return model->kind[event] == HD_EV_RELEASE || model->kind[event] == HD_EV_READ_RELEASE;
}

static bool is_wait(const struct hd_model *model, uint32_t event) {
    return model->kind[event] == HD_EV_WAIT || model->kind[event] == HD_EV_WAIT_TIMEOUT;
}

uint32_t hd_wait_begins(const struct hd_model *model, uint32_t wait) {
    const uint32_t *own = model->thread_event + model->thread_start[model->thread[wait]];
    bool marked = model->trace->format == HD_FORMAT_BINARY;
    for (uint32_t position = hd_model_position(model, wait); position-- > 0;) {
        uint32_t event = own[position];
        if (is_release(model, event) && (!marked || (model->flags[event] & HD_LOCK_BY_WAIT) != 0))
            return event;
        if (!marked || is_wait(model, event)) break;
    }
    return HD_NONE;
}

uint32_t hd_wait_begun_by(const struct hd_model *model, uint32_t release) {
    uint32_t thread = model->thread[release];
    if (!is_release(model, release)) return HD_NONE;
    for (uint32_t i = model->thread_start[thread] + hd_model_position(model, release) + 1;
         i < model->thread_start[thread + 1]; i++) {
        uint32_t event = model->thread_event[i];
        if (is_wait(model, event)) return hd_wait_begins(model, event) == release ? event : HD_NONE;
        if (model->trace->format != HD_FORMAT_BINARY || is_release(model, event)) break;
    }
    return HD_NONE;
}

bool hd_waits_for_others(const struct hd_model *model, uint32_t event) {
    switch (model->kind[event]) {
    case HD_EV_WAIT:
    case HD_EV_WAIT_TIMEOUT:
    case HD_EV_BARRIER_LEAVE:
    case HD_EV_SEM_WAIT:
    case HD_EV_JOIN:
        return true;
    default:
        return false;
    }
}
