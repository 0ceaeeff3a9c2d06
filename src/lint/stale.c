/* Stale values: the view dependency graph and its safety (Definitions 10 and 11). A value of a
 * shared variable that leaves a block and has a part in a write of another, or of the same one when
 * it is entered again, while another thread may write the variable. */
#include "lint/detect.h"
#include "lint/flow.h"
#include "lint/refine.h"

#include <string.h>

struct search {
    struct hd_lint *lint;
    struct hd_map pair;   /* first << 32 | second: number of the finding, plus one */
    struct hd_map backs;  /* thread << 32 | block: 1 no, 2 yes (hd_gives_back) */
    struct hd_map logged; /* variable: 1 no, 2 yes (hd_only_logged) */
    HD_VECTOR(struct hd_stale) found;
    HD_VECTOR(hd_number_list) variables; /* of each */
    HD_VECTOR(struct hd_lint_way) way;   /* of the one that is at work */
    uint32_t first, variable;
    const struct hd_flow *flow;
};

uint64_t hd_lint_locks(const struct hd_lint *lint, uint32_t block) {
    const struct hd_atomic_block *at = &lint->blocks.list.data[block];
    uint64_t around = at->step == HD_SOURCE_NONE ? 0 : lint->blocks.mask[at->step];
    return lint->blocks.held[at->function] |
           hd_blocks_locks(&lint->blocks, at->function,
                           around | hd_block_bit(&lint->blocks, block));
}

bool hd_lint_same_object(const struct hd_lint *lint, uint32_t one, uint32_t other) {
    uint64_t a = hd_lint_locks(lint, one), b = hd_lint_locks(lint, other);
    return !lint->options.refine[HD_REFINE_LOCKS] || a == 0 || b == 0 || (a & b) != 0;
}

static bool cached(struct hd_map *map, uint64_t key, bool *value) {
    uint32_t known = hd_map_get(map, key, 0);
    *value = known == 2;
    return known != 0;
}

static bool gives_back(struct search *search, uint32_t thread, uint32_t block) {
    uint64_t key = (uint64_t)thread << 32 | block;
    bool value;
    if (cached(&search->backs, key, &value)) return value;
    value = hd_gives_back(search->lint, thread, block);
    *hd_map_slot(&search->backs, key, 0) = value ? 2 : 1;
    return value;
}

static bool only_logged(struct search *search, uint32_t variable) {
    bool value;
    if (cached(&search->logged, variable, &value)) return value;
    value = hd_only_logged(search->lint, variable);
    *hd_map_slot(&search->logged, variable, 0) = value ? 2 : 1;
    return value;
}

/* ---- who writes in between ------------------------------------------------------------------- */

static bool writes(const struct hd_lint *lint, uint32_t thread, uint32_t variable) {
    for (uint32_t b = 0; b < lint->views.of.size; b++)
        if (hd_thread_runs(&lint->views, thread, b) &&
            hd_list_has(&lint->views.of.data[b].write, variable))
            return true;
    return false;
}

/* A block of another thread that writes the variable and waits for none of these locks. */
static bool find_writer(const struct hd_lint *lint, uint64_t locks, struct hd_stale *stale) {
    for (uint32_t q = 0; q < lint->views.thread.size; q++) {
        if (!hd_lint_at_once(lint, stale->thread, q)) continue;
        for (uint32_t b = 0; b < lint->views.of.size; b++) {
            if (!hd_thread_runs(&lint->views, q, b) ||
                !hd_list_has(&lint->views.of.data[b].write, stale->variable) ||
                (hd_lint_locks(lint, b) & locks) != 0 ||
                !hd_lint_same_object(lint, stale->first, b))
                continue;
            stale->other = q;
            stale->between = b;
            stale->write = hd_view_step(lint->source, &lint->shared, &lint->blocks, &lint->views, b,
                                        stale->variable, HD_ACCESS_WRITE);
            return true;
        }
    }
    return false;
}

/* Locks that are held from the first block to the second: then their holders can't come between. */
static uint64_t locks_throughout(const struct hd_lint *lint, const struct hd_flow_point *point) {
    return lint->blocks.held[point->top] |
           hd_blocks_locks(&lint->blocks, point->top, point->around);
}

