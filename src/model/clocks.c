/* Must-order clocks. For every thread, the events at which another thread's events became known,
 * each with a version of the clock: a tree of numbers, sixteen to a node, that shares what it did
 * not change with older versions. A component is the number after the last event known of that
 * thread (0: none); the own component is left out, since the event itself tells it. */
#include "base/alloc.h"
#include "base/search.h"
#include "base/vector.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH_BITS 4
#define WIDTH (1u << WIDTH_BITS)

struct change {
    uint32_t event;
    uint32_t version; /* root of a tree */
};

struct hd_clocks {
    const struct hd_model *model;
    unsigned height;            /* levels of nodes */
    uint32_t width;             /* numbers in a node: all threads if one node is enough */
    HD_VECTOR(uint32_t) number; /* of the nodes; node 0 is all zero, at every level */
    uint32_t nodes;
    uint32_t own; /* nodes from here on belong to the version that is being made */
    /* changes of thread t are change[change_start[t] .. + changes[t]) */
    struct change *change;
    uint32_t *change_start, *changes;
};

static uint32_t *node_numbers(const struct hd_clocks *clocks, uint32_t node) {
    return clocks->number.data + (size_t)node * clocks->width;
}

/* Puts these numbers where *node is to have them: into the node itself if the version at hand made
 * it, else into a new one. */
static void store(struct hd_clocks *clocks, uint32_t *node, const uint32_t *numbers) {
    if (*node < clocks->own) {
        if (clocks->nodes == UINT32_MAX) hd_out_of_memory();
        hd_vector_reserve(&clocks->number, clocks->width);
        clocks->number.size += clocks->width;
        *node = clocks->nodes++;
    }
    memcpy(node_numbers(clocks, *node), numbers, clocks->width * sizeof *numbers);
}

static uint32_t component(const struct hd_clocks *clocks, uint32_t root, uint32_t thread) {
    for (unsigned level = clocks->height; level-- > 0;) {
        if (root == 0) return 0;
        root = node_numbers(
            clocks, root)[thread >> (level * WIDTH_BITS) & (clocks->height == 1 ? ~0u : WIDTH - 1)];
    }
    return root;
}

/* The version with one component raised. */
static void raise_component(struct hd_clocks *clocks, uint32_t *root, unsigned level,
                            uint32_t thread, uint32_t value) {
    uint32_t numbers[WIDTH];
    memcpy(numbers, node_numbers(clocks, *root), clocks->width * sizeof *numbers);
    uint32_t *slot =
        &numbers[thread >> (level * WIDTH_BITS) & (clocks->height == 1 ? ~0u : WIDTH - 1)];
    if (level > 0)
        raise_component(clocks, slot, level - 1, thread, value);
    else
        *slot = value;
    store(clocks, root, numbers);
}

/* The version that knows what either does; it is one of them wherever that one knows all. */
static void join(struct hd_clocks *clocks, uint32_t *root, uint32_t other, unsigned level) {
    if (*root == other || other == 0) return;
    if (*root == 0) {
        *root = other;
        return;
    }
    uint32_t numbers[WIDTH];
    bool is_root = true, is_other = true;
    for (uint32_t i = 0; i < clocks->width; i++) {
        uint32_t mine = node_numbers(clocks, *root)[i], its = node_numbers(clocks, other)[i];
        numbers[i] = mine;
        if (level > 0)
            join(clocks, &numbers[i], its, level - 1);
        else if (its > mine)
            numbers[i] = its;
        is_root = is_root && numbers[i] == mine;
        is_other = is_other && numbers[i] == its;
    }
    if (is_root) return;
    if (is_other)
        *root = other;
    else
        store(clocks, root, numbers);
}

/* What a thread knew of the others when an event of it ran, the event's own edges included. */
static uint32_t version_at(const struct hd_clocks *clocks, uint32_t event) {
    uint16_t thread = clocks->model->thread[event];
    const struct change *change = clocks->change + clocks->change_start[thread];
    uint32_t after = hd_first_not(i, 0, clocks->changes[thread], change[i].event <= event);
    return after == 0 ? 0 : change[after - 1].version;
}

