/* Must-order clocks. For every thread, the events at which another thread's events became known,
 * each with a version of the clock: a tree of numbers, sixteen to a node, that shares what it did
 * not change with older versions. A component is the number after the last event known of that
 * thread (0: none); the own component is left out, since the event itself tells it. */
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
 * it, else into a new one. False when memory is out. */
static bool store(struct hd_clocks *clocks, uint32_t *node, const uint32_t *numbers) {
    if (*node < clocks->own) {
        if (clocks->nodes == UINT32_MAX || !hd_vector_reserve(&clocks->number, clocks->width))
            return false;
        clocks->number.size += clocks->width;
        *node = clocks->nodes++;
    }
    memcpy(node_numbers(clocks, *node), numbers, clocks->width * sizeof *numbers);
    return true;
}

static uint32_t component(const struct hd_clocks *clocks, uint32_t root, uint32_t thread) {
    for (unsigned level = clocks->height; level-- > 0;) {
        if (root == 0) return 0;
        root = node_numbers(
            clocks, root)[thread >> (level * WIDTH_BITS) & (clocks->height == 1 ? ~0u : WIDTH - 1)];
    }
    return root;
}

/* The version with one component raised. False when memory is out. */
static bool raise_component(struct hd_clocks *clocks, uint32_t *root, unsigned level,
                            uint32_t thread, uint32_t value) {
    uint32_t numbers[WIDTH];
    memcpy(numbers, node_numbers(clocks, *root), clocks->width * sizeof *numbers);
    uint32_t *slot =
        &numbers[thread >> (level * WIDTH_BITS) & (clocks->height == 1 ? ~0u : WIDTH - 1)];
    if (level > 0) {
        if (!raise_component(clocks, slot, level - 1, thread, value)) return false;
    } else
        *slot = value;
    return store(clocks, root, numbers);
}

/* The version that knows what either does; it is one of them wherever that one knows all. */
static bool join(struct hd_clocks *clocks, uint32_t *root, uint32_t other, unsigned level) {
    if (*root == other || other == 0) return true;
    if (*root == 0) {
        *root = other;
        return true;
    }
    uint32_t numbers[WIDTH];
    bool is_root = true, is_other = true;
    for (uint32_t i = 0; i < clocks->width; i++) {
        uint32_t mine = node_numbers(clocks, *root)[i], its = node_numbers(clocks, other)[i];
        numbers[i] = mine;
        if (level > 0) {
            if (!join(clocks, &numbers[i], its, level - 1)) return false;
        } else if (its > mine)
            numbers[i] = its;
        is_root = is_root && numbers[i] == mine;
        is_other = is_other && numbers[i] == its;
    }
    if (is_root) return true;
    if (!is_other) return store(clocks, root, numbers);
    *root = other;
    return true;
}

/* What a thread knew of the others when an event of it ran, the event's own edges included. */
static uint32_t version_at(const struct hd_clocks *clocks, uint32_t event) {
    uint16_t thread = clocks->model->thread[event];
    const struct change *change = clocks->change + clocks->change_start[thread];
    uint32_t low = 0, high = clocks->changes[thread];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (change[middle].event <= event)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? 0 : change[low - 1].version;
}

static bool follow_edges(struct hd_clocks *clocks) {
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
            if (!join(clocks, &version, version_at(clocks, from), top) ||
                !raise_component(clocks, &version, top, source, from + 1))
                return false;
        }
        if (version != before) change[(*count)++] = (struct change){to, version};
    }
    return true;
}

struct hd_clocks *hd_clocks_build(const struct hd_model *model) {
    struct hd_clocks *clocks = calloc(1, sizeof *clocks);
    if (clocks == NULL) return NULL;
    uint32_t threads = model->threads > 0 ? model->threads : 1;
    clocks->model = model;
    clocks->height = 1;
    clocks->width = threads <= WIDTH ? threads : WIDTH;
    while (threads > WIDTH && (threads - 1) >> (clocks->height * WIDTH_BITS) != 0) clocks->height++;
    clocks->changes = calloc(threads, sizeof *clocks->changes);
    clocks->change_start = calloc(threads + (size_t)1, sizeof *clocks->change_start);
    clocks->change = malloc((model->edges + (size_t)1) * sizeof *clocks->change);
    uint32_t zero[WIDTH] = {0}, node = 0;
    clocks->own = 1;
    store(clocks, &node, zero);
    bool done = clocks->changes != NULL && clocks->change_start != NULL && clocks->change != NULL &&
                clocks->nodes == 1;
    if (done) {
        for (uint32_t i = 0; i < model->edges; i++)
            if (i == 0 || model->edge[i].to != model->edge[i - 1].to)
                clocks->change_start[model->thread[model->edge[i].to] + 1]++;
        for (uint32_t t = 0; t < threads; t++)
            clocks->change_start[t + 1] += clocks->change_start[t];
        done = follow_edges(clocks);
    }
    if (done) {
        uint32_t *shrunk =
            realloc(clocks->number.data, clocks->number.size * sizeof *clocks->number.data);
        if (shrunk != NULL) {
            clocks->number.data = shrunk;
            clocks->number.capacity = clocks->number.size;
        }
        return clocks;
    }
    hd_clocks_free(clocks);
    return NULL;
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
