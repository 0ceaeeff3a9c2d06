/* From pairs to quads and groups of them: see correlated_groups.h. */
#include "facts/correlated_groups.h"

#include "facts/correlated_remotes.h"
#include "facts/patterns.h"
#include "facts/two_variables.h"

#include <stdlib.h>
#include <string.h>

/* Quads of a group that are listed: so many that are near in the trace, and so many others. */
enum { NEAR = 256, OTHERS = 1024 };

struct found {
    struct hd_correlated_quad quad;
    uint32_t group, site[4];
    bool observed, far;
};

struct builder {
    const struct hd_model *model;
    struct hd_correlated_groups *out;
    const struct hd_clocks *must, *kept;
    struct hd_correlated_grouping grouping;
    HD_VECTOR(struct found) found;
    HD_VECTOR(uint32_t) near;   /* by group */
    HD_VECTOR(uint32_t) others; /* by group */
};

/* Two lists of different threads to the same two locations. */
struct lists {
    const struct hd_correlated_list *local, *remote;
    const struct hd_correlated_pair *pair, *other;
    bool turned; /* the other thread accesses the location of `second` first */
    uint32_t group;
};

/* ---- quads ------------------------------------------------------------------------------------
 */

static struct hd_correlated_quad quad_of(const struct lists *lists, uint32_t pair, uint32_t other) {
    const struct hd_correlated_pair *a = &lists->pair[pair], *b = &lists->other[other];
    return (struct hd_correlated_quad){a->first,
                                       a->second,
                                       lists->turned ? b->second : b->first,
                                       lists->turned ? b->first : b->second,
                                       {lists->local->location[0], lists->local->location[1]}};
}

/* The other thread's accesses, in its own order, between the two of this one. */
static bool is_unserializable(const struct lists *lists) {
    bool turned = lists->turned;
    struct hd_two_accesses accesses = {.does = {lists->local->does[0], lists->local->does[1],
                                                lists->remote->does[turned],
                                                lists->remote->does[!turned]},
                                       .at = {0, 3, turned ? 2 : 1, turned ? 1 : 2}};
    return hd_two_variable_case(&accesses) != HD_TWO_SERIALIZABLE;
}

static bool is_observed(const struct hd_correlated_quad *quad, const struct lists *lists) {
    bool turned = lists->turned;
    struct hd_two_accesses accesses = {.does = {lists->local->does[0], lists->local->does[1],
                                                lists->remote->does[turned],
                                                lists->remote->does[!turned]},
                                       .at = {quad->first, quad->second, quad->inner, quad->other}};
    return hd_two_variable_case(&accesses) != HD_TWO_SERIALIZABLE;
}

/* Must the other thread's access to the first location be done before `first`? */
static bool is_early(const struct builder *builder, const struct hd_correlated_quad *quad) {
    return hd_clocks_before(builder->kept, quad->inner, quad->first);
}

/* Must `second` be done before the other thread is done? What its last access reads is free. */
static bool is_late(const struct builder *builder, const struct hd_correlated_quad *quad) {
    const struct hd_model *model = builder->model;
    uint32_t last = hd_quad_last(quad), position = hd_model_position(model, last);
    if (hd_clocks_before(builder->must, quad->second, last)) return true;
    if (position == 0) return false;
    uint32_t before = model->thread_event[model->thread_start[model->thread[last]] + position - 1];
    return hd_clocks_before(builder->kept, quad->second, before);
}

static void list_quad(struct builder *builder, const struct lists *lists, uint32_t pair,
                      uint32_t other, bool far) {
    struct found found = {.quad = quad_of(lists, pair, other), .group = lists->group, .far = far};
    bool turned = lists->turned;
    found.site[0] = lists->local->site[0];
    found.site[1] = lists->local->site[1];
    found.site[2] = lists->remote->site[turned];
    found.site[3] = lists->remote->site[!turned];
    found.observed = is_observed(&found.quad, lists);
    hd_vector_push(&builder->found, found);
}

