/* Lock abstraction graph, S_choice and choice graphs. */
#include "methods/nondet_choice.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <string.h>

/* ---- the lock abstraction graph ----------------------------------------------------------------
 */

void hd_abstract_free(struct hd_abstract *abstract) { hd_vector_free(&abstract->held); }

static uint32_t thread_length(const struct hd_graph *graph, uint32_t thread) {
    return graph->model->thread_start[thread + 1] - graph->model->thread_start[thread];
}

static uint32_t position_of(const struct hd_graph *graph, uint32_t event) {
    return hd_model_position(graph->model, event);
}

/* A section that is reached inside is reached as a whole. */
static bool begin_of_sections(struct hd_abstract *abstract, uint32_t thread, uint32_t *from) {
    uint32_t first = *from;
    hd_sections_at(abstract->graph, thread, *from, &abstract->held);
    for (size_t i = 0; i < abstract->held.size; i++) {
        const struct hd_section *section = &abstract->graph->model->section[abstract->held.data[i]];
        uint32_t begin = position_of(abstract->graph, section->acquire);
        if (begin < first) first = begin;
    }
    if (first == *from) return false;
    *from = first;
    return true;
}

static bool lower(uint32_t *from, uint32_t to) {
    if (to >= *from) return false;
    *from = to;
    return true;
}

/* A reached section reaches the first section of another use that is not before it: by an edge, or
 * by the choice between them. Both end in the graph. */
static bool cross_forward(struct hd_abstract *abstract, const struct hd_closed *closed,
                          const uint32_t *cut, uint32_t section, uint32_t *from) {
    const struct hd_graph *graph = abstract->graph;
    const struct hd_section *mine = &graph->model->section[section];
    bool more = false;
    if (!hd_is_closed(graph, cut, section)) return false;
    const uint32_t *row = hd_clock_of(graph, closed, graph->view->section_release[section]);
    uint32_t first = graph->base->use_first[mine->lock];
    for (uint32_t u = first; u < graph->base->use_first[mine->lock + 1]; u++) {
        uint32_t thread = graph->base->use[u].thread;
        if (thread == mine->thread) continue;
        uint32_t before = hd_sections_begun(graph, u, row[thread]);
        uint32_t next = hd_next_excluding(graph, u, before, mine->read_mode);
        if (next == HD_NONE) continue;
        uint32_t other = hd_use_section(graph, u, next);
        if (cut != NULL && hd_acquire_position(graph, other) >= cut[thread]) continue;
        if (hd_is_closed(graph, cut, other))
            more |= lower(&from[thread], hd_acquire_position(graph, other));
    }
    return more;
}

static bool reach_from(struct hd_abstract *abstract, const struct hd_closed *closed,
                       const uint32_t *cut, uint32_t thread, uint32_t *from) {
    const struct hd_graph *graph = abstract->graph;
    bool more = false;
    while (begin_of_sections(abstract, thread, &from[thread])) more = true;
    for (uint32_t t = 0; t < graph->threads; t++) {
        uint32_t reached = hd_reached(graph, closed, thread, from[thread], t);
        if (reached == HD_NONE || (cut != NULL && reached >= cut[t])) continue;
        more |= lower(&from[t], reached);
    }
    for (uint32_t n = graph->thread_use_first[thread]; n < graph->thread_use_first[thread + 1];
         n++) {
        uint32_t use = graph->thread_use[n];
        uint32_t index = hd_sections_begun(graph, use, from[thread]);
        if (index == graph->base->use[use].count) continue;
        uint32_t section = hd_use_section(graph, use, index);
        if (cut != NULL && hd_acquire_position(graph, section) >= cut[thread]) continue;
        more |= cross_forward(abstract, closed, cut, section, from);
        if (!graph->model->section[section].read_mode) continue;
        uint32_t writer = hd_next_excluding(graph, use, index, true);
        if (writer == HD_NONE) continue;
        section = hd_use_section(graph, use, writer);
        if (cut != NULL && hd_acquire_position(graph, section) >= cut[thread]) continue;
        more |= cross_forward(abstract, closed, cut, section, from);
    }
    return more;
}

