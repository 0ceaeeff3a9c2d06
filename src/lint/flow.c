/* Following values: see flow.h. */
#include "lint/flow.h"

#include "lint/refine.h"

#define MOST_POINTS 400000u

struct walk {
    const struct hd_lint *lint;
    struct hd_flow *flow;
    uint32_t block, home; /* the block and its function */
    uint64_t bit;
    struct hd_map seen;
    HD_VECTOR(struct hd_flow_point) later; /* reached through a condition: after all others */
    size_t next_later;
};

/* Points that differ only in the way there are one. */
static uint64_t key_of(const struct hd_flow_point *point) {
    uint64_t context = point->where == HD_FLOW_DOWN ? (uint64_t)point->entered + 1
                                                    : point->around ^ point->around >> 24;
    return (uint64_t)point->node | (uint64_t)point->where << 32 | (context & 0x3ffffff) << 34;
}

static void arrive(struct walk *walk, struct hd_flow_point point) {
    bool control = point.control && walk->next_later == SIZE_MAX;
    if (control) {
        hd_vector_push(&walk->later, point);
        return;
    }
    uint32_t before = walk->seen.count;
    hd_map_slot(&walk->seen, key_of(&point), 0);
    if (walk->seen.count == before) return;
    if (walk->flow->point.size >= MOST_POINTS) {
        walk->flow->cut_short = true;
        return;
    }
    hd_vector_push(&walk->flow->point, point);
}

/* ---- out of the block ------------------------------------------------------------------------ */

static bool below(const struct hd_source *source, uint32_t step, uint32_t ancestor) {
    for (uint32_t node = source->step.data[step].node; node != HD_SOURCE_NONE;
         node = source->node.data[node].parent)
        if (node == ancestor) return true;
    return false;
}

static bool is_loop(const struct hd_source_node *node) {
    return node->kind == HD_NODE_WHILE || node->kind == HD_NODE_FOR || node->kind == HD_NODE_DO;
}

/* From one round of a loop to the next, where each takes the lock anew: the value was outside. */
static bool comes_around(const struct walk *walk, uint32_t from, uint32_t to) {
    const struct hd_source *source = walk->lint->source;
    uint32_t taken = walk->lint->blocks.list.data[walk->block].step;
    if (taken == HD_SOURCE_NONE || from >= source->step.size || to >= source->step.size ||
        from < to)
        return false;
    for (uint32_t node = source->step.data[to].node; node != HD_SOURCE_NONE;
         node = source->node.data[node].parent)
        if (is_loop(&source->node.data[node]) && below(source, from, node) &&
            below(source, taken, node))
            return true;
    return false;
}

/* ---- steps of the walk ----------------------------------------------------------------------- */

static void go_up(struct walk *walk, struct hd_flow_point point, uint32_t to) {
    const struct hd_causal_graph *graph = &walk->lint->graph;
    uint32_t function = graph->function[to];
    if (point.where == HD_FLOW_DOWN) return; /* not to where it did not come from */
    if (point.where == HD_FLOW_INSIDE) {
        bool home = function == walk->home && (graph->mask[to] & walk->bit) != 0;
        if (!home && !hd_bitset_has(&walk->lint->views.of.data[walk->block].inside, function))
            return;
        point.where = home ? HD_FLOW_HOME : HD_FLOW_INSIDE;
    } else {
        point.where = HD_FLOW_LEFT;
        point.around = graph->mask[to];
    }
    point.node = to;
    point.top = function;
    arrive(walk, point);
}

static void go_down(struct walk *walk, struct hd_flow_point point, uint32_t to) {
    const struct hd_causal_graph *graph = &walk->lint->graph;
    uint32_t function = graph->function[point.node];
    if (point.where == HD_FLOW_INSIDE || point.where == HD_FLOW_HOME) return; /* still inside */
    uint64_t here = graph->mask[point.node];
    if (point.where == HD_FLOW_LEFT) {
        here &= ~point.around;
        point.entered = HD_SOURCE_NONE;
    }
    if (point.entered == HD_SOURCE_NONE && here != 0)
        point.entered = walk->lint->blocks.first[function] + (uint32_t)__builtin_ctzll(here);
    point.where = HD_FLOW_DOWN;
    point.node = to;
    arrive(walk, point);
}

