/* The causal graph of the whole program: see graph.h. */
#include "lint/graph.h"

#include "base/alloc.h"
#include "lint/graph_function.h"

#include <stdlib.h>
#include <string.h>

void hd_causal_add(struct hd_causal_builder *builder, uint32_t from, uint32_t to, uint8_t kind) {
    struct hd_causal_edge edge = {from, to, kind};
    hd_vector_push(&builder->graph->edge, edge);
}

uint32_t hd_causal_other(struct hd_causal_builder *builder, uint64_t mask, uint32_t step) {
    hd_vector_push(&builder->other_function, builder->function);
    hd_vector_push(&builder->other_mask, mask);
    hd_vector_push(&builder->other_step, step);
    return builder->graph->first[HD_NODE_OF_OTHER] + (uint32_t)builder->other_function.size - 1;
}

static void number_nodes(const struct hd_source *source, struct hd_causal_graph *graph) {
    size_t count[HD_NODE_SORTS] = {source->step.size,     source->argument.size,
                                   source->argument.size, source->argument.size,
                                   source->variable.size, source->variable.size,
                                   source->variable.size, source->function.size,
                                   source->function.size, 0};
    uint32_t next = 0;
    for (unsigned sort = 0; sort < HD_NODE_SORTS; sort++) {
        graph->first[sort] = next;
        next += (uint32_t)count[sort];
    }
    graph->nodes = next;
}

static void add_function(struct hd_causal_builder *builder, uint32_t function) {
    struct hd_cfg cfg;
    hd_cfg_build(builder->source, function, &cfg);
    uint64_t *at_begin = hd_zalloc(cfg.blocks, sizeof *at_begin);
    hd_blocks_find(builder->source, &cfg, builder->blocks, at_begin);
    builder->cfg = &cfg;
    builder->function = function;
    builder->execution = hd_alloc(cfg.blocks, sizeof *builder->execution);
    for (uint32_t b = 0; b < cfg.blocks; b++)
        builder->execution[b] = hd_causal_other(
            builder, at_begin[b],
            cfg.block[b].steps.count > 0 ? cfg.block[b].steps.first : HD_SOURCE_NONE);
    hd_causal_data(builder);
    hd_causal_control(builder);
    free(builder->execution);
    free(at_begin);
    hd_cfg_free(&cfg);
}

/* ---- where nodes are ------------------------------------------------------------------------- */

static void place_step(struct hd_causal_builder *builder, uint32_t function, uint32_t step) {
    struct hd_causal_graph *graph = builder->graph;
    uint64_t mask = builder->blocks->mask[step];
    graph->function[step] = function;
    graph->mask[step] = mask;
    struct hd_source_range arguments = builder->source->step.data[step].arguments;
    if (builder->source->step.data[step].kind != HD_STEP_CALL) return;
    for (uint32_t a = arguments.first; a < arguments.first + arguments.count; a++) {
        graph->call[a] = step;
        for (unsigned sort = HD_NODE_OF_ARGUMENT; sort <= HD_NODE_OF_RETURNED; sort++) {
            graph->function[graph->first[sort] + a] = function;
            graph->mask[graph->first[sort] + a] = mask;
        }
    }
}

static void place_nodes(struct hd_causal_builder *builder) {
    const struct hd_source *source = builder->source;
    struct hd_causal_graph *graph = builder->graph;
    graph->nodes += (uint32_t)builder->other_function.size;
    graph->function = hd_alloc(graph->nodes, sizeof *graph->function);
    graph->mask = hd_alloc(graph->nodes, sizeof *graph->mask);
    graph->call = hd_zalloc(source->argument.size, sizeof *graph->call);
    memset(graph->function, 0xff, graph->nodes * sizeof *graph->function);
    memset(graph->mask, 0xff, graph->nodes * sizeof *graph->mask);
    for (uint32_t f = 0; f < source->function.size; f++) {
        const struct hd_source_function *function = &source->function.data[f];
        graph->function[graph->first[HD_NODE_OF_RESULT] + f] = f;
        graph->function[graph->first[HD_NODE_OF_ENTRY] + f] = f;
        for (uint32_t i = 0; i < function->variables.count; i++)
            for (unsigned sort = HD_NODE_OF_PARAMETER; sort <= HD_NODE_OF_OUT; sort++)
                graph->function[graph->first[sort] +
                                source->link.data[function->variables.first + i]] = f;
        for (uint32_t i = 0; i < function->steps.count; i++)
            place_step(builder, f, function->steps.first + i);
    }
    uint32_t first = graph->first[HD_NODE_OF_OTHER];
    size_t others = builder->other_function.size;
    memcpy(graph->function + first, builder->other_function.data, others * sizeof *graph->function);
    memcpy(graph->mask + first, builder->other_mask.data, others * sizeof *graph->mask);
    graph->step = builder->other_step.data; /* handed over */
}

