/* The second half of the paper's method: which pairs of sections without an order can matter for a
 * witness (S_choice, from the lock abstraction graph), and whether some way to order them all
 * closes no cycle (choice graphs). */
#ifndef HEDDLE_METHODS_NONDET_CHOICE_H
#define HEDDLE_METHODS_NONDET_CHOICE_H

#include "engine/engine.h"
#include "methods/nondet_witness.h"

/* What a place reaches in the lock abstraction graph, or what reaches it: a position per thread. In
 * that graph a section, with those that overlap it, is one vertex, and a pair of sections without
 * an order is an edge in both directions. */
struct hd_abstract {
    const struct hd_graph *graph;
    HD_VECTOR(uint32_t) held; /* scratch */
};
void hd_abstract_free(struct hd_abstract *abstract);
/* From a step on: per thread the first position that is reached, HD_NONE. */
void hd_abstract_forward(struct hd_abstract *abstract, const struct hd_closed *closed,
                         const uint32_t *cut, uint32_t step, uint32_t *from);
/* Up to a step: per thread how many events reach it. */
void hd_abstract_backward(struct hd_abstract *abstract, const struct hd_closed *closed,
                          const uint32_t *cut, uint32_t step, uint32_t *upto);

struct hd_pair_choice {
    uint32_t first, second; /* sections, by acquire in the trace */
};

struct hd_chooser {
    struct hd_abstract abstract;
    uint32_t *from, *upto;                 /* scratch, per thread */
    HD_VECTOR(struct hd_pair_choice) pair; /* S_choice */
    HD_VECTOR(uint32_t) node_of;           /* per section: its node, HD_NONE */
    HD_VECTOR(uint32_t) node;              /* sections that have one */
    HD_VECTOR(uint64_t) reach;             /* a bit matrix per decision, one after another */
    HD_VECTOR(uint32_t) decided;           /* pairs at which there was a choice */
};
void hd_chooser_new(const struct hd_graph *graph, struct hd_chooser *chooser);
void hd_chooser_free(struct hd_chooser *chooser);

/* S_choice of a witness with these order edges into `pair`, in the closure of its witness order
 * graph. */
void hd_choose_pairs(struct hd_chooser *chooser, const struct hd_closed *closed,
                     const uint32_t *cut, const struct hd_link *edge, uint32_t edges);
/* Is there a choice graph without a cycle? Adds the graphs it looked at. UNDECIDED: out of budget.
 */
enum hd_verdict hd_choose(struct hd_chooser *chooser, const struct hd_closed *closed,
                          struct hd_budget budget, uint64_t *explored);

#endif
