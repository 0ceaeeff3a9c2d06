/* Tarjan's algorithm with a stack of its own, for graphs of any depth. */
#include "predict/lock_parts.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define UNSEEN 0u
#define NO_PART UINT32_MAX

struct visit {
    uint32_t *start, *to;      /* edges by source */
    uint32_t *number, *lowest; /* of the search, from 1; 0: not seen yet */
    uint32_t *open;            /* nodes whose part is not known yet */
    uint32_t *path, *next;     /* the way down: nodes, and per node its next edge */
    bool *is_open;
    uint32_t opened, seen, parts;
    struct hd_lock_parts *result;
};

static void list_edges(struct visit *v, const uint64_t *edge, size_t edges, uint32_t nodes) {
    v->start = hd_zalloc(nodes + (size_t)2, sizeof *v->start);
    v->to = hd_alloc(edges + 1, sizeof *v->to);
    for (size_t i = 0; i < edges; i++) v->start[(edge[i] >> 32) + 2]++;
    for (uint32_t n = 0; n < nodes; n++) v->start[n + 2] += v->start[n + 1];
    for (size_t i = 0; i < edges; i++) v->to[v->start[(edge[i] >> 32) + 1]++] = (uint32_t)edge[i];
}

static bool has_loop(const struct visit *v, uint32_t node) {
    for (uint32_t i = v->start[node]; i < v->start[node + 1]; i++)
        if (v->to[i] == node) return true;
    return false;
}

/* All from `node` on are one part; alone it is none, unless it has an edge to itself. */
static void close_part(struct visit *v, uint32_t node) {
    bool alone = v->open[v->opened - 1] == node && !has_loop(v, node);
    uint32_t part = alone ? NO_PART : v->parts++, member;
    if (!alone) v->result->any = true;
    do {
        member = v->open[--v->opened];
        v->is_open[member] = false;
        v->result->part[member] = part;
    } while (member != node);
}

static void enter(struct visit *v, uint32_t node) {
    v->number[node] = v->lowest[node] = ++v->seen;
    v->open[v->opened++] = node;
    v->is_open[node] = true;
    v->next[node] = v->start[node];
}

static void search_from(struct visit *v, uint32_t root) {
    uint32_t depth = 0;
    v->path[depth++] = root;
    enter(v, root);
    while (depth > 0) {
        uint32_t node = v->path[depth - 1];
        if (v->next[node] < v->start[node + 1]) {
            uint32_t to = v->to[v->next[node]++];
            if (v->number[to] == UNSEEN) {
                v->path[depth++] = to;
                enter(v, to);
            } else if (v->is_open[to] && v->number[to] < v->lowest[node])
                v->lowest[node] = v->number[to];
            continue;
        }
        if (v->lowest[node] == v->number[node]) close_part(v, node);
        depth--;
        if (depth > 0 && v->lowest[node] < v->lowest[v->path[depth - 1]])
            v->lowest[v->path[depth - 1]] = v->lowest[node];
    }
}

void hd_lock_parts_build(struct hd_lock_parts *parts, const uint64_t *edge, size_t edges,
                         uint32_t nodes) {
    struct visit v = {.result = parts};
    memset(parts, 0, sizeof *parts);
    size_t room = nodes + (size_t)1;
    parts->nodes = nodes;
    parts->part = hd_alloc(room, sizeof *parts->part);
    v.number = hd_zalloc(room, sizeof *v.number);
    v.lowest = hd_alloc(room, sizeof *v.lowest);
    v.open = hd_alloc(room, sizeof *v.open);
    v.path = hd_alloc(room, sizeof *v.path);
    v.next = hd_alloc(room, sizeof *v.next);
    v.is_open = hd_zalloc(room, sizeof *v.is_open);
    list_edges(&v, edge, edges, nodes);
    for (uint32_t n = 0; n < nodes; n++)
        if (v.number[n] == UNSEEN) search_from(&v, n);
    free(v.start);
    free(v.to);
    free(v.number);
    free(v.lowest);
    free(v.open);
    free(v.path);
    free(v.next);
    free(v.is_open);
}

void hd_lock_parts_free(struct hd_lock_parts *parts) {
    free(parts->part);
    parts->part = NULL;
}