/* ---- sorted edges ---------------------------------------------------------------------------- */

static int by_ends(const void *a, const void *b) {
    const struct hd_causal_edge *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    return (int)x->kind - (int)y->kind;
}

static void sort_edges(struct hd_causal_graph *graph) {
    struct hd_causal_edge *edge = graph->edge.data;
    size_t kept = 0;
    if (graph->edge.size > 0) qsort(edge, graph->edge.size, sizeof *edge, by_ends);
    for (size_t i = 0; i < graph->edge.size; i++)
        if (kept == 0 || by_ends(&edge[kept - 1], &edge[i]) != 0) edge[kept++] = edge[i];
    graph->edge.size = kept;
    free(graph->out);
    free(graph->in);
    free(graph->into);
    graph->out = hd_zalloc((size_t)graph->nodes + 2, sizeof *graph->out);
    graph->in = hd_zalloc((size_t)graph->nodes + 2, sizeof *graph->in);
    graph->into = hd_alloc(kept, sizeof *graph->into);
    for (size_t i = 0; i < kept; i++) {
        graph->out[edge[i].from + 1]++;
        graph->in[edge[i].to + 1]++;
    }
    for (uint32_t n = 0; n < graph->nodes; n++) {
        graph->out[n + 1] += graph->out[n];
        graph->in[n + 1] += graph->in[n];
    }
    uint32_t *next = hd_alloc((size_t)graph->nodes + 1, sizeof *next);
    memcpy(next, graph->in, ((size_t)graph->nodes + 1) * sizeof *next);
    for (size_t i = 0; i < kept; i++) graph->into[next[edge[i].to]++] = (uint32_t)i;
    free(next);
}

/* ---- summaries ------------------------------------------------------------------------------- */

/* A fixed point over all functions: from which parameters (bits) a node has its value. Two bits for
 * a parameter, its value and what is behind it. When a result or an out-parameter has new ones, all
 * calls of the function get summary edges from these arguments. */
#define SUMMARY_PARAMETERS 32u

struct summary {
    struct hd_causal_builder *builder;
    uint64_t *bits;
    HD_VECTOR(uint32_t) work;
    HD_VECTOR(struct hd_causal_edge) edge; /* the summary edges */
    struct hd_map head;                    /* node: its last summary edge, plus one */
    HD_VECTOR(uint32_t) next;
    uint32_t *first_call; /* by function, plus one */
    HD_VECTOR(uint32_t) call, next_call;
};

static void gain(struct summary *summary, uint32_t node, uint64_t bits) {
    if ((bits & ~summary->bits[node]) == 0) return;
    summary->bits[node] |= bits;
    hd_vector_push(&summary->work, node);
}

static void add_summary(struct summary *summary, uint32_t from, uint32_t to) {
    struct hd_causal_edge edge = {from, to, HD_CAUSAL_DATA};
    uint32_t *slot = hd_map_slot(&summary->head, from, 0);
    hd_vector_push(&summary->next, *slot);
    hd_vector_push(&summary->edge, edge);
    *slot = (uint32_t)summary->edge.size;
    gain(summary, to, summary->bits[from]);
}

/* The node of a call that a result or an out-parameter of the callee goes to; NONE. */
static uint32_t goes_to(const struct summary *summary, uint32_t node, uint32_t call) {
    const struct hd_causal_graph *graph = summary->builder->graph;
    const struct hd_source *source = summary->builder->source;
    if (hd_causal_sort(graph, node) == HD_NODE_OF_RESULT) return call;
    const struct hd_source_function *callee = &source->function.data[graph->function[node]];
    uint32_t variable = node - graph->first[HD_NODE_OF_OUT];
    struct hd_source_range arguments = source->step.data[call].arguments;
    for (uint32_t i = 0; i < callee->parameters && i < arguments.count; i++)
        if (source->link.data[callee->variables.first + i] == variable)
            return hd_causal_at(graph, HD_NODE_OF_RETURNED, arguments.first + i);
    return HD_SOURCE_NONE;
}

static void summarise(struct summary *summary, uint32_t node, uint64_t bits, uint64_t before) {
    const struct hd_causal_graph *graph = summary->builder->graph;
    const struct hd_source *source = summary->builder->source;
    for (uint32_t c = summary->first_call[graph->function[node]]; c > 0;
         c = summary->next_call.data[c - 1]) {
        uint32_t call = summary->call.data[c - 1], to = goes_to(summary, node, call);
        struct hd_source_range arguments = source->step.data[call].arguments;
        if (to == HD_SOURCE_NONE) continue;
        for (uint64_t left = bits & ~before; left != 0; left &= left - 1) {
            unsigned bit = (unsigned)__builtin_ctzll(left);
            if (bit / 2 >= arguments.count) continue;
            add_summary(summary,
                        hd_causal_at(graph, bit % 2 == 0 ? HD_NODE_OF_ARGUMENT : HD_NODE_OF_PASSED,
                                     arguments.first + bit / 2),
                        to);
        }
    }
}