void hd_abstract_forward(struct hd_abstract *abstract, const struct hd_closed *closed,
                         const uint32_t *cut, uint32_t step, uint32_t *from) {
    const struct hd_graph *graph = abstract->graph;
    for (uint32_t t = 0; t < graph->threads; t++) from[t] = HD_NONE;
    from[graph->view->thread[step]] = graph->view->position[step];
    for (bool more = true; more;) {
        more = false;
        for (uint32_t t = 0; t < graph->threads; t++)
            if (from[t] != HD_NONE && reach_from(abstract, closed, cut, t, from)) more = true;
    }
}

static bool end_of_sections(struct hd_abstract *abstract, const uint32_t *cut, uint32_t thread,
                            uint32_t *upto) {
    const struct hd_graph *graph = abstract->graph;
    uint32_t end = *upto, length = thread_length(graph, thread);
    if (cut != NULL && cut[thread] < length) length = cut[thread];
    hd_sections_at(graph, thread, *upto - 1, &abstract->held);
    for (size_t i = 0; i < abstract->held.size; i++) {
        const struct hd_section *section = &graph->model->section[abstract->held.data[i]];
        uint32_t after =
            section->release == HD_NONE ? length : position_of(graph, section->release) + 1;
        if (after > length) after = length;
        if (after > end) end = after;
    }
    if (end == *upto) return false;
    *upto = end;
    return true;
}

static bool cross_backward(struct hd_abstract *abstract, const struct hd_closed *closed,
                           const uint32_t *cut, uint32_t section, uint32_t *upto) {
    const struct hd_graph *graph = abstract->graph;
    const struct hd_section *mine = &graph->model->section[section];
    bool more = false;
    if (!hd_is_closed(graph, cut, section)) return false;
    uint32_t begin = hd_acquire_position(graph, section);
    uint32_t first = graph->base->use_first[mine->lock];
    for (uint32_t u = first; u < graph->base->use_first[mine->lock + 1]; u++) {
        uint32_t thread = graph->base->use[u].thread;
        if (thread == mine->thread) continue;
        /* sections that end from here on come after mine; those before do not */
        uint32_t after = hd_reached(graph, closed, mine->thread, begin, thread);
        if (cut != NULL && cut[thread] < after) after = cut[thread];
        for (uint32_t i = hd_sections_begun(graph, u, after); i-- > 0;) {
            uint32_t other = hd_use_section(graph, u, i);
            if (!hd_is_closed(graph, cut, other) || hd_release_position(graph, other) >= after)
                continue;
            if (mine->read_mode && graph->model->section[other].read_mode) continue;
            uint32_t end = hd_release_position(graph, other) + 1;
            if (end > upto[thread]) {
                upto[thread] = end;
                more = true;
            }
            break;
        }
    }
    return more;
}

static bool reach_back(struct hd_abstract *abstract, const struct hd_closed *closed,
                       const uint32_t *cut, uint32_t thread, uint32_t *upto) {
    const struct hd_graph *graph = abstract->graph;
    const struct hd_view *view = graph->view;
    bool more = false;
    while (end_of_sections(abstract, cut, thread, &upto[thread])) more = true;
    uint32_t step = hd_step_at(view, thread, upto[thread]);
    if (step > view->first[thread]) {
        const uint32_t *row = hd_clock_of(graph, closed, step - 1);
        for (uint32_t t = 0; t < graph->threads; t++)
            if (t != thread && row[t] > upto[t]) {
                upto[t] = row[t];
                more = true;
            }
    }
    for (uint32_t n = graph->thread_use_first[thread]; n < graph->thread_use_first[thread + 1];
         n++) {
        uint32_t use = graph->thread_use[n];
        uint32_t begun = hd_sections_begun(graph, use, upto[thread]);
        if (begun == 0) continue;
        uint32_t section = hd_use_section(graph, use, begun - 1);
        more |= cross_backward(abstract, closed, cut, section, upto);
        if (!graph->model->section[section].read_mode) continue;
        uint32_t writer = hd_last_excluding(graph, use, begun, true);
        if (writer == HD_NONE) continue;
        more |= cross_backward(abstract, closed, cut, hd_use_section(graph, use, writer), upto);
    }
    return more;
}

