/* Adding edges to a closure, with what the sections make of them. */
#include "methods/nondet_witness.h"

#include "base/alloc.h"

#include <string.h>

typedef HD_VECTOR(uint32_t) section_list;

void hd_witness_graph_new(const struct hd_graph *graph, struct hd_witness_graph *witness) {
    memset(witness, 0, sizeof *witness);
    witness->graph = graph;
    witness->past = hd_alloc(graph->threads + (size_t)1, sizeof *witness->past);
    witness->future = hd_alloc(graph->threads + (size_t)1, sizeof *witness->future);
}

void hd_witness_graph_free(struct hd_witness_graph *witness) {
    free(witness->past);
    free(witness->future);
    hd_vector_free(&witness->link);
    hd_vector_free(&witness->reached);
    hd_vector_free(&witness->todo);
    hd_vector_free(&witness->held);
    hd_vector_free(&witness->open);
    witness->past = witness->future = NULL;
}

void hd_witness_graph_reset(struct hd_witness_graph *witness, const struct hd_closed *closed,
                            const uint32_t *cut) {
    witness->closed = closed;
    witness->cut = cut;
    hd_witness_graph_undo(witness, 0);
}

void hd_witness_graph_undo(struct hd_witness_graph *witness, uint32_t links) {
    witness->link.size = links;
    witness->reached.size = (size_t)links * witness->graph->threads;
    witness->todo.size = 0;
}

void hd_sections_at(const struct hd_graph *graph, uint32_t thread, uint32_t position, void *list) {
    section_list *held = list;
    const struct hd_model *model = graph->model;
    uint32_t event = model->thread_event[model->thread_start[thread] + position];
    uint32_t count = hd_model_held(model, event, held->data, (uint32_t)held->capacity);
    if (count > held->capacity) {
        held->size = 0;
        hd_vector_reserve(held, count);
        hd_model_held(model, event, held->data, count);
    }
    held->size = count;
}

/* ---- what comes before and after an edge -------------------------------------------------------
 */

static bool later(const struct hd_witness_graph *witness, uint32_t step, const uint32_t *future) {
    return witness->graph->view->position[step] >= future[witness->graph->view->thread[step]];
}
static bool earlier(const struct hd_witness_graph *witness, uint32_t step, const uint32_t *past) {
    return witness->graph->view->position[step] < past[witness->graph->view->thread[step]];
}

static void find_past(struct hd_witness_graph *witness, uint32_t step) {
    const struct hd_graph *graph = witness->graph;
    uint32_t *past = witness->past;
    memcpy(past, hd_clock_of(graph, witness->closed, step), graph->threads * sizeof *past);
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < witness->link.size; i++) {
            struct hd_link link = witness->link.data[i];
            if (!earlier(witness, link.to, past) || earlier(witness, link.from, past)) continue;
            const uint32_t *its = hd_clock_of(graph, witness->closed, link.from);
            for (uint32_t t = 0; t < graph->threads; t++)
                if (its[t] > past[t]) past[t] = its[t];
            more = true;
        }
    }
}

/* The future of a step in the closure alone. */
static void find_reached(const struct hd_witness_graph *witness, uint32_t step, uint32_t *future) {
    const struct hd_graph *graph = witness->graph;
    uint32_t thread = graph->view->thread[step], position = graph->view->position[step];
    for (uint32_t t = 0; t < graph->threads; t++) {
        future[t] = hd_reached(graph, witness->closed, thread, position, t);
        if (witness->cut != NULL && future[t] >= witness->cut[t]) future[t] = HD_NONE;
    }
}

static void find_future(struct hd_witness_graph *witness, const uint32_t *reached) {
    uint32_t threads = witness->graph->threads, *future = witness->future;
    memcpy(future, reached, threads * sizeof *future);
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < witness->link.size; i++) {
            struct hd_link link = witness->link.data[i];
            if (!later(witness, link.from, future) || later(witness, link.to, future)) continue;
            const uint32_t *its = witness->reached.data + i * threads;
            for (uint32_t t = 0; t < threads; t++)
                if (its[t] < future[t]) future[t] = its[t];
            more = true;
        }
    }
}

/* ---- what it induces ---------------------------------------------------------------------------
 */

/* The first section comes before the second one. False: it never ends. */
static bool in_order(struct hd_witness_graph *witness, uint32_t first, uint32_t second) {
    const struct hd_view *view = witness->graph->view;
    if (!hd_is_closed(witness->graph, witness->cut, first)) return false;
    struct hd_link link = {view->section_release[first], view->section_acquire[second]};
    if (!hd_path(witness->graph, witness->closed, link.from, link.to))
        hd_vector_push(&witness->todo, link);
    return true;
}

/* The first section of a use, of those that exclude one of a mode, that ends at a position or
 * later: one that is open there, or the next. HD_NONE. */
static uint32_t first_ending(struct hd_witness_graph *witness, uint32_t use, uint32_t position,
                             bool reading) {
    const struct hd_graph *graph = witness->graph;
    uint32_t found = HD_NONE;
    hd_sections_at(graph, graph->base->use[use].thread, position, &witness->open);
    for (size_t i = 0; i < witness->open.size; i++) {
        uint32_t section = witness->open.data[i];
        if (graph->use_of[section] != use) continue;
        if (reading && graph->model->section[section].read_mode) continue;
        if (found == HD_NONE || section < found) found = section; /* numbered by acquire */
    }
    if (found != HD_NONE) return found;
    uint32_t begun = hd_sections_begun(graph, use, position);
    uint32_t next = hd_next_excluding(graph, use, begun, reading);
    return next == HD_NONE ? HD_NONE : hd_use_section(graph, use, next);
}

