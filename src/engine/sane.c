/* Self-checks of the base structure and the polygraph: see sane.h. */
#include "engine/sane.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* So many steps have their clocks looked at. */
#define LOOKED_AT 256u

/* ---- views ------------------------------------------------------------------------------------
 */

static bool steps_are_sane(const struct hd_view *view, const struct hd_model *model) {
    if (view->first[0] != 0 || view->first[model->threads] != view->steps) return false;
    for (uint32_t t = 0; t < model->threads; t++)
        for (uint32_t s = view->first[t]; s < view->first[t + 1]; s++) {
            uint32_t event = view->event[s];
            if (model->thread[event] != t || view->thread[s] != t) return false;
            if (hd_model_position(model, event) != view->position[s]) return false;
            if (s > view->first[t] && view->position[s - 1] >= view->position[s]) return false;
        }
    return true;
}

static bool accesses_are_sane(const struct hd_view *view) {
    for (uint32_t p = 0; p < view->places; p++) {
        uint32_t last = HD_NONE, before = HD_NONE;
        for (uint32_t i = view->place_first[p]; i < view->place_first[p + 1]; i++) {
            uint32_t step = view->access_step[i], event = view->event[step];
            if (view->access_place[i] != p || view->access_from[i] != last) return false;
            if (before != HD_NONE && event <= before) return false;
            before = event;
            if ((view->role[step] & HD_STEP_WRITE) != 0) last = i;
        }
    }
    return true;
}

static bool section_steps_are_sane(const struct hd_view *view, const struct hd_model *model) {
    for (uint32_t i = 0; i < model->sections; i++) {
        uint32_t acquire = view->section_acquire[i], release = view->section_release[i];
        if (acquire != HD_NONE && view->event[acquire] != model->section[i].acquire) return false;
        if (release != HD_NONE && view->event[release] != model->section[i].release) return false;
    }
    return true;
}

static bool uses_are_sane(const struct hd_engine_base *base) {
    const struct hd_model *model = base->model;
    for (uint32_t l = 0; l < model->locks; l++)
        for (uint32_t u = base->use_first[l]; u < base->use_first[l + 1]; u++) {
            const struct hd_lock_sections *use = &base->use[u];
            for (uint32_t i = 0; i < use->count; i++) {
                const uint32_t *at = &base->use_section[use->first + i];
                const struct hd_section *section = &model->section[*at];
                if (section->lock != l || section->thread != use->thread) return false;
                if (i > 0 && model->section[at[-1]].acquire > section->acquire) return false;
            }
        }
    return true;
}

/* ---- clocks by search -------------------------------------------------------------------------
 */

struct following {
    const struct hd_view *view;
    uint32_t *set;    /* per thread: events that are needed */
    uint32_t *cursor; /* per thread: steps up to here have been followed */
    bool grown;
};

static void need(struct following *following, uint32_t step) {
    uint32_t thread = following->view->thread[step], count = following->view->position[step] + 1;
    if (following->set[thread] >= count) return;
    following->set[thread] = count;
    following->grown = true;
}

static void follow(struct following *following, uint32_t step) {
    const struct hd_view *view = following->view;
    if ((view->role[step] & HD_STEP_NEEDS) != 0) {
        const uint32_t *list = view->need_list + view->need[step];
        for (uint32_t i = 1; i <= list[0]; i++)
            if ((list[i] & HD_NEED_IF_IN) == 0) need(following, list[i]);
    }
    if ((view->role[step] & HD_STEP_READ) == 0) return;
    uint32_t count;
    const uint32_t *entry = hd_entries_of(view, step, &count);
    for (uint32_t i = 0; i < count; i++)
        if (view->access_from[entry[i]] != HD_NONE)
            need(following, view->access_step[view->access_from[entry[i]]]);
}

static bool clock_is_sane(struct following *following, const struct hd_reach *reach,
                          uint32_t step) {
    const struct hd_view *view = following->view;
    memset(following->set, 0, reach->threads * sizeof *following->set);
    memcpy(following->cursor, view->first, reach->threads * sizeof *following->cursor);
    for (need(following, step); following->grown;) {
        following->grown = false;
        for (uint32_t t = 0; t < reach->threads; t++)
            while (following->cursor[t] < view->first[t + 1] &&
                   view->position[following->cursor[t]] < following->set[t])
                follow(following, following->cursor[t]++);
    }
    const uint32_t *clock = hd_reach_clock(reach, view->thread[step], view->position[step]);
    for (uint32_t t = 0; t < reach->threads; t++)
        if (t != view->thread[step] && following->set[t] != (clock == NULL ? 0 : clock[t]))
            return false;
    return following->set[view->thread[step]] == view->position[step] + 1;
}

