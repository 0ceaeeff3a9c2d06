/* The paper's model: every witness by its graphs. One closure serves all witnesses of a read; a
 * cycle of two edges shows in its clocks; the others are looked for by adding the witness order
 * edges and what they induce; only where sections without an order lie between the events of a
 * witness are choice graphs made.
 *
 * Where the paper is silent: an event does not occur if G', without the couple at hand, has it
 * after a write that does not occur; a section whose release does not occur, or that the trace
 * never closes, comes after all others of its lock; "all paths" of the lock abstraction graph are
 * walks. */
#include "methods/nondet_paper.h"

#include "base/alloc.h"
#include "base/workers.h"
#include "methods/nondet_choice.h"

#include <math.h>
#include <string.h>

struct shared {
    struct hd_predict *predict;
    struct hd_nondet *nondet;
    const struct hd_couples *couples;
    struct hd_graph graph;
    struct hd_closed all;
};

/* What is worked out for a read when it is first needed. */
enum ready { READY_FORWARD = 1, READY_BACK = 2, READY_CUT = 4 };

struct worker {
    const struct shared *shared;
    struct hd_closed own, full;     /* room */
    const struct hd_closed *closed; /* of the couple at hand */
    struct hd_witness_graph witness;
    struct hd_chooser chooser;
    uint32_t *from_read, *from_write; /* what they reach in the lock abstraction graph */
    uint32_t *to_write;               /* what reaches the write there */
    uint32_t *cut;                    /* what does not occur without the write */
    uint32_t cut_links;               /* edges that the cut brings */
    bool cut_cyclic;
    unsigned ready;
    uint32_t read, seen; /* steps; HD_NONE: a final read, the initial value */
    struct hd_nondet_stats stats;
    HD_VECTOR(struct hd_triplet) found;
    struct hd_challengers challengers;
};

/* ---- one witness -------------------------------------------------------------------------------
 */

static bool is_in(const struct worker *worker, uint32_t step, const uint32_t *from) {
    const struct hd_view *view = worker->shared->graph.view;
    return view->position[step] >= from[view->thread[step]];
}

static void prepare(struct worker *worker, enum ready what) {
    const struct hd_graph *graph = &worker->shared->graph;
    const struct hd_view *view = graph->view;
    struct hd_abstract *abstract = &worker->chooser.abstract;
    if ((worker->ready & what) != 0) return;
    worker->ready |= what;
    if (what == READY_FORWARD) {
        if (worker->read != HD_NONE)
            hd_abstract_forward(abstract, worker->closed, NULL, worker->read, worker->from_read);
        if (worker->seen != HD_NONE)
            hd_abstract_forward(abstract, worker->closed, NULL, worker->seen, worker->from_write);
    } else if (what == READY_BACK) {
        hd_abstract_backward(abstract, worker->closed, NULL, worker->seen, worker->to_write);
    } else {
        for (uint32_t t = 0; t < graph->threads; t++)
            worker->cut[t] = hd_reached(graph, worker->closed, view->thread[worker->seen],
                                        view->position[worker->seen], t);
        worker->cut_cyclic = is_in(worker, worker->read, worker->cut);
    }
}

/* Can there be choice edges between the events of this witness at all? In the closure without its
 * edges more pairs have no order, so what is not reached there is not reached with them. */
static bool may_have_choices(struct worker *worker, enum hd_paper_witness order, uint32_t other) {
    const struct hd_view *view = worker->shared->graph.view;
    bool final = worker->read == HD_NONE;
    prepare(worker, READY_FORWARD);
    switch (order) {
    case HD_WITNESS_BEFORE:
        return is_in(worker, worker->read, worker->from_write) ||
               (other != HD_NONE && (is_in(worker, other, worker->from_read) ||
                                     is_in(worker, other, worker->from_write)));
    case HD_WITNESS_AFTER:
        if (!final && is_in(worker, other, worker->from_read)) return true;
        if (worker->seen == HD_NONE) return false;
        if (!final && is_in(worker, worker->seen, worker->from_read)) return true;
        prepare(worker, READY_BACK);
        return view->position[other] < worker->to_write[view->thread[other]];
    default:
        return other != HD_NONE && is_in(worker, other, worker->from_read);
    }
}