/* The other thread's pairs that are open to a pair of this one: from `from` up to before `to`,
 * which only move forward from pair to pair. */
static void advance(const struct builder *builder, const struct lists *lists, uint32_t pair,
                    uint32_t *from, uint32_t *to) {
    uint32_t count = lists->remote->count;
    struct hd_correlated_quad quad;
    while (*from < count && (quad = quad_of(lists, pair, *from), is_early(builder, &quad)))
        (*from)++;
    if (*to < *from) *to = *from;
    while (*to < count && (quad = quad_of(lists, pair, *to), !is_late(builder, &quad))) (*to)++;
}

/* Of pairs whose second access is in one segment the first speaks for all: its thread stops earlier
 * (facts/segments.h), and what comes after the later pair's first access comes after its own too.
 */
static bool is_spoken_for(const struct builder *builder, const struct lists *lists, uint32_t pair) {
    const uint32_t *segment = builder->out->pairs.segments->of;
    return pair > 0 && segment[lists->pair[pair].second] == segment[lists->pair[pair - 1].second];
}

/* The first of the other thread's pairs with its access to the first location after `first`. */
static uint32_t next_after(const struct lists *lists, uint32_t pair, uint32_t at) {
    while (at < lists->remote->count && quad_of(lists, pair, at).inner < lists->pair[pair].first)
        at++;
    return at;
}

/* Counts a quad that is to be listed; false if there is no room. */
static bool take(struct builder *builder, const struct lists *lists, bool near) {
    uint32_t *room = near ? builder->near.data : builder->others.data;
    if (room[lists->group] >= (near ? NEAR : OTHERS)) {
        builder->out->group.data[lists->group].cut = true;
        return false;
    }
    room[lists->group]++;
    return true;
}

static void list_near(struct builder *builder, const struct lists *lists, uint32_t pair,
                      uint32_t from, uint32_t to, uint32_t after) {
    bool spoken = is_spoken_for(builder, lists, pair);
    for (uint32_t at = after > 0 ? after - 1 : 0; at <= after; at++) {
        if (at < from || at >= to) continue;
        struct hd_correlated_quad quad = quad_of(lists, pair, at);
        if ((!spoken || is_observed(&quad, lists)) && take(builder, lists, true))
            list_quad(builder, lists, pair, at, false);
    }
}

/* A group is made when there is something to put into it. */
static void find_group(struct builder *builder, struct lists *lists) {
    struct hd_correlated_groups *out = builder->out;
    if (lists->group != HD_NONE) return;
    lists->group = hd_correlated_group_of(&builder->grouping, out, lists->local,
                                          lists->remote->place[lists->turned]);
    while (builder->near.size < out->group.size) {
        hd_vector_push(&builder->near, 0);
        hd_vector_push(&builder->others, 0);
    }
}

static void list_quads(struct builder *builder, struct lists *lists) {
    for (uint32_t n = 0, from = 0, to = 0, after = 0; n < lists->local->count; n++) {
        advance(builder, lists, n, &from, &to);
        if (from == lists->remote->count) return;
        if (from == to) continue;
        find_group(builder, lists);
        builder->out->group.data[lists->group].instances += to - from;
        after = next_after(lists, n, after);
        list_near(builder, lists, n, from, to, after);
        if (is_spoken_for(builder, lists, n)) continue;
        for (uint32_t at = from; at < to; at++) {
            if (at == after || at + 1 == after) continue;
            if (!take(builder, lists, false)) break;
            list_quad(builder, lists, n, at, true);
        }
    }
}

static void consider(struct builder *builder, const struct hd_correlated_list *local,
                     const struct hd_correlated_list *remote) {
    struct hd_correlated_groups *out = builder->out;
    const struct hd_locksets *sets = &out->pairs.segments->locksets;
    struct lists lists = {.local = local,
                          .remote = remote,
                          .pair = out->pairs.pair.data + local->start,
                          .other = out->pairs.pair.data + remote->start,
                          .turned = remote->location[0] != local->location[0],
                          .group = HD_NONE};
    if (local->thread == remote->thread || (!local->fits && !remote->fits)) return;
    if (!is_unserializable(&lists)) return;
    /* both of one section, and the access between them in another one */
    if (hd_locksets_exclude(sets, local->held, remote->lockset[lists.turned])) return;
    list_quads(builder, &lists);
}