static bool clocks_are_sane(const struct hd_reach *reach, const struct hd_view *view) {
    struct following following = {.view = view};
    following.set = hd_alloc(reach->threads, sizeof *following.set);
    following.cursor = hd_alloc(reach->threads, sizeof *following.cursor);
    bool sane = true;
    for (uint32_t s = 0; sane && s < view->steps; s += view->steps / LOOKED_AT + 1)
        sane = clock_is_sane(&following, reach, s);
    free(following.set);
    free(following.cursor);
    return sane;
}

bool hd_engine_base_is_sane(const struct hd_engine_base *base) {
    const struct hd_view *views[] = {&base->sync, &base->full};
    for (unsigned i = 0; i < 2; i++)
        if (!steps_are_sane(views[i], base->model) ||
            !section_steps_are_sane(views[i], base->model))
            return false;
    return accesses_are_sane(&base->full) && uses_are_sane(base) &&
           clocks_are_sane(&base->must, &base->sync) && clocks_are_sane(&base->kept, &base->full);
}

/* ---- the polygraph ----------------------------------------------------------------------------
 */

/* The trail of a thread's cut: from where it is down to 0. */
static bool cut_is_sane(const struct hd_engine *engine, uint32_t thread) {
    uint32_t cut = engine->cut[thread], at = engine->newest_growth[thread];
    if (cut > engine->limit[thread] || engine->limit[thread] > engine->bound[thread]) return false;
    for (; at != HD_NONE; at = engine->growths.data[at].previous) {
        if (at >= engine->growths.size) return false;
        const struct hd_growth *growth = &engine->growths.data[at];
        if (growth->thread != thread || growth->before >= cut) return false;
        if (growth->cause != HD_NONE && growth->cause >= engine->choices.size) return false;
        cut = growth->before;
    }
    return cut == 0;
}

static bool choice_is_sane(const struct hd_engine *engine, uint32_t number) {
    const struct hd_choice *choice = &engine->choices.data[number];
    if (choice->level > engine->marks.size || hd_choice_find(engine, choice->literal) != number)
        return false;
    if (number > 0 && choice[-1].level > choice->level) return false;
    if (choice->reason + (size_t)choice->reasons > engine->reasons.size) return false;
    for (uint32_t i = 0; i < choice->reasons; i++)
        if (engine->reasons.data[choice->reason + i] >= number) return false;
    return true;
}

bool hd_polygraph_is_sane(const struct hd_engine *engine) {
    for (uint32_t t = 0; t < engine->threads; t++)
        if (!cut_is_sane(engine, t)) return false;
    size_t left_open = 0;
    for (uint32_t i = 0; i < engine->choices.size; i++) {
        if (!choice_is_sane(engine, i)) return false;
        left_open += engine->choices.data[i].literal.second == HD_LEFT_OPEN;
    }
    for (size_t i = 0; i < engine->marks.size; i++)
        if (engine->marks.data[i].choices > engine->choices.size ||
            engine->marks.data[i].growths > engine->growths.size)
            return false;
    return left_open <= engine->held.size;
}

/* ---- clauses ----------------------------------------------------------------------------------
 */

/* `place`: per event where it is in the witness, 0 if it is not. Blocks of a correct reordering do
 * not overlap, so their beginnings tell their order. */
static bool holds(const struct hd_engine *engine, struct hd_literal literal,
                  const uint32_t *place) {
    const struct hd_view *view = engine->view;
    uint32_t first = place[view->event[hd_block_start(engine, literal.first)]];
    if (first == 0) return false;
    if (!hd_is_order(literal)) {
        uint32_t release = view->section_release[literal.first];
        bool closed = release != HD_NONE && place[view->event[release]] > 0;
        return closed == (literal.second == HD_CLOSED);
    }
    uint32_t second = place[view->event[hd_block_start(engine, literal.second)]];
    return second > 0 && first < second;
}

bool hd_clauses_allow(const struct hd_engine *engine, const struct hd_witness *witness) {
    uint32_t *place = hd_zalloc(engine->model->events, sizeof *place);
    for (uint32_t i = 0; i < witness->count - witness->next; i++) place[witness->event[i]] = i + 1;
    bool allow = true;
    for (size_t c = 0; allow && c < engine->clauses.size; c++) {
        const struct hd_clause *clause = &engine->clauses.data[c];
        uint32_t true_ones = 0;
        for (uint32_t i = 0; i < clause->count; i++)
            true_ones += holds(engine, engine->literals.data[clause->first + i], place);
        allow = true_ones < clause->count;
    }
    free(place);
    return allow;
}