void hd_abstract_backward(struct hd_abstract *abstract, const struct hd_closed *closed,
                          const uint32_t *cut, uint32_t step, uint32_t *upto) {
    const struct hd_graph *graph = abstract->graph;
    for (uint32_t t = 0; t < graph->threads; t++) upto[t] = 0;
    upto[graph->view->thread[step]] = graph->view->position[step] + 1;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t t = 0; t < graph->threads; t++)
            if (upto[t] > 0 && reach_back(abstract, closed, cut, t, upto)) more = true;
    }
}

/* ---- S_choice ----------------------------------------------------------------------------------
 */

void hd_chooser_new(const struct hd_graph *graph, struct hd_chooser *chooser) {
    memset(chooser, 0, sizeof *chooser);
    chooser->abstract.graph = graph;
    chooser->from = hd_alloc(graph->threads + (size_t)1, sizeof *chooser->from);
    chooser->upto = hd_alloc(graph->threads + (size_t)1, sizeof *chooser->upto);
    hd_vector_reserve(&chooser->node_of, graph->model->sections + (size_t)1);
    memset(chooser->node_of.data, 0xff, graph->model->sections * sizeof *chooser->node_of.data);
}

void hd_chooser_free(struct hd_chooser *chooser) {
    free(chooser->from);
    free(chooser->upto);
    chooser->from = chooser->upto = NULL;
    hd_abstract_free(&chooser->abstract);
    hd_vector_free(&chooser->pair);
    hd_vector_free(&chooser->node_of);
    hd_vector_free(&chooser->node);
    hd_vector_free(&chooser->reach);
    hd_vector_free(&chooser->decided);
}

static bool is_between(const struct hd_chooser *chooser, uint32_t section) {
    const struct hd_graph *graph = chooser->abstract.graph;
    uint32_t thread = graph->model->section[section].thread;
    uint32_t position = hd_acquire_position(graph, section);
    return position >= chooser->from[thread] && position < chooser->upto[thread];
}

/* Neither begins before the other ends. */
static bool without_order(const struct hd_graph *graph, const struct hd_closed *closed, uint32_t a,
                          uint32_t b) {
    const struct hd_view *view = graph->view;
    return !hd_path(graph, closed, view->section_acquire[a], view->section_release[b]) &&
           !hd_path(graph, closed, view->section_acquire[b], view->section_release[a]);
}

static void add_pair(struct hd_chooser *chooser, uint32_t a, uint32_t b, size_t earlier) {
    struct hd_pair_choice pair = {a < b ? a : b, a < b ? b : a};
    for (size_t i = 0; i < earlier; i++) /* of another order edge */
        if (chooser->pair.data[i].first == pair.first &&
            chooser->pair.data[i].second == pair.second)
            return;
    hd_vector_push(&chooser->pair, pair);
}

