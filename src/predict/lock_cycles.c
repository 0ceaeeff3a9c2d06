/* Depth-first from the cycle's smallest resource, so that each cycle is found once. */
#include "predict/lock_cycles.h"

#include "base/alloc.h"
#include "base/bitset.h"
#include "base/search.h"

#include <stdlib.h>

/* ---- known sets -------------------------------------------------------------------------------
 */

void hd_known_cycles_add(struct hd_known_cycles *known, const uint32_t *type, uint32_t count) {
    if (known->start.size == 0) hd_vector_push(&known->start, 0);
    uint32_t first = (uint32_t)known->type.size;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = first;
        while (k < known->type.size && known->type.data[k] != type[i]) k++;
        if (k == known->type.size) hd_vector_push(&known->type, type[i]);
    }
    hd_vector_push(&known->start, (uint32_t)known->type.size);
}

void hd_known_cycles_free(struct hd_known_cycles *known) {
    hd_vector_free(&known->type);
    hd_vector_free(&known->start);
}

/* ---- the search -------------------------------------------------------------------------------
 */

struct path {
    struct hd_cycle_search *search;
    const struct hd_lock_graph *graph;
    uint32_t length, depth;
    uint32_t *dependency;
    uint32_t *uses; /* per type: how often it is on the path */
    struct hd_bitset resources, threads;
    struct hd_bitset reported; /* types of which a known set has the last; see is_known */
};

static const struct hd_dependency *at(const struct path *path, uint32_t depth) {
    return &path->graph->dependency.data[path->dependency[depth]];
}

/* Would the path, with one more type, have all types of a known set? */
static bool is_known(const struct path *path, uint32_t type) {
    const struct hd_known_cycles *known = path->search->known;
    if (known == NULL || known->start.size == 0 || !hd_bitset_has(&path->reported, type))
        return false;
    for (size_t i = 0; i + 1 < known->start.size; i++) {
        bool has = false, all = true;
        for (uint32_t k = known->start.data[i]; all && k < known->start.data[i + 1]; k++) {
            has |= known->type.data[k] == type;
            all = known->type.data[k] == type || path->uses[known->type.data[k]] > 0;
        }
        if (has && all) return true;
    }
    return false;
}

/* Must all of the one come before all of the other? */
static bool is_before(const struct hd_lock_graph *graph, const struct hd_waiter *a,
                      const struct hd_waiter *b) {
    uint32_t last = graph->instance.data[a->start + a->count - 1].event;
    return hd_clocks_before(graph->clocks, last, graph->instance.data[b->start].behind);
}

static bool can_wait_together(const struct hd_lock_graph *graph, const struct hd_dependency *one,
                              const struct hd_dependency *two) {
    const struct hd_waiter *a = &graph->waiter.data[one->waiter];
    const struct hd_waiter *b = &graph->waiter.data[two->waiter];
    return a->thread != b->thread && a->count > 0 && b->count > 0 &&
           !hd_locksets_exclude(&graph->locksets, a->lockset, b->lockset) &&
           !is_before(graph, a, b) && !is_before(graph, b, a);
}

static bool fits(const struct path *path, const struct hd_dependency *next) {
    if (hd_bitset_has(&path->threads, path->graph->waiter.data[next->waiter].thread)) return false;
    if (path->depth > 0 && !hd_dependency_blocks(at(path, path->depth - 1), next)) return false;
    if (is_known(path, next->type)) return false;
    for (uint32_t i = 0; i < path->depth; i++)
        if (!can_wait_together(path->graph, at(path, i), next)) return false;
    return true;
}

static void push(struct path *path, uint32_t dependency) {
    const struct hd_dependency *each = &path->graph->dependency.data[dependency];
    path->dependency[path->depth++] = dependency;
    path->uses[each->type]++;
    hd_bitset_add(&path->threads, path->graph->waiter.data[each->waiter].thread);
    hd_bitset_add(&path->resources, each->holds);
}

static void pop(struct path *path) {
    const struct hd_dependency *each = at(path, --path->depth);
    path->uses[each->type]--;
    hd_bitset_remove(&path->threads, path->graph->waiter.data[each->waiter].thread);
    hd_bitset_remove(&path->resources, each->holds);
}

/* Dependencies of a resource that want a certain other are together: the first of them. */
static uint32_t first_wanting(const struct hd_lock_graph *graph, uint32_t holds, uint32_t wants) {
    return hd_first_not(i, graph->out[holds], graph->out[holds + 1],
                        graph->dependency.data[i].wants < wants);
}