static void follow_edges(struct hd_clocks *clocks) {
    const struct hd_model *model = clocks->model;
    unsigned top = clocks->height - 1;
    for (uint32_t i = 0; i < model->edges;) {
        uint32_t to = model->edge[i].to;
        uint16_t thread = model->thread[to];
        uint32_t *count = &clocks->changes[thread];
        struct change *change = clocks->change + clocks->change_start[thread];
        uint32_t before = *count > 0 ? change[*count - 1].version : 0, version = before;
        clocks->own = clocks->nodes;
        for (; i < model->edges && model->edge[i].to == to; i++) {
            uint32_t from = model->edge[i].from;
            uint16_t source = model->thread[from];
            if (component(clocks, version, source) > from) continue; /* known already */
            join(clocks, &version, version_at(clocks, from), top);
            raise_component(clocks, &version, top, source, from + 1);
        }
        if (version != before) change[(*count)++] = (struct change){to, version};
    }
}

struct hd_clocks *hd_clocks_build(const struct hd_model *model) {
    struct hd_clocks *clocks = hd_zalloc(1, sizeof *clocks);
    uint32_t threads = model->threads > 0 ? model->threads : 1;
    clocks->model = model;
    clocks->height = 1;
    clocks->width = threads <= WIDTH ? threads : WIDTH;
    while (threads > WIDTH && (threads - 1) >> (clocks->height * WIDTH_BITS) != 0) clocks->height++;
    clocks->changes = hd_zalloc(threads, sizeof *clocks->changes);
    clocks->change_start = hd_zalloc(threads + 1ul, sizeof *clocks->change_start);
    clocks->change = hd_alloc(model->edges, sizeof *clocks->change);
    uint32_t zero[WIDTH] = {0}, node = 0;
    clocks->own = 1;
    store(clocks, &node, zero);
    for (uint32_t i = 0; i < model->edges; i++)
        if (i == 0 || model->edge[i].to != model->edge[i - 1].to)
            clocks->change_start[model->thread[model->edge[i].to] + 1]++;
    for (uint32_t t = 0; t < threads; t++) clocks->change_start[t + 1] += clocks->change_start[t];
    follow_edges(clocks);
    clocks->number.data =
        hd_realloc(clocks->number.data, clocks->number.size, sizeof *clocks->number.data);
    clocks->number.capacity = clocks->number.size;
    return clocks;
}

void hd_clocks_free(struct hd_clocks *clocks) {
    if (clocks == NULL) return;
    hd_vector_free(&clocks->number);
    free(clocks->change);
    free(clocks->change_start);
    free(clocks->changes);
    free(clocks);
}

bool hd_clocks_before(const struct hd_clocks *clocks, uint32_t a, uint32_t b) {
    if (a >= b) return false;
    uint16_t thread = clocks->model->thread[a];
    if (thread == clocks->model->thread[b]) return true;
    return component(clocks, version_at(clocks, b), thread) > a;
}

/* The numbers of a tree become counts of events. */
static void unfold(const struct hd_clocks *clocks, uint32_t root, unsigned level, uint32_t first,
                   uint32_t *clock) {
    if (root == 0) return;
    const uint32_t *numbers = node_numbers(clocks, root);
    for (uint32_t i = 0; i < clocks->width; i++) {
        uint32_t thread = first + (i << (level * WIDTH_BITS));
        if (level > 0)
            unfold(clocks, numbers[i], level - 1, thread, clock);
        else if (numbers[i] > 0)
            clock[thread] = hd_model_position(clocks->model, numbers[i] - 1) + 1;
    }
}

void hd_clocks_get(const struct hd_clocks *clocks, uint32_t event, uint32_t *clock) {
    const struct hd_model *model = clocks->model;
    memset(clock, 0, model->threads * sizeof *clock);
    unfold(clocks, version_at(clocks, event), clocks->height - 1, 0, clock);
    clock[model->thread[event]] = hd_model_position(model, event) + 1;
}

uint64_t hd_clocks_bytes(const struct hd_clocks *clocks) {
    return clocks->number.capacity * sizeof(uint32_t) +
           clocks->model->edges * sizeof(struct change) +
           (uint64_t)clocks->model->threads * 2 * sizeof(uint32_t);
}