static bool find_threads(const struct hd_lint *lint, const struct hd_flow_point *point,
                         struct hd_stale *stale) {
    uint64_t locks = locks_throughout(lint, point);
    for (uint32_t p = 0; p < lint->views.thread.size; p++) {
        stale->thread = p;
        if (hd_thread_runs(&lint->views, p, stale->first) &&
            hd_thread_runs(&lint->views, p, stale->second) && find_writer(lint, locks, stale))
            return true;
    }
    return false;
}

/* ---- a dependence of one block on another ---------------------------------------------------- */

static unsigned signs_of(struct search *search, const struct hd_stale *stale) {
    const struct hd_lint *lint = search->lint;
    unsigned signs = 0;
    bool logged = lint->options.refine[HD_REFINE_LOGGING];
    for (uint32_t i = 0; logged && i < lint->shared.count[stale->use]; i++) {
        uint32_t variable = lint->shared.of.data[lint->shared.first[stale->use] + i];
        logged = variable != stale->variable && only_logged(search, variable);
    }
    if (logged) signs |= HD_SIGN_LOGGING;
    if (lint->options.refine[HD_REFINE_RELATED] && stale->control &&
        !hd_related(lint, stale->variable, stale->second))
        signs |= HD_SIGN_UNRELATED;
    return signs;
}

/* Refinements that take the candidate away. */
static bool is_valid(struct search *search, const struct hd_stale *stale, uint32_t point) {
    struct hd_lint *lint = search->lint;
    const bool *refine = lint->options.refine;
    if (refine[HD_REFINE_CLAIMS] && stale->control &&
        gives_back(search, stale->thread, stale->second)) {
        lint->by_refinement[HD_REFINE_CLAIMS]++;
        return true;
    }
    if (!refine[HD_REFINE_RECHECK] && !refine[HD_REFINE_VERSIONS]) return false;
    enum hd_validity validity =
        hd_validity(lint, stale->first, stale->second, stale->variable, search->flow, point);
    if (validity == HD_CHECKED_AGAIN && refine[HD_REFINE_RECHECK]) {
        lint->by_refinement[HD_REFINE_RECHECK]++;
        return true;
    }
    if (validity == HD_VERSION_COMPARED && refine[HD_REFINE_VERSIONS]) {
        lint->by_refinement[HD_REFINE_VERSIONS]++;
        return true;
    }
    return false;
}

static bool better(const struct hd_stale *one, const struct hd_stale *other) {
    if ((one->signs != 0) != (other->signs != 0)) return one->signs == 0;
    return !one->control && other->control;
}

/* A step that a reader of the program sees: an assignment, a call, a condition. */
static uint32_t shown_step(const struct hd_lint *lint, const struct hd_flow_point *point) {
    const struct hd_causal_graph *graph = &lint->graph;
    enum hd_causal_node sort = hd_causal_sort(graph, point->node);
    if (sort == HD_NODE_OF_STEP) return point->node;
    if (sort == HD_NODE_OF_ARGUMENT || sort == HD_NODE_OF_PASSED || sort == HD_NODE_OF_RETURNED)
        return graph->call[point->node - graph->first[sort]];
    return HD_SOURCE_NONE;
}

static void keep_way(struct hd_lint *lint, const struct hd_flow *flow, uint32_t point,
                     struct hd_stale *stale) {
    HD_VECTOR(struct hd_lint_way) way = {0};
    uint8_t how = flow->point.data[point].how;
    for (uint32_t at = flow->point.data[point].previous; at != HD_SOURCE_NONE;
         at = flow->point.data[at].previous) {
        const struct hd_flow_point *point_at = &flow->point.data[at];
        uint32_t step = shown_step(lint, point_at);
        if (point_at->previous == HD_SOURCE_NONE) {
            stale->read = point_at->node;
        } else if (step != HD_SOURCE_NONE) {
            struct hd_lint_way one = {step, how};
            hd_vector_push(&way, one);
        }
        how = point_at->how;
    }
    stale->way.first = (uint32_t)lint->way.size;
    stale->way.count = (uint32_t)way.size;
    for (size_t i = way.size; i-- > 0;) hd_vector_push(&lint->way, way.data[i]);
    hd_vector_free(&way);
}

