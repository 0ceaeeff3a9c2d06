/* Closures of the paper's graphs. */
#include "methods/nondet_graph.h"

#include "base/alloc.h"
#include "base/search.h"
#include "base/vector.h"

#include <string.h>

/* ---- edges -------------------------------------------------------------------------------------
 */

struct making {
    struct hd_graph *graph;
    uint32_t *step_of;         /* per event, HD_NONE */
    HD_VECTOR(uint64_t) edges; /* to << 32 | from, with HD_PRED_COUPLE */
};

static void add_edge(struct making *making, uint32_t from, uint32_t to, uint32_t flag) {
    uint32_t before = making->step_of[from], after = making->step_of[to];
    if (before == HD_NONE || after == HD_NONE) return;
    if (making->graph->view->thread[before] == making->graph->view->thread[after]) return;
    hd_vector_push(&making->edges, (uint64_t)after << 32 | flag | before);
}

static void add_edges(struct making *making) {
    const struct hd_model *model = making->graph->model;
    for (uint32_t i = 0; i < model->edges; i++)
        add_edge(making, model->edge[i].from, model->edge[i].to, 0);
    for (uint32_t e = 0; e < model->events; e++) {
        if (model->kind[e] == HD_EV_TRY_FAILED) {
            uint32_t by = hd_model_failed_by(model, e);
            if (by == HD_NONE) continue;
            uint32_t release = model->section[by].release;
            add_edge(making, model->section[by].acquire, e, 0);
            if (release != HD_NONE) add_edge(making, e, release, 0);
        }
        if (!hd_model_is_read(model, e)) continue;
        const uint32_t *write;
        uint32_t count = hd_model_reads_from(model, e, &write);
        for (uint32_t i = 0; i < count; i++)
            if (write[i] != HD_NONE) add_edge(making, write[i], e, HD_PRED_COUPLE);
    }
}