static void list_calls(struct summary *summary) {
    const struct hd_calls *calls = summary->builder->calls;
    const struct hd_source *source = summary->builder->source;
    summary->first_call = hd_zalloc(source->function.size, sizeof *summary->first_call);
    for (uint32_t i = 0; i < source->step.size; i++) {
        if (!hd_calls_known(calls, i)) continue;
        for (uint32_t k = 0; k < calls->count[i]; k++) {
            uint32_t *first = &summary->first_call[hd_callees(calls, i)[k]];
            hd_vector_push(&summary->call, i);
            hd_vector_push(&summary->next_call, *first);
            *first = (uint32_t)summary->call.size;
        }
    }
}

static void start_summaries(struct summary *summary) {
    const struct hd_source *source = summary->builder->source;
    const struct hd_causal_graph *graph = summary->builder->graph;
    for (uint32_t f = 0; f < source->function.size; f++) {
        const struct hd_source_function *function = &source->function.data[f];
        for (uint32_t i = 0; i < function->parameters && i < SUMMARY_PARAMETERS; i++) {
            uint32_t variable = source->link.data[function->variables.first + i];
            gain(summary, hd_causal_at(graph, HD_NODE_OF_PARAMETER, variable),
                 (uint64_t)1 << 2 * i);
            gain(summary, hd_causal_at(graph, HD_NODE_OF_RECEIVED, variable), (uint64_t)2 << 2 * i);
        }
    }
}

static void add_summaries(struct hd_causal_builder *builder) {
    struct hd_causal_graph *graph = builder->graph;
    struct summary summary = {.builder = builder};
    summary.bits = hd_zalloc(graph->nodes, sizeof *summary.bits);
    uint64_t *done = hd_zalloc(graph->nodes, sizeof *done); /* bits that were summarised */
    list_calls(&summary);
    start_summaries(&summary);
    while (summary.work.size > 0) {
        uint32_t node = summary.work.data[--summary.work.size];
        uint64_t bits = summary.bits[node];
        enum hd_causal_node sort = hd_causal_sort(graph, node);
        for (uint32_t e = graph->out[node]; e < graph->out[node + 1]; e++)
            if (graph->edge.data[e].kind <= HD_CAUSAL_CONTROL)
                gain(&summary, graph->edge.data[e].to, bits);
        for (uint32_t e = hd_map_get(&summary.head, node, 0); e > 0; e = summary.next.data[e - 1])
            gain(&summary, summary.edge.data[e - 1].to, bits);
        if (sort == HD_NODE_OF_RESULT || sort == HD_NODE_OF_OUT) {
            uint64_t before = done[node];
            done[node] |= bits;
            summarise(&summary, node, bits, before);
        }
    }
    for (size_t i = 0; i < summary.edge.size; i++)
        hd_vector_push(&graph->edge, summary.edge.data[i]);
    hd_vector_free(&summary.work);
    hd_vector_free(&summary.edge);
    hd_vector_free(&summary.next);
    hd_vector_free(&summary.call);
    hd_vector_free(&summary.next_call);
    hd_map_free(&summary.head);
    free(summary.first_call);
    free(summary.bits);
    free(done);
}

void hd_causal_build(const struct hd_source *source, const struct hd_calls *calls,
                     const struct hd_shared *shared, bool reread, struct hd_blocks *blocks,
                     struct hd_causal_graph *graph) {
    *graph = (struct hd_causal_graph){.source = source};
    number_nodes(source, graph);
    struct hd_causal_builder builder = {.source = source,
                                        .calls = calls,
                                        .shared = shared,
                                        .reread = reread,
                                        .blocks = blocks,
                                        .graph = graph};
    for (uint32_t f = 0; f < source->function.size; f++)
        if ((source->function.data[f].flags & HD_FUNCTION_BODY) != 0) add_function(&builder, f);
    place_nodes(&builder);
    sort_edges(graph);
    add_summaries(&builder);
    sort_edges(graph);
    hd_vector_free(&builder.other_function);
    hd_vector_free(&builder.other_mask);
}

void hd_causal_free(struct hd_causal_graph *graph) {
    free(graph->function);
    free(graph->mask);
    free(graph->step);
    free(graph->call);
    hd_vector_free(&graph->edge);
    free(graph->out);
    free(graph->in);
    free(graph->into);
}