static void find_quads(struct builder *builder) {
    const struct hd_correlated_pairs *pairs = &builder->out->pairs;
    const struct hd_correlated_list *list = pairs->list.data;
    for (size_t i = 0, next; i < pairs->list.size; i = next) {
        uint64_t locations = hd_correlated_locations(&list[i]);
        for (next = i; next < pairs->list.size; next++)
            if (hd_correlated_locations(&list[next]) != locations) break;
        for (size_t a = i; a < next; a++)
            for (size_t b = i; b < next; b++) consider(builder, &list[a], &list[b]);
    }
}

/* ---- in order ---------------------------------------------------------------------------------
 */

static uint32_t span_of(const struct hd_correlated_quad *quad) {
    uint32_t last = hd_quad_last(quad), first = quad->inner ^ quad->other ^ last;
    uint32_t low = first < quad->first ? first : quad->first;
    uint32_t high = last > quad->second ? last : quad->second;
    return high - low;
}

/* What the run did first; then by place, so that a report is about the same accesses in every run;
 * near ones first. */
static int compare_found(const void *left, const void *right) {
    const struct found *a = left, *b = right;
    if (a->group != b->group) return a->group < b->group ? -1 : 1;
    if (a->observed != b->observed) return a->observed ? -1 : 1;
    int sites = memcmp(a->site, b->site, sizeof a->site);
    if (sites != 0) return sites;
    if (a->far != b->far) return a->far ? 1 : -1;
    const uint32_t x[] = {span_of(&a->quad), a->quad.first, a->quad.second, a->quad.inner};
    const uint32_t y[] = {span_of(&b->quad), b->quad.first, b->quad.second, b->quad.inner};
    for (int i = 0; i < 4; i++)
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return 0;
}

static void sort_quads(struct builder *builder) {
    struct hd_correlated_groups *out = builder->out;
    if (builder->found.size > 1)
        qsort(builder->found.data, builder->found.size, sizeof *builder->found.data, compare_found);
    for (size_t i = 0; i < builder->found.size; i++) {
        const struct found *found = &builder->found.data[i];
        struct hd_correlated_group *group = &out->group.data[found->group];
        if (group->count++ == 0) {
            group->start = (uint32_t)i;
            group->observed = found->observed;
        }
        hd_vector_push(&out->quad, found->quad);
    }
}

/* ---- the whole --------------------------------------------------------------------------------
 */

void hd_correlated_groups_find(struct hd_analysis *analysis,
                               const struct hd_correlated_wanted *wanted,
                               struct hd_correlated_groups *groups) {
    *groups =
        (struct hd_correlated_groups){.model = analysis->model, .forks = hd_fork_clocks(analysis)};
    hd_correlated_pairs_find(analysis, wanted->rules, wanted->reading, &groups->pairs);
    struct builder builder = {.model = analysis->model,
                              .out = groups,
                              .must = hd_must_clocks(analysis),
                              .kept = wanted->relaxed ? hd_must_clocks(analysis)
                                                      : hd_kept_clocks(analysis, wanted->reading)};
    find_quads(&builder);
    if (wanted->remotes) hd_correlated_remotes_find(&builder.grouping, analysis->describe, groups);
    sort_quads(&builder);
    hd_correlated_grouping_free(&builder.grouping);
    hd_vector_free(&builder.found);
    hd_vector_free(&builder.near);
    hd_vector_free(&builder.others);
}

void hd_correlated_groups_free(struct hd_correlated_groups *groups) {
    hd_correlated_pairs_free(&groups->pairs);
    hd_vector_free(&groups->quad);
    hd_vector_free(&groups->group);
    hd_vector_free(&groups->remote);
    hd_vector_free(&groups->remotes);
    hd_vector_free(&groups->bundle);
}
