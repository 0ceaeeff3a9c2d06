/* Pairs of accesses that belong together, thread by thread: see correlated_pairs.h. */
#include "facts/correlated_pairs.h"

#include "base/alloc.h"
#include "facts/calls.h"
#include "facts/guards.h"
#include "facts/patterns.h"
#include "facts/site.h"
#include "facts/waits.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* So many accesses to variables of rules are looked back at, so many events of the thread, and so
 * many locations of an access (memset of an array). */
enum { RECENT = 128, APART = 4096, LOCATIONS = 16 };

struct recent {
    uint32_t event, location, variable;
    unsigned does;
};

/* A pair, and the list that it belongs to. */
struct found {
    struct hd_correlated_list like;
    struct hd_correlated_pair pair;
};

struct finder {
    const struct hd_model *model;
    struct hd_describe *describe;
    const struct hd_correlated_rules *rules;
    struct hd_correlated_pairs *out;
    const uint32_t *variable; /* by event */
    bool calls;
    struct recent recent[RECENT];
    uint64_t added;      /* to `recent`, by this thread */
    struct hd_map newer; /* location and what is done -> the scan that met it last */
    uint32_t scan;
    struct hd_map seen; /* text traces: thread and site -> the first event there */
    struct hd_lock_room room;
    HD_VECTOR(struct found) found;
};

static uint64_t two(uint32_t a, uint32_t b) { return (uint64_t)a << 32 | b; }

/* ---- places ----------------------------------------------------------------------------------
 */

uint32_t hd_correlated_place(struct hd_correlated_pairs *pairs, struct hd_describe *describe,
                             uint32_t event, uint32_t location) {
    const char *function = hd_describe_function(describe, event);
    const struct hd_frame *frame = hd_describe_frame(describe, event);
    uint64_t key = (uint64_t)1 << 63 | hd_site_number(pairs->model, &pairs->site, event, location);
    if (*function != '\0' && frame->file != NULL)
        key = XXH3_64bits_withSeed(function, strlen(function),
                                   XXH3_64bits(frame->file, strlen(frame->file))) >>
              1;
    return *hd_map_slot(&pairs->place, key, pairs->place.count);
}

/* ---- do two accesses belong together? ---------------------------------------------------------
 */

/* Both directly in a call, or in calls that it makes. */
static bool are_near(const struct hd_model *model, uint32_t first, uint32_t second, uint32_t call,
                     uint32_t depth) {
    const struct hd_trace *trace = model->trace;
    uint32_t a = hd_model_stack(model, first), b = hd_model_stack(model, second);
    if (call == 0 && a != b) return false;
    return hd_call_depth(trace, a) <= depth + 1 && hd_call_depth(trace, b) <= depth + 1;
}

/* Does the thread neither leave the call in between nor wait for others? */
static bool in_one_go(const struct finder *finder, uint32_t first, uint32_t second) {
    const struct hd_model *model = finder->model;
    const uint32_t *list = model->thread_event + model->thread_start[model->thread[first]];
    uint32_t to = hd_model_position(model, second), call = 0, depth = 0;
    if (finder->calls) {
        call = hd_common_call(model, first, second);
        depth = hd_call_depth(model->trace, call);
        if (!are_near(model, first, second, call, depth)) return false;
    }
    for (uint32_t n = hd_model_position(model, first) + 1; n < to; n++)
        if (hd_waits_for_others(model, list[n]) ||
            (finder->calls && !hd_is_in_call(model, list[n], call, depth)))
            return false;
    return true;
}

/* Without stacks: sites are in the order in which the thread first came to them. */
static bool is_backward(struct finder *finder, uint32_t first, uint32_t second) {
    const struct hd_model *model = finder->model;
    if (finder->calls) return hd_is_backward(model, first, second);
    uint32_t thread = model->thread[first];
    uint32_t a = hd_site_number(model, &finder->out->site, first, model->object[first]);
    uint32_t b = hd_site_number(model, &finder->out->site, second, model->object[second]);
    return *hd_map_slot(&finder->seen, two(thread, b), second) <
           *hd_map_slot(&finder->seen, two(thread, a), first);
}

