/* The witness order graph of the paper: a closure with the witness order edges and what they
 * induce. The closure is not computed anew: the few edges are kept beside it, and paths are put
 * together of its clocks and of them. */
#ifndef HEDDLE_METHODS_NONDET_WITNESS_H
#define HEDDLE_METHODS_NONDET_WITNESS_H

#include "base/vector.h"
#include "methods/nondet_graph.h"

struct hd_witness_graph {
    const struct hd_graph *graph;
    const struct hd_closed *closed;
    /* per thread: events from this one on do not occur; NULL: all occur. What comes after one that
     * does not occur does not either. A section whose release does not occur stays open. */
    const uint32_t *cut;
    HD_VECTOR(struct hd_link) link;
    HD_VECTOR(uint32_t)
    reached; /* per link and thread: the first position its end reaches, HD_NONE */
    HD_VECTOR(struct hd_link) todo;
    HD_VECTOR(uint32_t) held, open; /* scratch: sections open at an event */
    uint32_t *past, *future;        /* scratch, per thread */
};

void hd_witness_graph_new(const struct hd_graph *graph, struct hd_witness_graph *witness);
void hd_witness_graph_free(struct hd_witness_graph *witness);
/* Begins with a closure and no edges. */
void hd_witness_graph_reset(struct hd_witness_graph *witness, const struct hd_closed *closed,
                            const uint32_t *cut);
/* Adds an edge and all it induces. False: there is a cycle. */
bool hd_witness_graph_add(struct hd_witness_graph *witness, uint32_t from, uint32_t to);
/* Orders the sections that the cut leaves open after all others of their locks. False: a cycle. */
bool hd_witness_graph_close(struct hd_witness_graph *witness);
/* Goes back to so many edges. */
void hd_witness_graph_undo(struct hd_witness_graph *witness, uint32_t links);

/* Sections of a thread that are open when the event at a position runs, itself an acquire or
 * release included, into `held`. */
void hd_sections_at(const struct hd_graph *graph, uint32_t thread, uint32_t position, void *held);

/* Does a section's release occur? */
static inline bool hd_is_closed(const struct hd_graph *graph, const uint32_t *cut,
                                uint32_t section) {
    uint32_t release = hd_release_position(graph, section);
    return release != HD_NONE &&
           (cut == NULL || release < cut[graph->model->section[section].thread]);
}

#endif