/* The order edges; -1: a cycle by themselves, or with what is before everything. */
static int order_edges(const struct worker *worker, enum hd_paper_witness order, uint32_t other,
                       struct hd_link edge[2]) {
    uint32_t read = worker->read, seen = worker->seen;
    int edges = 0;
    if (order == HD_WITNESS_AFTER) {
        if (other == HD_NONE) return -1;
        if (seen != HD_NONE) edge[edges++] = (struct hd_link){seen, other};
        if (read != HD_NONE) edge[edges++] = (struct hd_link){other, read};
        return edges;
    }
    if (seen == HD_NONE || read == HD_NONE) return -1; /* it always is, and before the read */
    if (other != HD_NONE) edge[edges++] = (struct hd_link){other, read};
    if (order == HD_WITNESS_BEFORE) edge[edges++] = (struct hd_link){read, seen};
    return edges;
}

/* Cycles that the closure's clocks show. */
static bool plainly_cyclic(struct worker *worker, enum hd_paper_witness order, uint32_t other,
                           const struct hd_link *edge, int edges) {
    const struct hd_graph *graph = &worker->shared->graph;
    for (int i = 0; i < edges; i++)
        if (hd_path(graph, worker->closed, edge[i].to, edge[i].from)) return true;
    if (edges == 2 && hd_path(graph, worker->closed, edge[1].to, edge[0].from)) return true;
    if (order != HD_WITNESS_WITHOUT) return false;
    prepare(worker, READY_CUT);
    return worker->cut_cyclic || (other != HD_NONE && is_in(worker, other, worker->cut));
}

/* The witness order graph. False: it has a cycle. */
static bool add_order(struct worker *worker, enum hd_paper_witness order,
                      const struct hd_link *edge, int edges) {
    bool cuts = order == HD_WITNESS_WITHOUT;
    hd_witness_graph_reset(&worker->witness, worker->closed, cuts ? worker->cut : NULL);
    if (cuts && !hd_witness_graph_close(&worker->witness)) {
        worker->cut_cyclic = true;
        return false;
    }
    for (int i = 0; i < edges; i++)
        if (!hd_witness_graph_add(&worker->witness, edge[i].from, edge[i].to)) return false;
    return true;
}

static enum hd_verdict decide_order(struct worker *worker, enum hd_paper_witness order,
                                    uint32_t other) {
    const struct shared *shared = worker->shared;
    struct hd_nondet_stats *stats = &worker->stats;
    struct hd_link edge[2];
    int edges = order_edges(worker, order, other, edge);
    if (edges < 0 || plainly_cyclic(worker, order, other, edge, edges) ||
        !add_order(worker, order, edge, edges)) {
        stats->cyclic++;
        stats->infeasible++;
        return HD_INFEASIBLE;
    }
    struct hd_chooser *chooser = &worker->chooser;
    chooser->pair.size = 0;
    if (edges > 0 && may_have_choices(worker, order, other)) {
        const uint32_t *cut = worker->witness.cut;
        hd_closed_with(&shared->graph, worker->closed, worker->witness.link.data,
                       (uint32_t)worker->witness.link.size, &worker->full);
        hd_choose_pairs(chooser, &worker->full, cut, edge, (uint32_t)edges);
    }
    if (chooser->pair.size == 0) {
        stats->acyclic++;
        stats->feasible++;
        return HD_FEASIBLE;
    }
    stats->chosen++;
    stats->possible_graphs += exp2((double)chooser->pair.size);
    enum hd_verdict verdict =
        hd_choose(chooser, &worker->full, shared->predict->options.budget, &stats->explored_graphs);
    stats->feasible += verdict == HD_FEASIBLE;
    stats->infeasible += verdict == HD_INFEASIBLE;
    stats->undecided += verdict == HD_UNDECIDED;
    return verdict;
}