/* Sorted, an edge that is more than a couple comes right before the same edge as a couple. */
static int by_edge(const void *left, const void *right) {
    uint64_t mask = ~(uint64_t)HD_PRED_COUPLE;
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    if ((a & mask) != (b & mask)) return (a & mask) < (b & mask) ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void list_edges(struct making *making) {
    struct hd_graph *graph = making->graph;
    size_t count = making->edges.size;
    uint64_t *edge = making->edges.data;
    if (count > 1) qsort(edge, count, sizeof *edge, by_edge);
    graph->pred_first = hd_alloc(graph->steps + (size_t)1, sizeof *graph->pred_first);
    graph->pred = hd_alloc(count + 1, sizeof *graph->pred);
    uint32_t fill = 0;
    size_t at = 0;
    for (uint32_t s = 0; s < graph->steps; s++) {
        graph->pred_first[s] = fill;
        for (; at < count && edge[at] >> 32 == s; at++) {
            uint32_t from = (uint32_t)edge[at];
            bool again = fill > graph->pred_first[s] &&
                         (graph->pred[fill - 1] | HD_PRED_COUPLE) == (from | HD_PRED_COUPLE);
            if (!again) graph->pred[fill++] = from;
        }
    }
    graph->pred_first[graph->steps] = fill;
}

/* ---- order and sections ------------------------------------------------------------------------
 */

static void order_steps(struct hd_graph *graph, uint32_t *step_of) {
    const struct hd_view *view = graph->view;
    const struct hd_model *model = graph->model;
    graph->order = hd_alloc(graph->steps + (size_t)1, sizeof *graph->order);
    graph->rank = hd_alloc(graph->steps + (size_t)1, sizeof *graph->rank);
    graph->open_from = hd_alloc(graph->steps + (size_t)1, sizeof *graph->open_from);
    graph->release_of = hd_alloc(graph->steps + (size_t)1, sizeof *graph->release_of);
    graph->next_released = hd_alloc(model->sections + (size_t)1, sizeof *graph->next_released);
    memset(step_of, 0xff, model->events * sizeof *step_of);
    memset(graph->release_of, 0xff, graph->steps * sizeof *graph->release_of);
    for (uint32_t s = 0; s < graph->steps; s++) step_of[view->event[s]] = s;
    uint32_t fill = 0;
    for (uint32_t e = 0; e < model->events; e++)
        if (step_of[e] != HD_NONE) {
            graph->rank[step_of[e]] = fill;
            graph->order[fill++] = step_of[e];
        }
    for (uint32_t i = 0; i < model->sections; i++) {
        uint32_t release = view->section_release[i];
        if (view->section_acquire[i] == HD_NONE || release == HD_NONE) continue;
        graph->next_released[i] = graph->release_of[release];
        graph->release_of[release] = i;
    }
    uint32_t from = 0, end = 0; /* of the stretch of overlapping sections at hand */
    for (uint32_t i = 0; i < graph->steps; i++) {
        uint32_t step = graph->order[i];
        if (i > end || i == 0) from = end = i;
        if ((view->role[step] & HD_STEP_ACQUIRE) != 0) {
            uint32_t release = view->section_release[view->about[step]];
            if (release != HD_NONE && graph->rank[release] > end) end = graph->rank[release];
        }
        graph->open_from[i] = from;
    }
}

static void index_sections(struct hd_graph *graph) {
    const struct hd_engine_base *base = graph->base;
    const struct hd_model *model = graph->model;
    uint32_t uses = base->use_first[model->locks];
    graph->use_of = hd_alloc(model->sections + (size_t)1, sizeof *graph->use_of);
    graph->index_of = hd_alloc(model->sections + (size_t)1, sizeof *graph->index_of);
    graph->before_first = hd_alloc(model->sections + (size_t)1, sizeof *graph->before_first);
    graph->use_lock = hd_alloc(uses + (size_t)1, sizeof *graph->use_lock);
    graph->thread_use_first =
        hd_zalloc(model->threads + (size_t)2, sizeof *graph->thread_use_first);
    graph->thread_use = hd_alloc(uses + (size_t)1, sizeof *graph->thread_use);
    graph->longest = hd_alloc(model->sections + (size_t)1, sizeof *graph->longest);
    memset(graph->use_of, 0xff, model->sections * sizeof *graph->use_of);
    uint64_t fill = 0;
    for (uint32_t l = 0; l < model->locks; l++) {
        uint32_t first = base->use_first[l], end = base->use_first[l + 1];
        for (uint32_t u = first; u < end; u++) {
            graph->use_lock[u] = l;
            if (!base->contended[l]) continue;
            graph->thread_use_first[base->use[u].thread + 1]++;
            for (uint32_t i = 0; i < base->use[u].count; i++) {
                uint32_t section = base->use_section[base->use[u].first + i];
                graph->use_of[section] = u;
                graph->index_of[section] = i;
                graph->before_first[section] = (uint32_t)fill;
                fill += end - first;
                uint32_t *longest = graph->longest + base->use[u].first;
                longest[i] = i;
                if (i == 0) continue;
                uint32_t before = base->use_section[base->use[u].first + longest[i - 1]];
                /* HD_NONE, never released, is the latest */
                if (model->section[before].release > model->section[section].release)
                    longest[i] = longest[i - 1];
            }
        }
    }
    if (fill > UINT32_MAX) hd_out_of_memory();
    graph->befores = (uint32_t)fill;
    for (uint32_t t = 0; t < model->threads; t++)
        graph->thread_use_first[t + 1] += graph->thread_use_first[t];
    uint32_t *at = hd_alloc(model->threads + (size_t)1, sizeof *at);
    memcpy(at, graph->thread_use_first, model->threads * sizeof *at);
    for (uint32_t u = 0; u < uses; u++)
        if (base->contended[graph->use_lock[u]]) graph->thread_use[at[base->use[u].thread]++] = u;
    free(at);
}

bool hd_sections_overlap(const struct hd_model *model, uint32_t *first, uint32_t *second) {
    HD_VECTOR(uint32_t) open = {0};
    bool found = false;
    for (uint32_t l = 0; !found && l < model->locks; l++) {
        open.size = 0;
        for (uint32_t i = model->lock_start[l]; !found && i < model->lock_start[l + 1]; i++) {
            const struct hd_section *section = &model->section[model->lock_section[i]];
            size_t kept = 0;
            for (size_t k = 0; k < open.size; k++) {
                const struct hd_section *other = &model->section[open.data[k]];
                if (other->release < section->acquire) continue; /* HD_NONE: never */
                open.data[kept++] = open.data[k];
                if (other->thread == section->thread || !hd_conflicting_modes(other, section))
                    continue;
                *first = other->acquire;
                *second = section->acquire;
                found = true;
            }
            open.size = kept;
            hd_vector_push(&open, model->lock_section[i]);
        }
    }
    hd_vector_free(&open);
    return found;
}

void hd_graph_build(struct hd_graph *graph, const struct hd_model *model,
                    const struct hd_engine_base *base) {
    memset(graph, 0, sizeof *graph);
    graph->model = model;
    graph->base = base;
    graph->view = &base->full;
    graph->threads = model->threads;
    graph->steps = graph->view->steps;
    struct making making = {.graph = graph};
    making.step_of = hd_alloc(model->events + (size_t)1, sizeof *making.step_of);
    order_steps(graph, making.step_of);
    index_sections(graph);
    add_edges(&making);
    list_edges(&making);
    free(making.step_of);
    hd_vector_free(&making.edges);
}

void hd_graph_free(struct hd_graph *graph) {
    free(graph->order);
    free(graph->rank);
    free(graph->open_from);
    free(graph->pred_first);
    free(graph->pred);
    free(graph->release_of);
    free(graph->next_released);
    free(graph->use_of);
    free(graph->index_of);
    free(graph->before_first);
    free(graph->thread_use_first);
    free(graph->thread_use);
    free(graph->use_lock);
    free(graph->longest);
    memset(graph, 0, sizeof *graph);
}

/* ---- sections of a use -------------------------------------------------------------------------
 */

uint32_t hd_sections_begun(const struct hd_graph *graph, uint32_t use, uint32_t position) {
    return hd_first_not(i, 0, graph->base->use[use].count,
                        hd_acquire_position(graph, hd_use_section(graph, use, i)) < position);
}

/* Sections of one lock in one thread overlap only if one of them is taken again in another mode:
 * then they need not end in order. They are few; count back from those that have begun. */
uint32_t hd_sections_ended(const struct hd_graph *graph, uint32_t use, uint32_t position) {
    uint32_t count = hd_sections_begun(graph, use, position);
    while (count > 0 &&
           hd_release_position(graph, hd_use_section(graph, use, count - 1)) >= position)
        count--;
    return count;
}

uint32_t hd_last_excluding(const struct hd_graph *graph, uint32_t use, uint32_t count,
                           bool reading) {
    if (count == 0) return HD_NONE;
    const struct hd_engine_base *base = graph->base;
    if (!reading) return graph->longest[base->use[use].first + count - 1];
    uint32_t at = base->use_writer[base->use[use].first + count - 1];
    return at == HD_NONE ? HD_NONE : at - base->use[use].first;
}

uint32_t hd_next_excluding(const struct hd_graph *graph, uint32_t use, uint32_t index,
                           bool reading) {
    uint32_t count = graph->base->use[use].count;
    while (index < count && reading &&
           graph->model->section[hd_use_section(graph, use, index)].read_mode)
        index++;
    return index < count ? index : HD_NONE;
}

/* ---- closures ----------------------------------------------------------------------------------
 */

void hd_closed_new(const struct hd_graph *graph, struct hd_closed *closed) {
    closed->clock = hd_alloc((size_t)graph->steps * graph->threads + 1, sizeof *closed->clock);
    closed->before = hd_alloc(graph->befores + (size_t)1, sizeof *closed->before);
}

void hd_closed_free(struct hd_closed *closed) {
    free(closed->clock);
    free(closed->before);
    *closed = (struct hd_closed){0};
}

static void join(uint32_t *restrict into, const uint32_t *restrict from, uint32_t threads) {
    for (uint32_t t = 0; t < threads; t++) into[t] = from[t] > into[t] ? from[t] : into[t];
}

static uint32_t first_use(const struct hd_graph *graph, uint32_t section) {
    return graph->base->use_first[graph->model->section[section].lock];
}
static uint32_t end_use(const struct hd_graph *graph, uint32_t section) {
    return graph->base->use_first[graph->model->section[section].lock + 1];
}

/* Before anything is induced: nothing, but a section that stays open is the last. */
static void forget_before(const struct hd_graph *graph, struct hd_closed *closed,
                          uint32_t section) {
    uint32_t first = first_use(graph, section), end = end_use(graph, section);
    uint32_t *before = closed->before + graph->before_first[section];
    bool stays = graph->view->section_release[section] == HD_NONE;
    for (uint32_t u = first; u < end; u++) {
        before[u - first] = 0;
        if (!stays || u == graph->use_of[section]) continue;
        const struct hd_lock_sections *use = &graph->base->use[u];
        uint32_t count = 0;
        while (count < use->count &&
               graph->model->section[hd_use_section(graph, u, count)].acquire <
                   graph->model->section[section].acquire)
            count++;
        before[u - first] = count;
    }
}

/* The sections before this one are over before it begins. */
static void join_sections(const struct hd_graph *graph, struct hd_closed *closed, uint32_t section,
                          uint32_t *row) {
    uint32_t first = first_use(graph, section), end = end_use(graph, section);
    const uint32_t *before = closed->before + graph->before_first[section];
    for (uint32_t u = first; u < end; u++) {
        if (before[u - first] == 0 || u == graph->use_of[section]) continue;
        uint32_t last = hd_last_excluding(graph, u, before[u - first],
                                          graph->model->section[section].read_mode);
        if (last == HD_NONE) continue;
        uint32_t release = graph->view->section_release[hd_use_section(graph, u, last)];
        if (release != HD_NONE) join(row, hd_clock_of(graph, closed, release), graph->threads);
    }
}

/* At the release: sections whose acquire comes before it. True: some are new. */
static bool induce(const struct hd_graph *graph, struct hd_closed *closed, uint32_t section,
                   const uint32_t *row) {
    uint32_t first = first_use(graph, section), end = end_use(graph, section);
    uint32_t *before = closed->before + graph->before_first[section];
    bool changed = false;
    for (uint32_t u = first; u < end; u++) {
        const struct hd_lock_sections *use = &graph->base->use[u];
        if (u == graph->use_of[section]) continue;
        uint32_t known = before[u - first];
        if (known == use->count ||
            hd_acquire_position(graph, hd_use_section(graph, u, known)) >= row[use->thread])
            continue;
        before[u - first] = hd_sections_begun(graph, u, row[use->thread]);
        changed |= hd_last_excluding(graph, u, before[u - first],
                                     graph->model->section[section].read_mode) !=
                   hd_last_excluding(graph, u, known, graph->model->section[section].read_mode);
    }
    return changed;
}

static void start_row(const struct hd_graph *graph, const struct hd_closed *closed, uint32_t step,
                      uint32_t *row) {
    const struct hd_view *view = graph->view;
    uint32_t thread = view->thread[step];
    if (step > view->first[thread])
        memcpy(row, row - graph->threads, graph->threads * sizeof *row);
    else
        memset(row, 0, graph->threads * sizeof *row);
    row[thread] = view->position[step] + 1;
    (void)closed;
}

/* Closes from a place of the trace order on. */
static void run(const struct hd_graph *graph, struct hd_closed *closed, uint32_t from,
                uint32_t without_from, uint32_t without_to) {
    const struct hd_view *view = graph->view;
    while (from < graph->steps) {
        uint32_t again = graph->steps;
        for (uint32_t i = from; i < graph->steps; i++) {
            uint32_t step = graph->order[i];
            uint32_t *row = closed->clock + (size_t)step * graph->threads;
            start_row(graph, closed, step, row);
            for (uint32_t p = graph->pred_first[step]; p < graph->pred_first[step + 1]; p++) {
                uint32_t pred = graph->pred[p];
                if (step == without_to && pred == (without_from | HD_PRED_COUPLE)) continue;
                join(row, hd_clock_of(graph, closed, pred & ~HD_PRED_COUPLE), graph->threads);
            }
            if ((view->role[step] & HD_STEP_ACQUIRE) != 0 &&
                graph->use_of[view->about[step]] != HD_NONE)
                join_sections(graph, closed, view->about[step], row);
            for (uint32_t ended = graph->release_of[step]; ended != HD_NONE;
                 ended = graph->next_released[ended]) {
                if (graph->use_of[ended] == HD_NONE || !induce(graph, closed, ended, row)) continue;
                uint32_t begin = graph->rank[view->section_acquire[ended]];
                if (begin < again) again = begin;
            }
        }
        from = again;
    }
}

void hd_closed_all(const struct hd_graph *graph, struct hd_closed *closed) {
    for (uint32_t s = 0; s < graph->model->sections; s++)
        if (graph->use_of[s] != HD_NONE) forget_before(graph, closed, s);
    run(graph, closed, 0, HD_NONE, HD_NONE);
}

/* Does the write come before the read by something else than their couple, in the closure that has
 * it? What comes before the read's other predecessors does not rest on the couple. */
static bool ordered_anyway(const struct hd_graph *graph, const struct hd_closed *all,
                           uint32_t write, uint32_t read) {
    uint32_t thread = graph->view->thread[read];
    if (read > graph->view->first[thread] && hd_path(graph, all, write, read - 1)) {
        /* unless a section that the couple orders is what brought it there */
        if (graph->open_from[graph->rank[read]] == graph->rank[read]) return true;
    }
    return false;
}

bool hd_closed_without(const struct hd_graph *graph, const struct hd_closed *all, uint32_t write,
                       uint32_t read, struct hd_closed *closed) {
    const struct hd_view *view = graph->view;
    bool couple = false;
    for (uint32_t p = graph->pred_first[read]; p < graph->pred_first[read + 1]; p++)
        couple |= graph->pred[p] == (write | HD_PRED_COUPLE);
    if (!couple || ordered_anyway(graph, all, write, read)) return false;
    /* An edge that the couple induced enters a section that is open at the read, or one open where
     * such a section begins, and so on. */
    uint32_t from = graph->open_from[graph->rank[read]];
    memcpy(closed->clock, all->clock,
           (size_t)graph->steps * graph->threads * sizeof *closed->clock);
    memcpy(closed->before, all->before, graph->befores * sizeof *closed->before);
    for (uint32_t i = from; i < graph->steps; i++) {
        uint32_t step = graph->order[i];
        if ((view->role[step] & HD_STEP_ACQUIRE) != 0 &&
            graph->use_of[view->about[step]] != HD_NONE)
            forget_before(graph, closed, view->about[step]);
    }
    run(graph, closed, from, write, read);
    return true;
}

void hd_closed_with(const struct hd_graph *graph, const struct hd_closed *base,
                    const struct hd_link *link, uint32_t links, struct hd_closed *closed) {
    size_t size = (size_t)graph->steps * graph->threads;
    memcpy(closed->clock, base->clock, size * sizeof *closed->clock);
    memcpy(closed->before, base->before, graph->befores * sizeof *closed->before);
    /* Each edge in turn: its end, and all that its end comes before, come after its start. */
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < links; i++) {
            const uint32_t *its_start = hd_clock_of(graph, closed, link[i].from);
            uint32_t thread = graph->view->thread[link[i].from];
            if (hd_clock_of(graph, closed, link[i].to)[thread] >= its_start[thread]) {
                bool known = true;
                const uint32_t *row = hd_clock_of(graph, closed, link[i].to);
                for (uint32_t t = 0; known && t < graph->threads; t++)
                    known = its_start[t] <= row[t];
                if (known) continue;
            }
            more = true;
            uint32_t to_thread = graph->view->thread[link[i].to];
            uint32_t to_position = graph->view->position[link[i].to];
            for (uint32_t s = 0; s < graph->steps; s++) {
                uint32_t *row = closed->clock + (size_t)s * graph->threads;
                if (row[to_thread] > to_position && row != its_start)
                    join(row, its_start, graph->threads);
            }
        }
    }
}

uint32_t hd_reached(const struct hd_graph *graph, const struct hd_closed *closed, uint32_t thread,
                    uint32_t position, uint32_t in) {
    const struct hd_view *view = graph->view;
    if (in == thread) return position;
    uint32_t end = view->first[in + 1];
    uint32_t low =
        hd_first_not(i, view->first[in], end, hd_clock_of(graph, closed, i)[thread] <= position);
    return low == end ? HD_NONE : view->position[low];
}
