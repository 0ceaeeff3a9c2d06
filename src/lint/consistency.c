/* View consistency (Definitions 5 to 9): the views of one thread that overlap a maximal view of
 * another must form a chain; if reads do not, values of both must meet somewhere to be an error
 * (common correlation, Definition 2). */
#include "lint/detect.h"
#include "lint/flow.h"
#include "lint/refine.h"

#include <stdlib.h>

struct reach {
    hd_number_list node; /* where the values may meet another, ascending; twice + 1: outside */
};

struct search {
    struct hd_lint *lint;
    struct hd_map reached; /* block << 32 | variable: number of a struct reach, plus one */
    HD_VECTOR(struct reach) reach;
    struct hd_map pair; /* mode, first, second: number of the finding, plus one */
};

static const hd_number_list *view_of(const struct hd_lint *lint, uint32_t block, uint8_t mode) {
    const struct hd_block_view *view = &lint->views.of.data[block];
    return mode == HD_ACCESS_READ ? &view->read : &view->write;
}

/* ---- maximal views --------------------------------------------------------------------------- */

/* Definition 6. Of equal views the first is maximal. */
static bool is_maximal(const struct hd_lint *lint, uint32_t thread, uint32_t block, uint8_t mode) {
    const hd_number_list *view = view_of(lint, block, mode);
    for (uint32_t b = 0; b < lint->views.of.size; b++) {
        if (b == block || !hd_thread_runs(&lint->views, thread, b)) continue;
        const hd_number_list *other = view_of(lint, b, mode);
        if (hd_list_is_subset(view, other) && (view->size < other->size || b < block)) return false;
    }
    return view->size > 1;
}

/* ---- common correlation ---------------------------------------------------------------------- */