static void pairs_of_section(struct hd_chooser *chooser, const struct hd_closed *closed,
                             const uint32_t *cut, uint32_t section, uint32_t use, size_t earlier) {
    const struct hd_graph *graph = chooser->abstract.graph;
    const struct hd_section *mine = &graph->model->section[section];
    const uint32_t *row = hd_clock_of(graph, closed, graph->view->section_release[section]);
    uint32_t thread = graph->base->use[use].thread;
    uint32_t first = hd_sections_begun(graph, use, row[thread]);
    uint32_t after =
        hd_reached(graph, closed, mine->thread, hd_acquire_position(graph, section), thread);
    for (uint32_t i = first; i < graph->base->use[use].count; i++) {
        uint32_t other = hd_use_section(graph, use, i);
        if (hd_acquire_position(graph, other) >= after) return;
        if (!hd_is_closed(graph, cut, other)) continue;
        if (mine->read_mode && graph->model->section[other].read_mode) continue;
        if (without_order(graph, closed, section, other))
            add_pair(chooser, section, other, earlier);
    }
}

void hd_choose_pairs(struct hd_chooser *chooser, const struct hd_closed *closed,
                     const uint32_t *cut, const struct hd_link *edge, uint32_t edges) {
    const struct hd_graph *graph = chooser->abstract.graph;
    const struct hd_engine_base *base = graph->base;
    chooser->pair.size = 0;
    for (uint32_t e = 0; e < edges; e++) {
        size_t earlier = chooser->pair.size;
        hd_abstract_forward(&chooser->abstract, closed, cut, edge[e].to, chooser->from);
        hd_abstract_backward(&chooser->abstract, closed, cut, edge[e].from, chooser->upto);
        for (uint32_t t = 0; t < graph->threads; t++) {
            if (chooser->from[t] == HD_NONE || chooser->from[t] >= chooser->upto[t]) continue;
            for (uint32_t n = graph->thread_use_first[t]; n < graph->thread_use_first[t + 1]; n++) {
                uint32_t use = graph->thread_use[n], lock = graph->use_lock[use];
                for (uint32_t i = hd_sections_begun(graph, use, chooser->from[t]);
                     i < base->use[use].count; i++) {
                    uint32_t section = hd_use_section(graph, use, i);
                    if (!is_between(chooser, section)) break;
                    if (!hd_is_closed(graph, cut, section)) continue;
                    for (uint32_t u = use + 1; u < base->use_first[lock + 1]; u++)
                        pairs_of_section(chooser, closed, cut, section, u, earlier);
                }
            }
        }
    }
}

/* ---- choice graphs -----------------------------------------------------------------------------
 */

/* Two nodes for each section, acquire and release. A row of the matrix: what a node reaches. */
#define MOST_NODES 4096u
#define MOST_WORDS ((size_t)1 << 25)

static uint32_t node_of(struct hd_chooser *chooser, uint32_t section) {
    uint32_t *node = &chooser->node_of.data[section];
    if (*node == HD_NONE) {
        *node = 2 * (uint32_t)chooser->node.size;
        hd_vector_push(&chooser->node, section);
    }
    return *node;
}

static bool reaches(const uint64_t *matrix, size_t words, uint32_t from, uint32_t to) {
    return (matrix[from * words + to / 64] >> to % 64 & 1) != 0;
}

static void connect(uint64_t *matrix, size_t words, uint32_t nodes, uint32_t from, uint32_t to) {
    if (reaches(matrix, words, from, to)) return;
    const uint64_t *row = matrix + to * words;
    for (uint32_t n = 0; n < nodes; n++) {
        if (!reaches(matrix, words, n, from)) continue;
        uint64_t *its = matrix + n * words;
        for (size_t w = 0; w < words; w++) its[w] |= row[w];
    }
}

static void fill_matrix(struct hd_chooser *chooser, const struct hd_closed *closed, size_t words) {
    const struct hd_graph *graph = chooser->abstract.graph;
    uint32_t nodes = 2 * (uint32_t)chooser->node.size;
    chooser->reach.size = 0;
    hd_vector_reserve(&chooser->reach, nodes * words);
    chooser->reach.size = nodes * words;
    memset(chooser->reach.data, 0, nodes * words * sizeof *chooser->reach.data);
    for (uint32_t a = 0; a < nodes; a++)
        for (uint32_t b = 0; b < nodes; b++) {
            uint32_t from = chooser->node.data[a / 2], to = chooser->node.data[b / 2];
            uint32_t start =
                a % 2 ? graph->view->section_release[from] : graph->view->section_acquire[from];
            uint32_t end =
                b % 2 ? graph->view->section_release[to] : graph->view->section_acquire[to];
            if (hd_path(graph, closed, start, end))
                chooser->reach.data[a * words + b / 64] |= (uint64_t)1 << b % 64;
        }
}

