/* The causal graph: which values and conditions have a part in which values (the paper's section
 * 4). Its nodes are versions: every step of the program is one (a read is the version that it
 * reads, a write the one that it makes), and so are the parameters, results and out-parameters of
 * functions and calls. Edges inside a function come from the reaching definitions (Fig. 4) and from
 * the control dependences (Fig. 5) of its control flow graph.
 *
 * Calls are kept apart: a value that goes into a function and comes back goes by a summary edge
 * from argument to result, found by a fixed point over all functions. So a way along the edges that
 * first goes up to callers and then down into callees is a way that a value can take. */
#ifndef HEDDLE_LINT_GRAPH_H
#define HEDDLE_LINT_GRAPH_H

#include "lint/blocks.h"
#include "lint/calls.h"
#include "lint/shared.h"

enum hd_causal_kind {
    HD_CAUSAL_DATA,
    HD_CAUSAL_CONTROL,
    HD_CAUSAL_DOWN, /* from an argument to a parameter, from a call to the function */
    HD_CAUSAL_UP    /* from a result to the call, from an out-parameter to the argument */
};

struct hd_causal_edge {
    uint32_t from, to;
    uint8_t kind; /* enum hd_causal_kind */
};

/* Nodes by number: the steps come first. */
enum hd_causal_node {
    HD_NODE_OF_STEP,
    HD_NODE_OF_ARGUMENT,  /* the value that is passed */
    HD_NODE_OF_PASSED,    /* what is behind the pointer that is passed */
    HD_NODE_OF_RETURNED,  /* the same after the call */
    HD_NODE_OF_PARAMETER, /* three more for the function's side */
    HD_NODE_OF_RECEIVED,
    HD_NODE_OF_OUT,
    HD_NODE_OF_RESULT, /* by function */
    HD_NODE_OF_ENTRY,  /* that it runs at all */
    HD_NODE_OF_OTHER,  /* that a block of a control flow graph, or a call, is executed */
    HD_NODE_SORTS
};

struct hd_causal_graph {
    const struct hd_source *source;
    uint32_t first[HD_NODE_SORTS]; /* number of the first node of each sort */
    uint32_t nodes;
    uint32_t *function; /* by node: the function it is in */
    uint64_t *mask;     /* by node: blocks of that function that it is in; all ones for results,
                           parameters and out-parameters, which are at the border */
    uint32_t *call;     /* by argument: the step of its call */
    uint32_t *step;     /* by node from HD_NODE_OF_OTHER on: a step of it; NONE */
    HD_VECTOR(struct hd_causal_edge) edge; /* sorted by `from` */
    uint32_t *out, *in;                    /* by node: where its edges begin */
    uint32_t *into;                        /* edges, sorted by `to` */
};

/* Finds the blocks too, since both need the control flow graphs. `reread`: a shared variable that
 * is read in a block has no version from before that block. */
void hd_causal_build(const struct hd_source *source, const struct hd_calls *calls,
                     const struct hd_shared *shared, bool reread, struct hd_blocks *blocks,
                     struct hd_causal_graph *graph);
void hd_causal_free(struct hd_causal_graph *graph);

static inline enum hd_causal_node hd_causal_sort(const struct hd_causal_graph *graph,
                                                 uint32_t node) {
    enum hd_causal_node sort = HD_NODE_OF_STEP;
    while (sort + 1 < HD_NODE_SORTS && node >= graph->first[sort + 1]) sort++;
    return sort;
}
static inline uint32_t hd_causal_at(const struct hd_causal_graph *graph, enum hd_causal_node sort,
                                    uint32_t number) {
    return graph->first[sort] + number;
}
/* Whether the step writes a variable, and whether it reads one. */
static inline bool hd_step_writes(const struct hd_source_step *step) {
    return step->kind == HD_STEP_ACCESS && (step->mode & HD_ACCESS_WRITE) != 0;
}
static inline bool hd_step_reads(const struct hd_source_step *step) {
    return step->kind == HD_STEP_ACCESS && (step->mode & HD_ACCESS_READ) != 0;
}

#endif