/* ---- one triplet -------------------------------------------------------------------------------
 */

static uint32_t step_of(const struct shared *shared, uint32_t event) {
    if (event == HD_NONE) return HD_NONE;
    const struct hd_model *model = shared->graph.model;
    return hd_step_at(shared->graph.view, model->thread[event], hd_model_position(model, event));
}

/* Accesses of locations that only one thread touches are none. */
static bool is_step(const struct shared *shared, uint32_t event) {
    if (event == HD_NONE) return true;
    uint32_t step = step_of(shared, event);
    return step < shared->graph.steps && shared->graph.view->event[step] == event;
}

static void decide_triplet(struct worker *worker, uint32_t number, uint32_t seen, uint32_t other) {
    struct hd_triplet triplet = {
        .read = number, .seen = seen, .other = other, .verdict = HD_INFEASIBLE};
    uint32_t step = step_of(worker->shared, other);
    bool late = hd_budget_is_over(&worker->shared->predict->options.budget);
    worker->stats.triplets++;
    for (enum hd_paper_witness order = 0; order < HD_WITNESS_COUNT; order++) {
        enum hd_verdict verdict = late ? HD_UNDECIDED : decide_order(worker, order, step);
        worker->stats.undecided += late;
        if (verdict == HD_FEASIBLE) {
            triplet.orders |= (uint8_t)(1u << order);
            triplet.verdict = HD_FEASIBLE;
        } else if (verdict == HD_UNDECIDED && triplet.verdict == HD_INFEASIBLE) {
            triplet.verdict = HD_UNDECIDED;
        }
    }
    worker->stats.verdict[triplet.verdict]++;
    if (triplet.verdict != HD_INFEASIBLE) hd_vector_push(&worker->found, triplet);
}

/* ---- one read ----------------------------------------------------------------------------------
 */

/* Turns to a couple. */
static void begin_couple(struct worker *worker, uint32_t read, uint32_t seen) {
    const struct shared *shared = worker->shared;
    worker->read = step_of(shared, read);
    worker->seen = step_of(shared, seen);
    worker->ready = 0;
    worker->closed = &shared->all;
    if (worker->read != HD_NONE && worker->seen != HD_NONE &&
        hd_closed_without(&shared->graph, &shared->all, worker->seen, worker->read, &worker->own))
        worker->closed = &worker->own;
}

static void decide_narrow(struct worker *worker, uint32_t number) {
    const struct shared *shared = worker->shared;
    const struct hd_couples *couples = shared->couples;
    const struct hd_read *read = &couples->read.data[number];
    begin_couple(worker, read->event, read->seen);
    for (uint32_t c = couples->chain_first[read->location];
         c < couples->chain_first[read->location + 1]; c++) {
        const struct hd_chain *chain = &couples->chain.data[c];
        for (uint32_t i = 0; i < chain->count; i++) {
            uint32_t other = couples->write[chain->first + i];
            if (other == read->seen || other == read->event) continue;
            decide_triplet(worker, number, read->seen, other);
        }
    }
    if (read->seen != HD_NONE) decide_triplet(worker, number, read->seen, HD_NONE);
}

static void decide_wide(struct worker *worker, uint32_t number) {
    const struct hd_couples *couples = worker->shared->couples;
    const struct hd_read *read = &couples->read.data[number];
    hd_couples_challengers(couples, read, &worker->challengers);
    for (size_t i = 0; i < worker->challengers.list.size; i++) {
        const struct hd_challenger *challenger = &worker->challengers.list.data[i];
        uint32_t other = challenger->write, seen = challenger->seen;
        if (!is_step(worker->shared, seen) || !is_step(worker->shared, other)) {
            /* all this is of the reader's own thread: program order decides */
            worker->stats.triplets++;
            worker->stats.cyclic += HD_WITNESS_COUNT;
            worker->stats.infeasible += HD_WITNESS_COUNT;
            worker->stats.verdict[HD_INFEASIBLE]++;
            continue;
        }
        if (!hd_budget_is_over(&worker->shared->predict->options.budget))
            begin_couple(worker, read->event, seen);
        decide_triplet(worker, number, seen, other);
    }
}