/* A section that has begun in the past and not ended there comes before all that end in the future.
 */
static bool induce_from(struct hd_witness_graph *witness, uint32_t section) {
    const struct hd_graph *graph = witness->graph;
    const struct hd_section *mine = &graph->model->section[section];
    uint32_t first = graph->base->use_first[mine->lock];
    uint32_t end = graph->base->use_first[mine->lock + 1];
    for (uint32_t u = first; u < end; u++) {
        uint32_t thread = graph->base->use[u].thread, from = witness->future[thread];
        if (thread == mine->thread || from == HD_NONE) continue;
        uint32_t other = first_ending(witness, u, from, mine->read_mode);
        if (other == HD_NONE || !hd_is_closed(graph, witness->cut, other)) continue;
        if (!in_order(witness, section, other)) return false;
    }
    return true;
}

/* A section that ends in the future and began before it comes after all that began in the past. */
static bool induce_into(struct hd_witness_graph *witness, uint32_t section) {
    const struct hd_graph *graph = witness->graph;
    const struct hd_section *mine = &graph->model->section[section];
    if (!hd_is_closed(graph, witness->cut, section)) return true;
    uint32_t first = graph->base->use_first[mine->lock];
    uint32_t end = graph->base->use_first[mine->lock + 1];
    for (uint32_t u = first; u < end; u++) {
        uint32_t thread = graph->base->use[u].thread;
        if (thread == mine->thread) continue;
        uint32_t begun = hd_sections_begun(graph, u, witness->past[thread]);
        uint32_t last = hd_last_excluding(graph, u, begun, mine->read_mode);
        if (last != HD_NONE && !in_order(witness, hd_use_section(graph, u, last), section))
            return false;
    }
    return true;
}

static bool induce(struct hd_witness_graph *witness) {
    const struct hd_graph *graph = witness->graph;
    const struct hd_model *model = graph->model;
    for (uint32_t t = 0; t < graph->threads; t++) {
        uint32_t past = witness->past[t], future = witness->future[t];
        if (past > 0) {
            hd_sections_at(graph, t, past - 1, &witness->held);
            for (size_t i = 0; i < witness->held.size; i++) {
                uint32_t section = witness->held.data[i];
                if (graph->use_of[section] == HD_NONE) continue;
                uint32_t release = hd_release_position(graph, section);
                if (release == past - 1) continue;
                if (!induce_from(witness, section)) return false;
            }
        }
        if (future == HD_NONE) continue;
        hd_sections_at(graph, t, future, &witness->held);
        for (size_t i = 0; i < witness->held.size; i++) {
            uint32_t section = witness->held.data[i];
            if (graph->use_of[section] == HD_NONE) continue;
            if (model->section[section].acquire ==
                model->thread_event[model->thread_start[t] + future])
                continue;
            if (!induce_into(witness, section)) return false;
        }
    }
    return true;
}

/* ---- edges -------------------------------------------------------------------------------------
 */

static bool add_one(struct hd_witness_graph *witness, struct hd_link link) {
    uint32_t threads = witness->graph->threads;
    if (hd_path(witness->graph, witness->closed, link.from, link.to)) return link.from != link.to;
    for (size_t i = 0; i < witness->link.size; i++)
        if (witness->link.data[i].from == link.from && witness->link.data[i].to == link.to)
            return true;
    hd_vector_reserve(&witness->reached, threads);
    uint32_t *reached = witness->reached.data + witness->reached.size;
    find_past(witness, link.from);
    find_reached(witness, link.to, reached);
    find_future(witness, reached);
    if (later(witness, link.from, witness->future)) return false;
    if (earlier(witness, link.to, witness->past)) return false;
    hd_vector_push(&witness->link, link);
    witness->reached.size += threads;
    return induce(witness);
}

static bool add_all(struct hd_witness_graph *witness) {
    while (witness->todo.size > 0)
        if (!add_one(witness, witness->todo.data[--witness->todo.size])) return false;
    return true;
}

bool hd_witness_graph_add(struct hd_witness_graph *witness, uint32_t from, uint32_t to) {
    witness->todo.size = 0;
    return add_one(witness, (struct hd_link){from, to}) && add_all(witness);
}

bool hd_witness_graph_close(struct hd_witness_graph *witness) {
    const struct hd_graph *graph = witness->graph;
    const struct hd_engine_base *base = graph->base;
    witness->todo.size = 0;
    for (uint32_t t = 0; t < graph->threads; t++) {
        if (witness->cut[t] == 0 || witness->cut[t] == HD_NONE) continue;
        hd_sections_at(graph, t, witness->cut[t] - 1, &witness->held);
        for (size_t i = 0; i < witness->held.size; i++) {
            uint32_t section = witness->held.data[i];
            if (graph->use_of[section] == HD_NONE) continue;
            if (hd_is_closed(graph, witness->cut, section)) continue;
            const struct hd_section *mine = &graph->model->section[section];
            for (uint32_t u = base->use_first[mine->lock]; u < base->use_first[mine->lock + 1];
                 u++) {
                uint32_t other = base->use[u].thread;
                if (other == t) continue;
                uint32_t begun = hd_sections_begun(graph, u, witness->cut[other]);
                uint32_t last = hd_last_excluding(graph, u, begun, mine->read_mode);
                if (last != HD_NONE && !in_order(witness, hd_use_section(graph, u, last), section))
                    return false;
            }
        }
    }
    return add_all(witness);
}