static bool belong_together(struct finder *finder, const struct recent *first,
                            const struct recent *second) {
    const struct hd_model *model = finder->model;
    if (!hd_correlated_peers(finder->rules, first->variable, second->variable)) return false;
    if (hd_model_position(model, second->event) - hd_model_position(model, first->event) > APART)
        return false;
    if (is_backward(finder, first->event, second->event)) return false;
    if (!in_one_go(finder, first->event, second->event)) return false;
    const uint32_t variable[2] = {first->variable, second->variable};
    const uint32_t location[2] = {first->location, second->location};
    return hd_correlated_same_object(finder->rules, model, finder->describe, variable, location);
}

/* ---- pairs ------------------------------------------------------------------------------------
 */

static void add_pair(struct finder *finder, const struct recent *first,
                     const struct recent *second) {
    const struct hd_model *model = finder->model;
    struct hd_correlated_pairs *out = finder->out;
    struct hd_describe *describe = finder->describe;
    struct hd_correlated_list like = {
        .variable = {first->variable, second->variable},
        .location = {first->location, second->location},
        .site = {hd_site_number(model, &out->site, first->event, first->location),
                 hd_site_number(model, &out->site, second->event, second->location)},
        .place = {hd_correlated_place(out, describe, first->event, first->location),
                  hd_correlated_place(out, describe, second->event, second->location)},
        .lockset = {hd_lockset_at(out->segments, first->event),
                    hd_lockset_at(out->segments, second->event)},
        .held = hd_common_locks(model, out->segments, first->event, second->event, &finder->room),
        .thread = model->thread[first->event],
        .does = {(uint8_t)first->does, (uint8_t)second->does},
        .fits = hd_correlated_fit(finder->rules, first->variable, first->does, second->variable,
                                  second->does)};
    hd_vector_push(&finder->found, ((struct found){like, {first->event, second->event}}));
}

/* Has a newer access been met that does the same to the same location? */
static bool is_repeated(struct finder *finder, const struct recent *recent) {
    uint32_t *scan = hd_map_slot(&finder->newer, (uint64_t)recent->location << 2 | recent->does, 0);
    bool met = *scan == finder->scan;
    *scan = finder->scan;
    return met;
}

/* The pairs that an access is the second of. */
static void look_back(struct finder *finder, const struct recent *second) {
    finder->scan++;
    uint64_t oldest = finder->added > RECENT ? finder->added - RECENT : 0;
    for (uint64_t n = finder->added; n-- > oldest;) {
        const struct recent *first = &finder->recent[n % RECENT];
        if (first->event == second->event) continue;
        if (first->location == second->location) {
            if (first->does == second->does) return; /* the first one after all that are older */
            continue;
        }
        if (!is_repeated(finder, first) && belong_together(finder, first, second))
            add_pair(finder, first, second);
    }
}

static void look_at(struct finder *finder, uint32_t event) {
    const struct hd_model *model = finder->model;
    const uint32_t *location;
    uint32_t count = hd_model_locations(model, event, &location), taken = 0;
    struct recent now[LOCATIONS];
    for (uint32_t i = 0; i < count && taken < LOCATIONS; i++)
        if (model->location[location[i]].shared)
            now[taken++] = (struct recent){event, location[i], finder->variable[event],
                                           hd_access_does(model, event)};
    for (uint32_t i = 0; i < taken; i++) look_back(finder, &now[i]);
    for (uint32_t i = 0; i < taken; i++) finder->recent[finder->added++ % RECENT] = now[i];
    if (!finder->calls && taken > 0) {
        uint32_t site = hd_site_number(model, &finder->out->site, event, model->object[event]);
        hd_map_slot(&finder->seen, two(model->thread[event], site), event);
    }
}