/* A written variable, a result, or a call that nobody can look into. */
static bool can_meet(const struct hd_lint *lint, uint32_t node) {
    enum hd_causal_node sort = hd_causal_sort(&lint->graph, node);
    if (sort == HD_NODE_OF_RESULT) return true;
    if (sort != HD_NODE_OF_STEP) return false;
    const struct hd_source_step *step = &lint->source->step.data[node];
    return hd_step_writes(step) || (step->kind == HD_STEP_CALL && lint->calls.count[node] == 0);
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static const struct reach *reach_of(struct search *search, uint32_t block, uint32_t variable) {
    struct hd_lint *lint = search->lint;
    uint64_t key = (uint64_t)block << 32 | variable;
    uint32_t known = hd_map_get(&search->reached, key, 0);
    if (known > 0) return &search->reach.data[known - 1];
    struct hd_flow flow;
    struct reach reach = {.node = {0}};
    uint32_t taken = 0;
    hd_flow_follow(lint, block, variable, lint->options.refine[HD_REFINE_TAKEN] ? &taken : NULL,
                   &flow);
    if (flow.cut_short) lint->cut_short++;
    for (size_t i = 0; i < flow.point.size; i++) {
        const struct hd_flow_point *point = &flow.point.data[i];
        if (can_meet(lint, point->node) && point->previous != HD_SOURCE_NONE)
            hd_vector_push(&reach.node, 2 * point->node + (point->where >= HD_FLOW_LEFT));
    }
    if (reach.node.size > 0)
        qsort(reach.node.data, reach.node.size, sizeof *reach.node.data, by_number);
    hd_flow_free(&flow);
    hd_vector_push(&search->reach, reach);
    *hd_map_slot(&search->reached, key, 0) = (uint32_t)search->reach.size;
    return &search->reach.data[search->reach.size - 1];
}

/* Where values of two reads meet, at least one of them outside its block; NONE. The written
 * variable is neither of the two (Definition 2). */
static uint32_t meet(struct search *search, uint32_t first, uint32_t one, uint32_t second,
                     uint32_t two) {
    const struct hd_lint *lint = search->lint;
    reach_of(search, first, one); /* may move the others */
    const hd_number_list *b = &reach_of(search, second, two)->node;
    const hd_number_list *a = &reach_of(search, first, one)->node;
    for (size_t i = 0, k = 0; i < a->size && k < b->size;) {
        uint32_t x = a->data[i] / 2, y = b->data[k] / 2;
        if (x == y) {
            bool own = x < lint->source->step.size && (hd_shared_has(&lint->shared, x, one) ||
                                                       hd_shared_has(&lint->shared, x, two));
            if (!own && (a->data[i] % 2 != 0 || b->data[k] % 2 != 0)) return x;
            if (a->data[i] < b->data[k]) /* inside and outside are two entries */
                i++;
            else
                k++;
        } else if (x < y)
            i++;
        else
            k++;
    }
    return HD_SOURCE_NONE;
}

/* Definition 2 for two sets of variables: each has one that the other lacks. */
static bool correlate(struct search *search, struct hd_view_pair *pair, const hd_number_list *one,
                      const hd_number_list *two) {
    for (size_t i = 0; i < one->size; i++)
        for (size_t k = 0; k < two->size; k++) {
            if (hd_list_has(two, one->data[i]) || hd_list_has(one, two->data[k])) continue;
            pair->one = one->data[i];
            pair->two = two->data[k];
            pair->common = HD_SOURCE_NONE;
            if (pair->mode == HD_ACCESS_WRITE) return true;
            pair->common = meet(search, pair->first, pair->one, pair->second, pair->two);
            if (pair->common != HD_SOURCE_NONE) return true;
        }
    return false;
}

/* ---- refinements ----------------------------------------------------------------------------- */

/* One of the two blocks gives back what the other claimed. */
static bool is_claim(struct hd_lint *lint, uint32_t claim, uint32_t back) {
    const struct hd_block_view *view = &lint->views.of.data[back],
                               *other = &lint->views.of.data[claim];
    for (size_t i = 0; i < view->write.size; i++) {
        uint32_t flag = view->write.data[i];
        if (!hd_list_has(&view->read, flag) && hd_list_has(&other->read, flag) &&
            hd_list_has(&other->write, flag) && hd_claims(lint, claim, flag))
            return true;
    }
    return false;
}

/* The maximal view is of other objects, or both partial views are inside one block of a lock that
 * it needs. */
static bool excluded(const struct hd_lint *lint, const struct hd_view_pair *pair) {
    if (!hd_lint_same_object(lint, pair->first, pair->maximal) ||
        !hd_lint_same_object(lint, pair->second, pair->maximal))
        return true;
    const struct hd_atomic_block *one = &lint->blocks.list.data[pair->first],
                                 *two = &lint->blocks.list.data[pair->second];
    uint64_t locks = lint->blocks.held[one->function] & lint->blocks.held[two->function];
    if (one->function == two->function && one->step != HD_SOURCE_NONE &&
        two->step != HD_SOURCE_NONE)
        locks |= hd_blocks_locks(&lint->blocks, one->function,
                                 lint->blocks.mask[one->step] & lint->blocks.mask[two->step]);
    return (locks & hd_lint_locks(lint, pair->maximal)) != 0;
}

/* All writes of the variables in the block add to what was there: a counter is whole by itself. */
static bool only_adds(const struct hd_lint *lint, uint32_t block, const hd_number_list *list) {
    const struct hd_source *source = lint->source;
    for (uint32_t i = 0; i < source->step.size; i++) {
        if (!hd_step_writes(&source->step.data[i]) || hd_step_reads(&source->step.data[i]) ||
            !hd_view_has_step(&lint->blocks, &lint->views, block, lint->calls.function[i], i))
            continue;
        for (size_t k = 0; k < list->size; k++)
            if (hd_shared_has(&lint->shared, i, list->data[k])) return false;
    }
    return true;
}

static unsigned signs_of(const struct hd_lint *lint, const struct hd_view_pair *pair,
                         const hd_number_list *one, const hd_number_list *two) {
    unsigned signs = 0;
    if (pair->mode == HD_ACCESS_WRITE && lint->options.refine[HD_REFINE_WHOLE]) {
        if (only_adds(lint, pair->first, one) && only_adds(lint, pair->second, two))
            signs |= HD_SIGN_WHOLE;
        for (size_t i = 0; i < one->size; i++)
            if (hd_list_has(two, one->data[i])) signs |= HD_SIGN_WHOLE;
    }
    if (lint->options.refine[HD_REFINE_LOGGING] && pair->common < lint->source->step.size &&
        lint->source->step.data[pair->common].kind == HD_STEP_CALL &&
        hd_logs(lint->source, pair->common))
        signs |= HD_SIGN_LOGGING;
    return signs;
}

/* ---- findings -------------------------------------------------------------------------------- */

static struct hd_source_range keep_list(struct hd_lint *lint, const hd_number_list *list) {
    struct hd_source_range range = {(uint32_t)lint->number.size, (uint32_t)list->size};
    for (size_t i = 0; i < list->size; i++) hd_vector_push(&lint->number, list->data[i]);
    return range;
}

static uint32_t step_of(const struct hd_lint *lint, uint32_t block, uint32_t variable,
                        uint8_t mode) {
    return hd_view_step(lint->source, &lint->shared, &lint->blocks, &lint->views, block, variable,
                        mode);
}

void hd_lint_keep_pair(struct hd_lint *lint, struct hd_map *known, struct hd_view_pair *pair,
                       const hd_number_list *one, const hd_number_list *two,
                       const hd_number_list *whole) {
    uint64_t key = (uint64_t)(pair->mode == HD_ACCESS_WRITE) << 62 | (uint64_t)pair->first << 31 |
                   pair->second;
    uint32_t *slot = hd_map_slot(known, key, 0);
    if (*slot != 0) {
        lint->pair.data[*slot - 1].instances++;
        return;
    }
    *slot = (uint32_t)lint->pair.size + 1;
    uint8_t against = hd_view_against(pair->mode);
    pair->instances = 1;
    pair->first_step = step_of(lint, pair->first, pair->one, pair->mode);
    pair->second_step = step_of(lint, pair->second, pair->two, pair->mode);
    pair->one_step = step_of(lint, pair->maximal, pair->one, against);
    pair->two_step = step_of(lint, pair->maximal, pair->two, against);
    pair->overlap = keep_list(lint, one);
    pair->overlap_two = keep_list(lint, two);
    pair->whole = keep_list(lint, whole);
    hd_vector_push(&lint->pair, *pair);
}

/* Definition 8 for two blocks of the thread. */
static void check_pair(struct search *search, struct hd_view_pair *pair,
                       const hd_number_list *maximal, hd_number_list *one, hd_number_list *two) {
    struct hd_lint *lint = search->lint;
    hd_list_intersect(maximal, view_of(lint, pair->first, pair->mode), one);
    if (one->size == 0) return;
    hd_list_intersect(maximal, view_of(lint, pair->second, pair->mode), two);
    if (two->size == 0 || hd_list_is_subset(one, two) || hd_list_is_subset(two, one) ||
        excluded(lint, pair) || !correlate(search, pair, one, two))
        return;
    if (pair->mode == HD_ACCESS_READ && lint->options.refine[HD_REFINE_CLAIMS] &&
        (is_claim(lint, pair->first, pair->second) || is_claim(lint, pair->second, pair->first))) {
        lint->by_refinement[HD_REFINE_CLAIMS]++;
        return;
    }
    pair->signs = signs_of(lint, pair, one, two);
    hd_lint_keep_pair(lint, &search->pair, pair, one, two, maximal);
}

/* Definition 8: the thread's views of this mode against a maximal view of the other mode. */
static void check_thread(struct search *search, uint32_t thread, uint32_t other, uint32_t maximal,
                         uint8_t mode) {
    const struct hd_lint *lint = search->lint;
    const hd_number_list *view =
        view_of(lint, maximal, mode == HD_ACCESS_READ ? HD_ACCESS_WRITE : HD_ACCESS_READ);
    hd_number_list one = {0}, two = {0};
    uint32_t count = (uint32_t)lint->views.of.size;
    for (uint32_t a = 0; a < count; a++) {
        if (!hd_thread_runs(&lint->views, thread, a)) continue;
        for (uint32_t b = a + 1; b < count; b++) {
            struct hd_view_pair pair = {.first = a,
                                        .second = b,
                                        .maximal = maximal,
                                        .thread = thread,
                                        .other = other,
                                        .mode = mode};
            if (hd_thread_runs(&lint->views, thread, b))
                check_pair(search, &pair, view, &one, &two);
        }
    }
    hd_vector_free(&one);
    hd_vector_free(&two);
}

/* Definition 9. */
void hd_lint_find_views(struct hd_lint *lint) {
    struct search search = {.lint = lint};
    uint32_t threads = (uint32_t)lint->views.thread.size;
    for (uint32_t p = 0; p < threads; p++)
        for (uint32_t b = 0; b < lint->views.of.size; b++) {
            if (!hd_thread_runs(&lint->views, p, b)) continue;
            bool reads = is_maximal(lint, p, b, HD_ACCESS_READ);
            bool writes = is_maximal(lint, p, b, HD_ACCESS_WRITE);
            for (uint32_t q = 0; q < threads; q++) {
                if (!hd_lint_at_once(lint, p, q)) continue;
                if (reads) check_thread(&search, q, p, b, HD_ACCESS_WRITE);
                if (writes) check_thread(&search, q, p, b, HD_ACCESS_READ);
            }
        }
    for (size_t i = 0; i < search.reach.size; i++) hd_vector_free(&search.reach.data[i].node);
    hd_vector_free(&search.reach);
    hd_map_free(&search.reached);
    hd_map_free(&search.pair);
}
