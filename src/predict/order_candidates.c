/* Candidates of order violations: lists by group, and the clocks of what an event cannot do
 * without, which discard most of them at once. */
#include "base/alloc.h"
#include "facts/clocks.h"
#include "facts/site.h"
#include "predict/order_violations.h"

#include <stdlib.h>
#include <string.h>

uint32_t hd_event_before(const struct hd_model *model, uint32_t event) {
    uint32_t position = hd_model_position(model, event);
    uint32_t start = model->thread_start[model->thread[event]];
    return position == 0 ? HD_NONE : model->thread_event[start + position - 1];
}

/* realloc ends one life and begins another at once, with what was in it. */
static bool is_resized(const struct hd_model *model, uint32_t alloc) {
    uint32_t before = hd_event_before(model, alloc);
    return before != HD_NONE && model->kind[before] == HD_EV_FREE && model->site[alloc] != 0 &&
           model->trace->format == HD_FORMAT_BINARY && model->site[before] == model->site[alloc];
}

bool hd_block_is_raw(const struct hd_model *model, uint32_t block) {
    if (block >= model->blocks) return false;
    const struct hd_block *each = &model->block[block];
    return each->type == HD_BLOCK_HEAP && !each->zeroed && !is_resized(model, each->alloc);
}

/* ---- lists -------------------------------------------------------------------------------------
 */

void hd_order_add(struct hd_order_candidates *candidates, enum hd_order_type type, bool raw,
                  uint32_t first, uint32_t second, uint32_t about) {
    const struct hd_model *model = candidates->model;
    uint32_t fresh = candidates->known[type].count;
    uint32_t *slot = hd_map_slot(&candidates->known[type], (uint64_t)first << 32 | second, fresh);
    if (*slot != fresh) return;
    uint32_t a = hd_site_number(model, &candidates->site_number, first, about);
    uint32_t b = hd_site_number(model, &candidates->site_number, second, about);
    fresh = (uint32_t)candidates->group.size;
    slot = hd_map_slot(&candidates->group_number[2 * type + raw], (uint64_t)a << 32 | b, fresh);
    struct hd_order_candidate candidate = {first, second, about, *slot};
    if (*slot == fresh) {
        struct hd_order_group group = {.type = (uint8_t)type, .raw = raw};
        hd_vector_push(&candidates->group, group);
    }
    candidates->group.data[candidate.group].count++;
    hd_vector_push(&candidates->list, candidate);
}

/* By group; in a group those first that are near each other, and early. */
static int compare_candidates(const void *left, const void *right) {
    const struct hd_order_candidate *a = left, *b = right;
    if (a->group != b->group) return a->group < b->group ? -1 : 1;
    uint32_t gap_a = a->first > a->second ? a->first - a->second : a->second - a->first;
    uint32_t gap_b = b->first > b->second ? b->first - b->second : b->second - b->first;
    if (gap_a != gap_b) return gap_a < gap_b ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

static void sort_list(struct hd_order_candidates *candidates) {
    uint32_t start = 0;
    if (candidates->list.size > 1)
        qsort(candidates->list.data, candidates->list.size, sizeof *candidates->list.data,
              compare_candidates);
    for (size_t i = 0; i < candidates->group.size; i++) {
        candidates->group.data[i].start = start;
        start += candidates->group.data[i].count;
    }
}

/* ---- signals -----------------------------------------------------------------------------------
 */

static bool is_signal(const struct hd_model *model, uint32_t event) {
    uint8_t kind = model->kind[event];
    return (kind == HD_EV_SIGNAL || kind == HD_EV_BROADCAST) &&
           model->object[event] < model->objects;
}

/* Threads one after the other, so that each object's are by thread. */
static void index_signals(struct hd_order_candidates *candidates) {
    const struct hd_model *model = candidates->model;
    uint32_t *start = candidates->signal_start =
        hd_zalloc(model->objects + (size_t)2, sizeof *candidates->signal_start);
    for (uint32_t e = 0; e < model->events; e++)
        if (is_signal(model, e)) start[model->object[e] + 2]++;
    for (uint32_t o = 0; o < model->objects; o++) start[o + 2] += start[o + 1];
    candidates->signal.size = 0;
    hd_vector_reserve(&candidates->signal, start[model->objects + 1] + (size_t)1);
    for (uint32_t i = 0; i < model->thread_start[model->threads]; i++) {
        uint32_t e = model->thread_event[i];
        if (!is_signal(model, e)) continue;
        candidates->signal.data[start[model->object[e] + 1]++] =
            (struct hd_order_signal){e, model->thread[e]};
        candidates->signal.size++;
    }
}

bool hd_order_follows(const struct hd_order_candidates *candidates, uint32_t event,
                      uint32_t other) {
    uint32_t before = hd_event_before(candidates->model, event);
    if (before != HD_NONE && hd_clocks_before(candidates->kept, other, before)) return true;
    return hd_clocks_before(candidates->clocks, other, event);
}

/* ---- the whole ---------------------------------------------------------------------------------
 */

void hd_order_candidates_build(struct hd_analysis *analysis, enum hd_reading reading,
                               const uint32_t *branches, struct hd_order_candidates *candidates) {
    memset(candidates, 0, sizeof *candidates);
    candidates->model = analysis->model;
    candidates->reading = reading;
    candidates->clocks = hd_must_clocks(analysis);
    candidates->kept = hd_kept_clocks(analysis, branches != NULL ? HD_CSR : reading);
    candidates->branches = branches;
    index_signals(candidates);
    hd_order_find_initialisations(candidates);
    hd_order_find_lifetimes(candidates);
    hd_order_find_object_lives(candidates);
    hd_order_find_unreleased(candidates);
    hd_order_find_wakeups(candidates);
    sort_list(candidates);
}

void hd_order_candidates_free(struct hd_order_candidates *candidates) {
    free(candidates->signal_start);
    hd_vector_free(&candidates->signal);
    hd_vector_free(&candidates->list);
    hd_vector_free(&candidates->group);
    hd_map_free(&candidates->site_number);
    for (unsigned i = 0; i < 2 * HD_ORDER_TYPE_COUNT; i++)
        hd_map_free(&candidates->group_number[i]);
    for (unsigned i = 0; i < HD_ORDER_TYPE_COUNT; i++) hd_map_free(&candidates->known[i]);
    memset(candidates, 0, sizeof *candidates);
}