static void keep(struct search *search, struct hd_stale *stale, uint32_t point) {
    uint64_t key = (uint64_t)stale->first << 32 | stale->second;
    uint32_t *slot = hd_map_slot(&search->pair, key, 0);
    if (*slot == 0) {
        hd_number_list none = {0};
        *slot = (uint32_t)search->found.size + 1;
        keep_way(search->lint, search->flow, point, stale);
        hd_vector_push(&search->found, *stale);
        hd_vector_push(&search->variables, none);
    } else if (better(stale, &search->found.data[*slot - 1])) {
        keep_way(search->lint, search->flow, point, stale);
        search->found.data[*slot - 1] = *stale;
    }
    hd_number_list *list = &search->variables.data[*slot - 1];
    for (size_t i = 0; i < list->size; i++)
        if (list->data[i] == stale->variable) return;
    hd_vector_push(list, stale->variable);
}

static void consider(struct search *search, uint32_t point, uint32_t second) {
    const struct hd_flow_point *at = &search->flow->point.data[point];
    struct hd_stale stale = {.first = search->first,
                             .second = second,
                             .variable = search->variable,
                             .use = at->node,
                             .control = at->control};
    if (!find_threads(search->lint, at, &stale) || is_valid(search, &stale, point)) return;
    stale.signs = signs_of(search, &stale);
    keep(search, &stale, point);
}

static void look_at(struct search *search, uint32_t point) {
    const struct hd_lint *lint = search->lint;
    const struct hd_flow_point *at = &search->flow->point.data[point];
    if (at->node >= lint->source->step.size || lint->shared.count[at->node] == 0 ||
        !hd_step_writes(&lint->source->step.data[at->node]))
        return;
    uint32_t function = lint->graph.function[at->node];
    for (uint64_t mask = hd_flow_blocks(lint, at); mask != 0; mask &= mask - 1)
        consider(search, point, lint->blocks.first[function] + (uint32_t)__builtin_ctzll(mask));
    if (at->where == HD_FLOW_DOWN && at->entered != HD_SOURCE_NONE)
        consider(search, point, at->entered);
}

static void follow(struct search *search, uint32_t block, uint32_t variable) {
    struct hd_lint *lint = search->lint;
    bool taken = lint->options.refine[HD_REFINE_TAKEN];
    struct hd_flow flow;
    hd_flow_follow(lint, block, variable, taken ? &lint->by_refinement[HD_REFINE_TAKEN] : NULL,
                   &flow);
    if (flow.cut_short) lint->cut_short++;
    search->first = block;
    search->variable = variable;
    search->flow = &flow;
    for (uint32_t i = 0; i < flow.point.size; i++) look_at(search, i);
    hd_flow_free(&flow);
}

/* Whether a thread runs the block while another may write the variable: else nothing can be
 * stale, and the values need not be followed. */
static bool in_danger(const struct hd_lint *lint, uint32_t block, uint32_t variable) {
    for (uint32_t p = 0; p < lint->views.thread.size; p++)
        for (uint32_t q = 0; q < lint->views.thread.size; q++)
            if (hd_thread_runs(&lint->views, p, block) && hd_lint_at_once(lint, p, q) &&
                writes(lint, q, variable))
                return true;
    return false;
}

void hd_lint_find_stale(struct hd_lint *lint) {
    struct search search = {.lint = lint};
    for (uint32_t b = 0; b < lint->views.of.size; b++) {
        const hd_number_list *read = &lint->views.of.data[b].read;
        for (size_t i = 0; i < read->size; i++)
            if (in_danger(lint, b, read->data[i])) follow(&search, b, read->data[i]);
    }
    for (size_t i = 0; i < search.found.size; i++) {
        struct hd_stale *stale = &search.found.data[i];
        hd_number_list *list = &search.variables.data[i];
        stale->variables.first = (uint32_t)lint->number.size;
        stale->variables.count = (uint32_t)list->size;
        for (size_t k = 0; k < list->size; k++) hd_vector_push(&lint->number, list->data[k]);
        hd_vector_push(&lint->stale, *stale);
        hd_vector_free(list);
    }
    hd_map_free(&search.pair);
    hd_map_free(&search.backs);
    hd_map_free(&search.logged);
    hd_vector_free(&search.found);
    hd_vector_free(&search.variables);
}