static void go_on(struct walk *walk, struct hd_flow_point point, uint32_t to) {
    const struct hd_causal_graph *graph = &walk->lint->graph;
    if (point.where == HD_FLOW_HOME &&
        ((graph->mask[to] & walk->bit) == 0 || comes_around(walk, point.node, to)))
        point.where = HD_FLOW_LEFT;
    if (point.where == HD_FLOW_LEFT) point.around &= graph->mask[to];
    point.node = to;
    arrive(walk, point);
}

static void expand(struct walk *walk, uint32_t number) {
    const struct hd_causal_graph *graph = &walk->lint->graph;
    struct hd_flow_point at = walk->flow->point.data[number];
    for (uint32_t e = graph->out[at.node]; e < graph->out[at.node + 1]; e++) {
        const struct hd_causal_edge *edge = &graph->edge.data[e];
        struct hd_flow_point next = at;
        next.previous = number;
        next.how = edge->kind;
        next.control = at.control || edge->kind == HD_CAUSAL_CONTROL;
        if (edge->kind == HD_CAUSAL_UP)
            go_up(walk, next, edge->to);
        else if (edge->kind == HD_CAUSAL_DOWN)
            go_down(walk, next, edge->to);
        else
            go_on(walk, next, edge->to);
    }
}

/* ---- where it begins ------------------------------------------------------------------------- */

static void start_in(struct walk *walk, uint32_t variable, uint32_t function, uint8_t where,
                     uint32_t *taken) {
    const struct hd_lint *lint = walk->lint;
    struct hd_source_range steps = lint->source->function.data[function].steps;
    uint32_t lock = lint->blocks.list.data[walk->block].step;
    uint64_t around = lock == HD_SOURCE_NONE ? 0 : lint->blocks.mask[lock];
    for (uint32_t i = steps.first; i < steps.first + steps.count; i++) {
        if (!hd_step_reads(&lint->source->step.data[i]) ||
            !hd_shared_has(&lint->shared, i, variable))
            continue;
        if (where == HD_FLOW_HOME && (lint->blocks.mask[i] & walk->bit) == 0) continue;
        if (taken != NULL && hd_taken(lint, walk->block, i)) {
            ++*taken;
            continue;
        }
        struct hd_flow_point point = {.node = i,
                                      .previous = HD_SOURCE_NONE,
                                      .entered = HD_SOURCE_NONE,
                                      .top = walk->home,
                                      .around = around & ~walk->bit,
                                      .where = where};
        arrive(walk, point);
    }
}

void hd_flow_follow(const struct hd_lint *lint, uint32_t block, uint32_t variable, uint32_t *taken,
                    struct hd_flow *flow) {
    *flow = (struct hd_flow){.cut_short = false};
    struct walk walk = {.lint = lint,
                        .flow = flow,
                        .block = block,
                        .home = lint->blocks.list.data[block].function,
                        .bit = hd_block_bit(&lint->blocks, block),
                        .next_later = SIZE_MAX};
    const struct hd_bitset *inside = &lint->views.of.data[block].inside;
    start_in(&walk, variable, walk.home, HD_FLOW_HOME, taken);
    for (size_t f = hd_bitset_next(inside, 0); f != SIZE_MAX; f = hd_bitset_next(inside, f + 1))
        start_in(&walk, variable, (uint32_t)f, HD_FLOW_INSIDE, taken);
    size_t next = 0;
    while (next < flow->point.size) expand(&walk, (uint32_t)next++);
    walk.next_later = 0; /* conditions are on the way of all that follow */
    for (size_t i = 0; i < walk.later.size; i++) arrive(&walk, walk.later.data[i]);
    while (next < flow->point.size) expand(&walk, (uint32_t)next++);
    hd_vector_free(&walk.later);
    hd_map_free(&walk.seen);
}

void hd_flow_free(struct hd_flow *flow) { hd_vector_free(&flow->point); }

uint64_t hd_flow_blocks(const struct hd_lint *lint, const struct hd_flow_point *point) {
    if (point->where != HD_FLOW_LEFT && point->where != HD_FLOW_DOWN) return 0;
    uint64_t mask = lint->graph.mask[point->node];
    if (mask == UINT64_MAX) mask = 0;
    return point->where == HD_FLOW_LEFT ? mask & ~point->around : mask;
}
