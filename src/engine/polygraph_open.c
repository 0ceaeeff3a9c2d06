/* Sections that are open where the cut ends. Only these can make trace order fail on a cut that is
 * closed otherwise: another section of the lock that comes later in the trace finds them open. */
#include "base/search.h"
#include "engine/polygraph.h"

void hd_open_after(struct hd_engine *engine, uint32_t event) {
    const struct hd_model *model = engine->model;
    engine->stack.size = 0;
    if (model->event_section[event] == HD_NONE) return;
    uint32_t count =
        hd_model_held(model, event, engine->stack.data, (uint32_t)engine->stack.capacity);
    if (count > engine->stack.capacity) {
        hd_vector_reserve(&engine->stack, count);
        hd_model_held(model, event, engine->stack.data, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t section = engine->stack.data[i];
        if (model->section[section].release != event &&
            engine->base->contended[model->section[section].lock])
            engine->stack.data[engine->stack.size++] = section;
    }
}

/* The last section of a thread that is decided to come before a section: the event of its acquire;
 * or of the section's own if that is later. */
static uint32_t last_before(const struct hd_engine *engine, uint32_t section, uint32_t thread) {
    const struct hd_section *all = engine->model->section;
    uint32_t last = all[section].acquire;
    uint32_t at = hd_choices_into(engine, engine->view->section_acquire[section]);
    for (; at != HD_NONE; at = engine->choices.data[at].next_of_start) {
        struct hd_literal order = engine->choices.data[at].literal;
        if (order.second == section && all[order.first].thread == thread &&
            all[order.first].acquire > last)
            last = all[order.first].acquire;
    }
    return last;
}

/* The first section of a use from an event on that comes after an open one of another thread in the
 * trace, may not overlap it, is not decided to come before it, and is in the cut: the event of its
 * acquire, HD_NONE. */
static uint32_t first_after(const struct hd_engine *engine, const struct hd_lock_sections *use,
                            uint32_t section, uint32_t from) {
    const struct hd_section *all = engine->model->section;
    const uint32_t *list = engine->base->use_section + use->first;
    uint32_t last = last_before(engine, section, use->thread);
    uint32_t low =
        hd_first_not(i, 0, use->count, all[list[i]].acquire <= last || all[list[i]].acquire < from);
    for (; low < use->count; low++) {
        if (!hd_in_cut(engine, engine->view->section_acquire[list[low]])) break;
        if (hd_conflicting_modes(&all[list[low]], &all[section])) return all[list[low]].acquire;
    }
    return HD_NONE;
}

static uint32_t first_met(const struct hd_engine *engine, uint32_t section, uint32_t from) {
    const struct hd_section *open = &engine->model->section[section];
    const struct hd_engine_base *base = engine->base;
    uint32_t least = HD_NONE;
    for (uint32_t u = base->use_first[open->lock]; u < base->use_first[open->lock + 1]; u++) {
        if (base->use[u].thread == open->thread) continue;
        uint32_t event = first_after(engine, &base->use[u], section, from);
        if (event < least) least = event;
    }
    return least;
}

/* The last event of a thread in the cut, HD_NONE. */
static uint32_t last_event(const struct hd_engine *engine, uint32_t thread) {
    uint32_t cut = engine->cut[thread];
    return cut == 0 ? HD_NONE
                    : engine->model->thread_event[engine->model->thread_start[thread] + cut - 1];
}

void hd_open_list(struct hd_engine *engine) {
    engine->left_open.size = 0;
    for (uint32_t t = 0; t < engine->threads; t++) {
        uint32_t last = last_event(engine, t);
        if (last == HD_NONE) continue;
        hd_open_after(engine, last);
        for (size_t i = 0; i < engine->stack.size; i++)
            hd_vector_push(&engine->left_open, engine->stack.data[i]);
    }
}

uint32_t hd_open_trigger(const struct hd_engine *engine, uint32_t from) {
    uint32_t least = HD_NONE;
    for (size_t i = 0; i < engine->left_open.size; i++) {
        uint32_t event = first_met(engine, engine->left_open.data[i], from);
        if (event < least) least = event;
    }
    return least;
}

/* Closes one section of a thread; false if there is none to close. */
static bool close_one(struct hd_engine *engine, uint32_t thread) {
    uint32_t last = last_event(engine, thread);
    if (last == HD_NONE) return false;
    hd_open_after(engine, last);
    for (size_t i = 0; i < engine->stack.size; i++) {
        uint32_t section = engine->stack.data[i], release = engine->view->section_release[section];
        if (release == HD_NONE || first_met(engine, section, 0) == HD_NONE) continue;
        struct hd_mark mark = hd_polygraph_mark(engine);
        if (hd_cut_pull(engine, thread, engine->view->position[release], HD_NONE)) return true;
        hd_polygraph_undo(engine, mark);
    }
    return false;
}

void hd_open_close(struct hd_engine *engine) {
    for (bool closed = true; closed;) {
        closed = false;
        for (uint32_t t = 0; t < engine->threads; t++) {
            if (engine->bound[t] != HD_NONE) continue;
            while (close_one(engine, t)) closed = true;
        }
    }
}
