/* Steps: which events can wait or be waited for, what for, and which accesses touch what. */
#include "base/alloc.h"
#include "base/bitset.h"
#include "base/vector.h"
#include "engine/engine_base.h"

#include <stdlib.h>
#include <string.h>

struct making {
    struct hd_view *view;
    const struct hd_model *model;
    struct hd_bitset is_step;  /* events */
    uint32_t *step_of;         /* per event */
    HD_VECTOR(uint64_t) needs; /* step << 32 | step it waits for, with HD_NEED_IF_IN */
};

static void mark(struct making *making, uint32_t event) {
    making->is_step.word[event / 64] |= (uint64_t)1 << event % 64;
}

static void mark_section(struct making *making, uint32_t section) {
    const struct hd_section *each = &making->model->section[section];
    mark(making, each->acquire);
    if (each->release != HD_NONE) mark(making, each->release);
}

static void mark_steps(struct making *making, const struct hd_engine_base *base, bool accesses) {
    const struct hd_model *model = making->model;
    hd_bitset_reserve(&making->is_step, model->events + (size_t)1);
    for (uint32_t i = 0; i < model->edges; i++) {
        mark(making, model->edge[i].from);
        mark(making, model->edge[i].to);
    }
    for (uint32_t l = 0; l < model->locks; l++) {
        if (!base->contended[l]) continue;
        for (uint32_t i = model->lock_start[l]; i < model->lock_start[l + 1]; i++)
            mark_section(making, model->lock_section[i]);
    }
    for (uint32_t e = 0; e < model->events; e++) {
        if (model->kind[e] != HD_EV_TRY_FAILED) continue;
        uint32_t section = hd_model_failed_by(model, e);
        if (section == HD_NONE) continue;
        mark(making, e);
        mark_section(making, section);
    }
    for (uint32_t l = 0; accesses && l < model->locations; l++) {
        if (!model->location[l].shared) continue;
        for (uint32_t i = model->location_start[l]; i < model->location_start[l + 1]; i++)
            mark(making, model->location_event[i]);
    }
}

static void number_steps(struct making *making) {
    const struct hd_model *model = making->model;
    struct hd_view *view = making->view;
    size_t count = hd_bitset_count(&making->is_step);
    if (count >= HD_NEED_IF_IN) hd_out_of_memory();
    view->steps = (uint32_t)count;
    size_t room = count + 1;
    making->step_of = hd_alloc(model->events + (size_t)1, sizeof *making->step_of);
    view->first = hd_alloc(model->threads + (size_t)1, sizeof *view->first);
    view->event = hd_alloc(room, sizeof *view->event);
    view->position = hd_alloc(room, sizeof *view->position);
    view->thread = hd_alloc(room, sizeof *view->thread);
    view->role = hd_zalloc(room, sizeof *view->role);
    view->about = hd_alloc(room, sizeof *view->about);
    view->need = hd_alloc(room, sizeof *view->need);
    uint32_t step = 0;
    for (uint32_t t = 0; t < model->threads; t++) {
        view->first[t] = step;
        uint32_t start = model->thread_start[t];
        for (uint32_t i = start; i < model->thread_start[t + 1]; i++) {
            uint32_t event = model->thread_event[i];
            if (!hd_bitset_has(&making->is_step, event)) {
                making->step_of[event] = HD_NONE;
                continue;
            }
            making->step_of[event] = step;
            view->event[step] = event;
            view->position[step] = i - start;
            view->thread[step] = (uint16_t)t;
            view->about[step] = HD_NONE;
            step++;
        }
    }
    view->first[model->threads] = step;
}

static void add_need(struct making *making, uint32_t event, uint32_t on, uint32_t flag) {
    uint64_t need = (uint64_t)making->step_of[event] << 32 | making->step_of[on] | flag;
    hd_vector_push(&making->needs, need);
}

static void link_sections(struct making *making) {
    const struct hd_model *model = making->model;
    struct hd_view *view = making->view;
    size_t room = model->sections + (size_t)1;
    view->section_acquire = hd_alloc(room, sizeof *view->section_acquire);
    view->section_release = hd_alloc(room, sizeof *view->section_release);
    for (uint32_t s = 0; s < model->sections; s++) {
        const struct hd_section *section = &model->section[s];
        uint32_t step = making->step_of[section->acquire];
        view->section_acquire[s] = step;
        view->section_release[s] =
            section->release == HD_NONE ? HD_NONE : making->step_of[section->release];
        if (step == HD_NONE) continue;
        view->role[step] |= HD_STEP_ACQUIRE;
        view->about[step] = s;
    }
}