/* The matrix before the latest choice that is open, which is now made the other way. False: none is
 * open. */
static bool turn_back(struct hd_chooser *chooser, size_t size, size_t *at) {
    while (chooser->decided.size > 0) {
        uint32_t pair = chooser->decided.data[chooser->decided.size - 1];
        chooser->reach.size -= size; /* the one of the choice */
        if ((pair & 0x80000000u) == 0) {
            chooser->decided.data[chooser->decided.size - 1] |= 0x80000000u;
            *at = pair;
            return true;
        }
        chooser->decided.size--;
    }
    return false;
}

static enum hd_verdict search(struct hd_chooser *chooser, size_t words, struct hd_budget budget,
                              uint64_t *explored) {
    uint32_t nodes = 2 * (uint32_t)chooser->node.size;
    size_t size = nodes * words;
    uint64_t begin = *explored,
             deadline = budget.nanoseconds > 0 ? hd_now_ns() + budget.nanoseconds : 0;
    bool turned = false;
    for (size_t i = 0; i < chooser->pair.size; i++) {
        uint64_t *matrix = chooser->reach.data + chooser->reach.size - size;
        struct hd_pair_choice pair = chooser->pair.data[i];
        uint32_t a = chooser->node_of.data[pair.first], b = chooser->node_of.data[pair.second];
        /* a's release before b's acquire, or the other way round */
        bool forward = !reaches(matrix, words, b, a + 1), back = !reaches(matrix, words, a, b + 1);
        if (turned || (forward && back)) {
            /* the trace's own order first */
            if (!turned) hd_vector_push(&chooser->decided, (uint32_t)i);
            if (chooser->reach.size + size > MOST_WORDS) return HD_UNDECIDED;
            hd_vector_reserve(&chooser->reach, size);
            matrix = chooser->reach.data + chooser->reach.size - size;
            memcpy(matrix + size, matrix, size * sizeof *matrix);
            chooser->reach.size += size;
            matrix += size;
            forward = !turned;
            back = turned;
            turned = false;
        }
        if (forward)
            connect(matrix, words, nodes, a + 1, b);
        else if (back)
            connect(matrix, words, nodes, b + 1, a);
        else {
            ++*explored;
            if ((budget.choices > 0 && *explored - begin >= budget.choices) ||
                (deadline > 0 && hd_now_ns() >= deadline))
                return HD_UNDECIDED;
            if (!turn_back(chooser, size, &i)) return HD_INFEASIBLE;
            turned = true;
            i--;
        }
    }
    ++*explored;
    return HD_FEASIBLE;
}

enum hd_verdict hd_choose(struct hd_chooser *chooser, const struct hd_closed *closed,
                          struct hd_budget budget, uint64_t *explored) {
    chooser->node.size = 0;
    chooser->decided.size = 0;
    for (size_t i = 0; i < chooser->pair.size; i++) {
        node_of(chooser, chooser->pair.data[i].first);
        node_of(chooser, chooser->pair.data[i].second);
    }
    enum hd_verdict verdict = HD_UNDECIDED;
    size_t words = (2 * chooser->node.size + 63) / 64;
    if (2 * chooser->node.size <= MOST_NODES) {
        fill_matrix(chooser, closed, words);
        verdict = search(chooser, words, budget, explored);
    }
    for (size_t i = 0; i < chooser->node.size; i++)
        chooser->node_of.data[chooser->node.data[i]] = HD_NONE;
    return verdict;
}