static bool take_step(struct path *path) {
    if (path->search->steps_left == 0) return false;
    path->search->steps_left--;
    return true;
}

static void close_cycle(struct path *path, uint32_t start) {
    const struct hd_lock_graph *graph = path->graph;
    uint32_t from = at(path, path->depth - 1)->wants;
    for (uint32_t i = first_wanting(graph, from, start); i < graph->out[from + 1]; i++) {
        const struct hd_dependency *last = &graph->dependency.data[i];
        if (last->wants != start || !take_step(path)) break;
        if (!fits(path, last) || !hd_dependency_blocks(last, at(path, 0))) continue;
        path->dependency[path->depth] = i;
        path->search->found(path->search->context, path->dependency, path->length);
    }
}

static void extend(struct path *path, uint32_t start) {
    const struct hd_lock_graph *graph = path->graph;
    if (path->depth + 1 == path->length) {
        close_cycle(path, start);
        return;
    }
    uint32_t from = path->depth == 0 ? start : at(path, path->depth - 1)->wants;
    for (uint32_t i = first_wanting(graph, from, start + 1); i < graph->out[from + 1]; i++) {
        const struct hd_dependency *next = &graph->dependency.data[i];
        if (!take_step(path)) break;
        if (hd_bitset_has(&path->resources, next->wants) || next->wants == from ||
            !fits(path, next))
            continue;
        push(path, i);
        extend(path, start);
        pop(path);
    }
}

/* Two threads that both hold a lock for reading and want it for writing. */
static void find_upgrades(struct path *path, uint32_t lock) {
    const struct hd_lock_graph *graph = path->graph;
    uint32_t first = first_wanting(graph, lock, lock), end = first;
    while (end < graph->out[lock + 1] && graph->dependency.data[end].wants == lock) end++;
    for (uint32_t i = first; i < end; i++)
        for (uint32_t k = i + 1; k < end; k++) {
            const struct hd_dependency *a = &graph->dependency.data[i];
            const struct hd_dependency *b = &graph->dependency.data[k];
            if (!take_step(path)) return;
            if (!hd_dependency_blocks(a, b) || !hd_dependency_blocks(b, a) ||
                !can_wait_together(graph, a, b))
                continue;
            uint32_t pair[2] = {i, k};
            path->search->found(path->search->context, pair, 2);
        }
}

void hd_cycles_of_length(struct hd_cycle_search *search, uint32_t length) {
    const struct hd_lock_graph *graph = search->graph;
    const struct hd_known_cycles *known = search->known;
    struct path path = {.search = search, .graph = graph, .length = length};
    path.dependency = hd_alloc(length + (size_t)1, sizeof *path.dependency);
    path.uses = hd_zalloc(graph->types + (size_t)1, sizeof *path.uses);
    hd_bitset_reserve(&path.threads, graph->model->threads);
    hd_bitset_reserve(&path.resources, graph->resources);
    hd_bitset_reserve(&path.reported, graph->types);
    for (size_t i = 0; known != NULL && i < known->type.size; i++)
        hd_bitset_add(&path.reported, known->type.data[i]);
    for (uint32_t r = 0; r < graph->resources; r++) {
        if (graph->out[r] == graph->out[r + 1]) continue;
        if (length == 2 && hd_resource_is_lock(graph, r)) find_upgrades(&path, r);
        extend(&path, r);
    }
    free(path.dependency);
    free(path.uses);
    hd_bitset_free(&path.threads);
    hd_bitset_free(&path.resources);
    hd_bitset_free(&path.reported);
}

uint32_t hd_cycles_longest(const struct hd_lock_graph *graph) {
    struct hd_bitset threads = {0}, resources = {0};
    for (size_t i = 0; i < graph->dependency.size; i++) {
        const struct hd_dependency *each = &graph->dependency.data[i];
        hd_bitset_add(&threads, graph->waiter.data[each->waiter].thread);
        hd_bitset_add(&resources, each->holds);
    }
    size_t limit = hd_bitset_count(&threads);
    if (hd_bitset_count(&resources) < limit) limit = hd_bitset_count(&resources);
    /* an upgrade needs one resource only */
    if (limit < 2 && graph->dependency.size > 1) limit = 2;
    hd_bitset_free(&threads);
    hd_bitset_free(&resources);
    return (uint32_t)limit;
}