static int by_need(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void link_needs(struct making *making) {
    const struct hd_model *model = making->model;
    struct hd_view *view = making->view;
    for (uint32_t i = 0; i < model->edges; i++)
        add_need(making, model->edge[i].to, model->edge[i].from, 0);
    for (uint32_t e = 0; e < model->events; e++) {
        if (model->kind[e] != HD_EV_TRY_FAILED) continue;
        uint32_t section = hd_model_failed_by(model, e);
        if (section == HD_NONE) continue;
        uint32_t release = model->section[section].release;
        add_need(making, e, model->section[section].acquire, 0);
        if (release != HD_NONE) add_need(making, release, e, HD_NEED_IF_IN);
    }
    size_t count = making->needs.size;
    if (count > 0) qsort(making->needs.data, count, sizeof *making->needs.data, by_need);
    view->need_list = hd_alloc(2 * count + 1, sizeof *view->need_list);
    uint32_t fill = 0, at = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t step = (uint32_t)(making->needs.data[i] >> 32);
        if (i == 0 || step != making->needs.data[i - 1] >> 32) {
            view->role[step] |= HD_STEP_NEEDS;
            view->need[step] = at = fill;
            view->need_list[fill++] = 0;
        }
        view->need_list[at]++;
        view->need_list[fill++] = (uint32_t)making->needs.data[i];
    }
}

static void add_access(struct making *making, uint32_t step, uint32_t entry) {
    struct hd_view *view = making->view;
    uint32_t event = view->event[step];
    if (hd_model_is_read(making->model, event)) view->role[step] |= HD_STEP_READ;
    if (hd_model_is_write(making->model, event)) view->role[step] |= HD_STEP_WRITE;
    if (view->about[step] == HD_NONE)
        view->about[step] = entry;
    else
        view->role[step] |= HD_STEP_SPAN;
}

/* Lists the accesses of steps that have several. */
static void list_spans(struct making *making) {
    struct hd_view *view = making->view;
    uint32_t *count = hd_zalloc(view->steps + (size_t)1, sizeof *count);
    for (uint32_t i = 0; i < view->accesses; i++) count[view->access_step[i]]++;
    uint64_t room = 1;
    for (uint32_t s = 0; s < view->steps; s++)
        if ((view->role[s] & HD_STEP_SPAN) != 0) room += count[s] + (uint64_t)1;
    if (room > UINT32_MAX) hd_out_of_memory();
    view->span = hd_alloc(room, sizeof *view->span);
    uint32_t fill = 0;
    for (uint32_t s = 0; s < view->steps; s++) {
        if ((view->role[s] & HD_STEP_SPAN) == 0) continue;
        view->about[s] = fill;
        view->span[fill] = 0;
        fill += count[s] + 1;
    }
    for (uint32_t i = 0; i < view->accesses; i++) {
        uint32_t step = view->access_step[i];
        if ((view->role[step] & HD_STEP_SPAN) == 0) continue;
        uint32_t *list = view->span + view->about[step];
        list[++list[0]] = i;
    }
    free(count);
}

static void link_accesses(struct making *making) {
    const struct hd_model *model = making->model;
    struct hd_view *view = making->view;
    uint64_t entries = 0;
    for (uint32_t l = 0; l < model->locations; l++) {
        if (!model->location[l].shared) continue;
        view->places++;
        entries += model->location_start[l + 1] - model->location_start[l];
    }
    if (entries + model->sections >= HD_NONE) hd_out_of_memory();
    view->place_first = hd_alloc(view->places + (size_t)1, sizeof *view->place_first);
    view->access_step = hd_alloc(entries + 1, sizeof *view->access_step);
    view->access_place = hd_alloc(entries + 1, sizeof *view->access_place);
    view->access_from = hd_alloc(entries + 1, sizeof *view->access_from);
    uint32_t place = 0, entry = 0;
    for (uint32_t l = 0; l < model->locations; l++) {
        if (!model->location[l].shared) continue;
        uint32_t last = HD_NONE;
        view->place_first[place] = entry;
        for (uint32_t i = model->location_start[l]; i < model->location_start[l + 1]; i++) {
            uint32_t step = making->step_of[model->location_event[i]];
            view->access_step[entry] = step;
            view->access_place[entry] = place;
            view->access_from[entry] = last;
            add_access(making, step, entry);
            if ((view->role[step] & HD_STEP_WRITE) != 0) last = entry;
            entry++;
        }
        place++;
    }
    view->place_first[place] = entry;
    view->accesses = entry;
    list_spans(making);
}

void hd_view_build(struct hd_view *view, const struct hd_engine_base *base, bool accesses) {
    struct making making = {.view = view, .model = base->model};
    mark_steps(&making, base, accesses);
    number_steps(&making);
    link_sections(&making);
    link_needs(&making);
    if (accesses) link_accesses(&making);
    hd_bitset_free(&making.is_step);
    free(making.step_of);
    hd_vector_free(&making.needs);
}

void hd_view_free(struct hd_view *view) {
    free(view->first);
    free(view->event);
    free(view->position);
    free(view->thread);
    free(view->role);
    free(view->about);
    free(view->need);
    free(view->need_list);
    free(view->span);
    free(view->place_first);
    free(view->access_step);
    free(view->access_place);
    free(view->access_from);
    free(view->section_acquire);
    free(view->section_release);
}
