/* Groups, and accesses of other threads: see correlated_remotes.h. */
#include "facts/correlated_remotes.h"

#include "facts/patterns.h"
#include "facts/site.h"

#include <stdlib.h>

static uint32_t numbered(struct hd_map *map, uint32_t a, uint32_t b) {
    return *hd_map_slot(map, (uint64_t)a << 32 | b, map->count);
}

uint32_t hd_correlated_group_of(struct hd_correlated_grouping *grouping,
                                struct hd_correlated_groups *groups,
                                const struct hd_correlated_list *local, uint32_t place) {
    uint32_t places = numbered(&grouping->places, local->place[0], local->place[1]);
    uint32_t variables = numbered(&grouping->variables, local->variable[0], local->variable[1]);
    uint32_t both = numbered(&grouping->both, places, variables);
    uint32_t number = numbered(&grouping->number, both, place);
    if (number == groups->group.size) {
        struct hd_correlated_group group = {.variable = {local->variable[0], local->variable[1]}};
        hd_vector_push(&groups->group, group);
    }
    return number;
}

void hd_correlated_grouping_free(struct hd_correlated_grouping *grouping) {
    hd_map_free(&grouping->places);
    hd_map_free(&grouping->variables);
    hd_map_free(&grouping->both);
    hd_map_free(&grouping->number);
}

/* ---- accesses of other threads ----------------------------------------------------------------
 */

struct access {
    struct hd_correlated_remotes like;
    uint32_t event;
};

static int compare_like(const struct hd_correlated_remotes *a,
                        const struct hd_correlated_remotes *b) {
    const uint32_t x[] = {a->location, a->thread, a->site, a->lockset, a->does, a->place};
    const uint32_t y[] = {b->location, b->thread, b->site, b->lockset, b->does, b->place};
    for (int i = 0; i < 6; i++)
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return 0;
}

static int compare_accesses(const void *left, const void *right) {
    const struct access *a = left, *b = right;
    int order = compare_like(&a->like, &b->like);
    return order != 0 ? order : (a->event > b->event) - (a->event < b->event);
}

static void list_location(struct hd_correlated_groups *groups, struct hd_describe *describe,
                          uint32_t location) {
    const struct hd_model *model = groups->model;
    HD_VECTOR(struct access) access = {0};
    for (uint32_t i = model->location_start[location]; i < model->location_start[location + 1];
         i++) {
        uint32_t event = model->location_event[i];
        unsigned does = hd_access_does(model, event);
        if (does == 0) continue;
        struct hd_correlated_remotes like = {
            .location = location,
            .site = hd_site_number(model, &groups->pairs.site, event, location),
            .place = hd_correlated_place(&groups->pairs, describe, event, location),
            .lockset = hd_lockset_at(groups->pairs.segments, event),
            .thread = model->thread[event],
            .does = (uint8_t)does};
        hd_vector_push(&access, ((struct access){like, event}));
    }
    if (access.size > 1) qsort(access.data, access.size, sizeof *access.data, compare_accesses);
    for (size_t i = 0; i < access.size; i++) {
        if (i == 0 || compare_like(&access.data[i - 1].like, &access.data[i].like) != 0) {
            struct hd_correlated_remotes list = access.data[i].like;
            list.start = (uint32_t)groups->remote.size;
            hd_vector_push(&groups->remotes, list);
        }
        groups->remotes.data[groups->remotes.size - 1].count++;
        hd_vector_push(&groups->remote, access.data[i].event);
    }
    hd_vector_free(&access);
}

static void bundle(struct hd_correlated_grouping *grouping, struct hd_correlated_groups *groups,
                   uint32_t pairs, uint32_t at, uint32_t first) {
    const struct hd_correlated_list *local = &groups->pairs.list.data[pairs];
    for (uint32_t r = first; r < groups->remotes.size; r++) {
        const struct hd_correlated_remotes *remote = &groups->remotes.data[r];
        if (remote->location != local->location[at]) return;
        if (remote->thread == local->thread || !local->fits ||
            !((remote->does | local->does[at]) & HD_DOES_WRITE))
            continue;
        struct hd_correlated_bundle made = {
            hd_correlated_group_of(grouping, groups, local, remote->place), pairs, r, at};
        hd_vector_push(&groups->bundle, made);
    }
}

static int compare_bundles(const void *left, const void *right) {
    const struct hd_correlated_bundle *a = left, *b = right;
    const uint32_t x[] = {a->group, a->pairs, a->remotes, a->at};
    const uint32_t y[] = {b->group, b->pairs, b->remotes, b->at};
    for (int i = 0; i < 4; i++)
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return 0;
}

void hd_correlated_remotes_find(struct hd_correlated_grouping *grouping,
                                struct hd_describe *describe, struct hd_correlated_groups *groups) {
    struct hd_map listed = {0}; /* location -> its first list */
    for (uint32_t i = 0; i < groups->pairs.list.size; i++)
        for (uint32_t at = 0; at < 2; at++) {
            uint32_t location = groups->pairs.list.data[i].location[at];
            uint32_t fresh = (uint32_t)groups->remotes.size;
            uint32_t first = *hd_map_slot(&listed, location, fresh);
            if (first == fresh) list_location(groups, describe, location);
            bundle(grouping, groups, i, at, first);
        }
    hd_map_free(&listed);
    if (groups->bundle.size > 1)
        qsort(groups->bundle.data, groups->bundle.size, sizeof *groups->bundle.data,
              compare_bundles);
    for (size_t i = 0; i < groups->bundle.size; i++) {
        struct hd_correlated_group *group = &groups->group.data[groups->bundle.data[i].group];
        if (group->bundles++ == 0) group->bundle_start = (uint32_t)i;
    }
}