/* ---- all reads ---------------------------------------------------------------------------------
 */

static void free_worker(struct worker *worker) {
    hd_closed_free(&worker->own);
    hd_closed_free(&worker->full);
    hd_witness_graph_free(&worker->witness);
    hd_chooser_free(&worker->chooser);
    free(worker->from_read);
    free(worker->from_write);
    free(worker->to_write);
    free(worker->cut);
    hd_vector_free(&worker->found);
    hd_challengers_free(&worker->challengers);
    free(worker);
}

static void *begin(void *context) {
    const struct shared *shared = context;
    struct worker *worker = hd_zalloc(1, sizeof *worker);
    uint32_t threads = shared->graph.threads;
    worker->shared = shared;
    worker->from_read = hd_alloc(threads, sizeof *worker->from_read);
    worker->from_write = hd_alloc(threads, sizeof *worker->from_write);
    worker->to_write = hd_alloc(threads, sizeof *worker->to_write);
    worker->cut = hd_alloc(threads, sizeof *worker->cut);
    hd_closed_new(&shared->graph, &worker->own);
    hd_closed_new(&shared->graph, &worker->full);
    hd_witness_graph_new(&shared->graph, &worker->witness);
    hd_chooser_new(&shared->graph, &worker->chooser);
    return worker;
}

static bool work(void *context, void *own, uint32_t item, struct hd_error *error) {
    (void)error;
    const struct shared *shared = context;
    struct worker *worker = own;
    if (hd_nondet_is_late(shared->predict, &worker->stats)) return true;
    if (shared->couples->read.data[item].wide)
        decide_wide(own, item);
    else
        decide_narrow(own, item);
    return true;
}

static void end(void *context, void *own) {
    struct shared *shared = context;
    struct worker *worker = own;
    struct hd_nondet *nondet = shared->nondet;
    hd_nondet_stats_add(&nondet->stats, &worker->stats);
    hd_nondet_take(nondet, worker->found.data, worker->found.size);
    free_worker(worker);
}

static bool decide(struct hd_predict *predict, struct hd_nondet *nondet, struct hd_error *error) {
    struct shared shared = {.predict = predict, .nondet = nondet, .couples = &nondet->couples};
    uint32_t first, second;
    if (hd_sections_overlap(predict->model, &first, &second))
        return hd_fail(
            error, HD_ERR_UNSUPPORTED,
            "the paper's model does not fit this trace: the sections of a lock that begin at "
            "events %llu and %llu overlap; --model sound takes it",
            (unsigned long long)hd_trace_number(predict->model->trace, first),
            (unsigned long long)hd_trace_number(predict->model->trace, second));
    hd_graph_build(&shared.graph, predict->model, nondet->base);
    hd_closed_new(&shared.graph, &shared.all);
    hd_closed_all(&shared.graph, &shared.all);
    struct hd_workers workers = {.items = (uint32_t)nondet->couples.read.size,
                                 .jobs = predict->options.jobs,
                                 .what = "deciding",
                                 .progress = predict->options.progress,
                                 .context = &shared,
                                 .begin = begin,
                                 .work = work,
                                 .end = end};
    unsigned jobs = 0;
    bool done = hd_workers_run(&workers, &jobs, error);
    if (jobs > predict->stats.asked.jobs) predict->stats.asked.jobs = jobs;
    hd_closed_free(&shared.all);
    hd_graph_free(&shared.graph);
    return done;
}

const struct hd_nondet_model hd_nondet_paper = {.name = "paper", .decide = decide};
