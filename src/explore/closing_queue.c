/* A heap of wanted runs. See closing_queue.h. */
#include "explore/closing_queue.h"

#include "facts/site.h"

uint64_t closing_pair(const struct closing_view *view, uint32_t event, uint32_t from) {
    const struct hd_model *model = &view->model;
    uint64_t seen = from < CLOSING_NEVER
                        ? hd_site_code(model->trace, model->site[view->use[from].event])
                        : from;
    return hd_mix64(hd_mix64(hd_site_code(model->trace, model->site[event])) + seen);
}

static bool is_before(const struct closing_queued *a, const struct closing_queued *b) {
    return a->seen != b->seen ? a->seen < b->seen : a->dice < b->dice;
}

static void sift_up(struct closing_queue *queue, size_t at) {
    struct closing_queued *heap = queue->heap.data, moved = heap[at];
    for (; at > 0 && is_before(&moved, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = moved;
}

static void sift_down(struct closing_queue *queue, size_t at) {
    struct closing_queued *heap = queue->heap.data, moved = heap[at];
    for (size_t child; (child = 2 * at + 1) < queue->heap.size; at = child) {
        if (child + 1 < queue->heap.size && is_before(&heap[child + 1], &heap[child])) child++;
        if (!is_before(&heap[child], &moved)) break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

static uint64_t bytes_of(const struct closing_work *work) {
    return sizeof *work + (work->pins.size + work->before.size) * sizeof *work->pins.data +
           work->schedule.turn.size * sizeof *work->schedule.turn.data;
}

void closing_queue_add(struct closing_queue *queue, struct closing_work *work) {
    struct closing_queued queued = {.work = work,
                                    .number = ++queue->added,
                                    .dice = hd_mix64(queue->added),
                                    .seen = hd_map_get(&queue->seen, work->pair, 0)};
    hd_vector_push(&queue->heap, queued);
    queue->bytes += bytes_of(work);
    sift_up(queue, queue->heap.size - 1);
}

static struct closing_work *take_at(struct closing_queue *queue, size_t at) {
    struct closing_work *work = queue->heap.data[at].work;
    ++*hd_map_slot(&queue->seen, work->pair, 0);
    queue->heap.data[at] = queue->heap.data[--queue->heap.size];
    if (at < queue->heap.size) {
        sift_up(queue, at);
        sift_down(queue, at);
    }
    queue->bytes -= bytes_of(work);
    return work;
}

static struct closing_work *take_oldest(struct closing_queue *queue) {
    size_t oldest = 0;
    for (size_t i = 1; i < queue->heap.size; i++)
        if (queue->heap.data[i].number < queue->heap.data[oldest].number) oldest = i;
    return take_at(queue, oldest);
}

struct closing_work *closing_queue_take(struct closing_queue *queue) {
    if (queue->heap.size == 0) return NULL;
    if (queue->heap.size <= CLOSING_FEW) return take_oldest(queue);
    for (;;) {
        struct closing_queued *first = &queue->heap.data[0];
        uint32_t seen = hd_map_get(&queue->seen, first->work->pair, 0);
        /* Numbers only grow: what was first by an old one may have to go further down. */
        if (first->seen == seen) return take_at(queue, 0);
        first->seen = seen;
        sift_down(queue, 0);
    }
}

void closing_queue_saw(struct closing_queue *queue, const struct closing_view *view) {
    for (uint32_t e = 0; e < view->model.events; e++)
        for (uint32_t u = view->use_start[e]; u < view->use_start[e + 1]; u++)
            if (view->use[u].does & CLOSING_READS) {
                uint64_t pair = closing_pair(view, e, view->use[u].from);
                uint32_t *seen = hd_map_slot(&queue->seen, pair, 0);
                if (*seen == 0) *seen = 1;
            }
}

void closing_queue_free(struct closing_queue *queue) {
    hd_vector_free(&queue->heap);
    hd_map_free(&queue->seen);
}