/* ---- lists ------------------------------------------------------------------------------------
 */

uint64_t hd_correlated_locations(const struct hd_correlated_list *list) {
    uint32_t a = list->location[0], b = list->location[1];
    return a < b ? two(a, b) : two(b, a);
}

static int compare_lists(const struct hd_correlated_list *a, const struct hd_correlated_list *b) {
    const uint64_t key[][2] = {
        {hd_correlated_locations(a), hd_correlated_locations(b)},
        {a->location[0], b->location[0]},
        {a->thread, b->thread},
        {two(a->site[0], a->site[1]), two(b->site[0], b->site[1])},
        {two(a->place[0], a->place[1]), two(b->place[0], b->place[1])},
        {two(a->variable[0], a->variable[1]), two(b->variable[0], b->variable[1])},
        {two(a->lockset[0], a->lockset[1]), two(b->lockset[0], b->lockset[1])},
        {two(a->held, (uint32_t)a->does[0] << 8 | a->does[1]),
         two(b->held, (uint32_t)b->does[0] << 8 | b->does[1])}};
    for (size_t i = 0; i < sizeof key / sizeof *key; i++)
        if (key[i][0] != key[i][1]) return key[i][0] < key[i][1] ? -1 : 1;
    return 0;
}

static int compare_found(const void *left, const void *right) {
    const struct found *a = left, *b = right;
    int order = compare_lists(&a->like, &b->like);
    if (order != 0) return order;
    return a->pair.first < b->pair.first ? -1
           : a->pair.first > b->pair.first
               ? 1
               : (a->pair.second > b->pair.second) - (a->pair.second < b->pair.second);
}

static void make_lists(struct finder *finder) {
    struct hd_correlated_pairs *out = finder->out;
    if (finder->found.size > 1)
        qsort(finder->found.data, finder->found.size, sizeof *finder->found.data, compare_found);
    hd_vector_reserve(&out->pair, finder->found.size);
    for (size_t i = 0; i < finder->found.size; i++) {
        const struct found *found = &finder->found.data[i];
        if (i == 0 || compare_lists(&finder->found.data[i - 1].like, &found->like) != 0) {
            struct hd_correlated_list list = found->like;
            list.start = (uint32_t)i;
            hd_vector_push(&out->list, list);
        }
        out->list.data[out->list.size - 1].count++;
        out->pair.data[out->pair.size++] = found->pair;
    }
}

/* ---- the whole --------------------------------------------------------------------------------
 */

void hd_correlated_pairs_find(struct hd_analysis *analysis, const struct hd_correlated_rules *rules,
                              enum hd_reading reading, struct hd_correlated_pairs *pairs) {
    const struct hd_model *model = analysis->model;
    *pairs =
        (struct hd_correlated_pairs){.model = model, .segments = hd_segments(analysis, reading)};
    struct finder *finder = hd_zalloc(1, sizeof *finder);
    uint32_t *variable = hd_correlated_variables(rules, model, analysis->describe);
    *finder = (struct finder){.model = model,
                              .describe = analysis->describe,
                              .rules = rules,
                              .out = pairs,
                              .variable = variable,
                              .calls = hd_has_calls(model)};
    for (uint32_t t = 0; t < model->threads; t++) {
        finder->added = 0;
        for (uint32_t i = model->thread_start[t]; i < model->thread_start[t + 1]; i++)
            if (variable[model->thread_event[i]] != HD_NONE)
                look_at(finder, model->thread_event[i]);
    }
    make_lists(finder);
    free(variable);
    hd_map_free(&finder->newer);
    hd_map_free(&finder->seen);
    hd_lock_room_free(&finder->room);
    hd_vector_free(&finder->found);
    free(finder);
}

void hd_correlated_pairs_free(struct hd_correlated_pairs *pairs) {
    hd_vector_free(&pairs->pair);
    hd_vector_free(&pairs->list);
    hd_map_free(&pairs->site);
    hd_map_free(&pairs->place);
}
