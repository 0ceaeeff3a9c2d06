/* The paper's graphs, as clocks. G: program order, must-order, failed tries; to it come read
 * couples and induced edges: if the acquire of one section of a lock comes before the release of
 * another, then its release comes before the other's acquire. All of these point forward in the
 * trace, so one pass in trace order gives every event the clock of what comes before it; passes are
 * repeated as long as they induce something new.
 *
 * The events of a graph are the steps of the engine's full view: the others have no edges but those
 * of program order. A section that is never released comes after all others of its lock. */
#ifndef HEDDLE_METHODS_NONDET_GRAPH_H
#define HEDDLE_METHODS_NONDET_GRAPH_H

#include "engine/engine_base.h"

struct hd_graph {
    const struct hd_model *model;
    const struct hd_engine_base *base;
    const struct hd_view *view;
    uint32_t threads, steps;
    uint32_t *order, *rank; /* steps in trace order; per step its place there */
    uint32_t *open_from;    /* per place: where sections that are open there begin, and those open
                               there, and so on */
    uint32_t *pred_first, *pred; /* per step: steps with an edge to it */
    /* per step: a section it ends, HD_NONE; per section: another that ends with it (in a repaired
     * trace), HD_NONE */
    uint32_t *release_of, *next_released;
    uint32_t *use_of;       /* per section: its entry of base->use */
    uint32_t *index_of;     /* per section: its place among the sections of that */
    uint32_t *before_first; /* per section: see hd_closed.before */
    uint32_t befores;
    uint32_t *thread_use_first, *thread_use; /* threads + 1: entries of base->use, contended */
    uint32_t *use_lock;                      /* per entry of base->use */
    uint32_t *longest; /* as base->use_section: which of the sections of the use so far ends last */
};
/* A predecessor that is one because of a read couple, and for no other reason. */
#define HD_PRED_COUPLE 0x80000000u

/* The closure of a graph. */
struct hd_closed {
    uint32_t *clock; /* steps x threads: events of each thread up to and including the step that
                        come before it, itself counted */
    /* per section and use of its lock: how many sections of that use come before it */
    uint32_t *before;
};

/* Do two sections of one lock that exclude each other overlap in the trace itself? That can be so
 * in a trace that had to be repaired; it has no such graph. Their acquires, if so. */
bool hd_sections_overlap(const struct hd_model *model, uint32_t *first, uint32_t *second);

void hd_graph_build(struct hd_graph *graph, const struct hd_model *model,
                    const struct hd_engine_base *base);
void hd_graph_free(struct hd_graph *graph);

void hd_closed_new(const struct hd_graph *graph, struct hd_closed *closed);
void hd_closed_free(struct hd_closed *closed);
/* G with all read couples and what they induce. */
void hd_closed_all(const struct hd_graph *graph, struct hd_closed *closed);
/* The same without the couple (write, read), both steps, given the closure with it. False: nothing
 * would change, and `closed` is not touched. */
bool hd_closed_without(const struct hd_graph *graph, const struct hd_closed *all, uint32_t write,
                       uint32_t read, struct hd_closed *closed);

struct hd_link {
    uint32_t from, to; /* steps */
};
/* A closure with further edges, which may point anywhere but close no cycle. */
void hd_closed_with(const struct hd_graph *graph, const struct hd_closed *base,
                    const struct hd_link *link, uint32_t links, struct hd_closed *closed);

static inline const uint32_t *hd_clock_of(const struct hd_graph *graph,
                                          const struct hd_closed *closed, uint32_t step) {
    return closed->clock + (size_t)step * graph->threads;
}
/* Is there a path (of any length, none included) from one step to another? */
static inline bool hd_path(const struct hd_graph *graph, const struct hd_closed *closed,
                           uint32_t from, uint32_t to) {
    return hd_clock_of(graph, closed, to)[graph->view->thread[from]] > graph->view->position[from];
}
/* The position of the first step of a thread that a position of another one reaches, HD_NONE. */
uint32_t hd_reached(const struct hd_graph *graph, const struct hd_closed *closed, uint32_t thread,
                    uint32_t position, uint32_t in);

/* Sections of a use, by number: its acquire, and its release (HD_NONE: never). */
static inline uint32_t hd_use_section(const struct hd_graph *graph, uint32_t use, uint32_t index) {
    return graph->base->use_section[graph->base->use[use].first + index];
}
static inline uint32_t hd_acquire_position(const struct hd_graph *graph, uint32_t section) {
    return graph->view->position[graph->view->section_acquire[section]];
}
static inline uint32_t hd_release_position(const struct hd_graph *graph, uint32_t section) {
    uint32_t step = graph->view->section_release[section];
    return step == HD_NONE ? HD_NONE : graph->view->position[step];
}
/* How many sections of a use begin before a position of its thread; end before it. */
uint32_t hd_sections_begun(const struct hd_graph *graph, uint32_t use, uint32_t position);
uint32_t hd_sections_ended(const struct hd_graph *graph, uint32_t use, uint32_t position);
/* Of the first `count` sections of a use, and of those from `index` on, the one that excludes a
 * section of a mode and ends last, or begins first: their numbers in the use, HD_NONE. */
uint32_t hd_last_excluding(const struct hd_graph *graph, uint32_t use, uint32_t count,
                           bool reading);
uint32_t hd_next_excluding(const struct hd_graph *graph, uint32_t use, uint32_t index,
                           bool reading);

#endif
