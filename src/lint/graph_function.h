/* One function's part of the causal graph, for graph.c: data dependences (graph_data.c) and control
 * dependences (graph_control.c). */
#ifndef HEDDLE_LINT_GRAPH_FUNCTION_H
#define HEDDLE_LINT_GRAPH_FUNCTION_H

#include "lint/graph.h"

struct hd_causal_builder {
    const struct hd_source *source;
    const struct hd_calls *calls;
    const struct hd_shared *shared;
    bool reread;
    struct hd_blocks *blocks;
    struct hd_causal_graph *graph;
    HD_VECTOR(uint32_t) other_function; /* of the nodes HD_NODE_OF_OTHER */
    HD_VECTOR(uint64_t) other_mask;
    HD_VECTOR(uint32_t) other_step;
    /* of the function that is at work */
    const struct hd_cfg *cfg;
    uint32_t function;
    uint32_t *execution; /* by block of its graph: the node that says that it runs */
};

void hd_causal_add(struct hd_causal_builder *builder, uint32_t from, uint32_t to, uint8_t kind);
/* A new node of the function. */
uint32_t hd_causal_other(struct hd_causal_builder *builder, uint64_t mask, uint32_t step);

void hd_causal_data(struct hd_causal_builder *builder);
void hd_causal_control(struct hd_causal_builder *builder);

#endif
