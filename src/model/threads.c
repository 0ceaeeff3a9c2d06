/* First pass: every kind and thread number is valid; the events of each thread; and where an event
 * stands in its thread, as counts at sampled events (a column of its own would cost four bytes an
 * event). */
#include "model/build.h"

#include "base/alloc.h"
#include "base/search.h"

#include <stdlib.h>
#include <string.h>

#define RANK_THREADS 64

static void build_rank(struct hd_build *build) {
    const struct hd_trace *trace = build->trace;
    struct hd_model_memory *memory = build->memory;
    uint32_t events = trace->events, threads = trace->threads;
    /* With many threads each has few events, and a search among them is fast enough. */
    if (threads > RANK_THREADS || events == 0) return;
    unsigned shift = 7;
    while ((1u << shift) < 16 * threads) shift++;
    size_t rows = (events >> shift) + 1;
    uint32_t *count = hd_zalloc(threads, sizeof *count);
    memory->rank = hd_alloc(rows * threads, sizeof *memory->rank);
    memory->rank_shift = shift;
    uint32_t mask = (1u << shift) - 1;
    uint32_t *row = memory->rank;
    for (uint32_t e = 0; e < events; e++) {
        if ((e & mask) == 0)
            for (uint32_t t = 0; t < threads; t++) *row++ = count[t];
        count[trace->thread[e]]++;
    }
    free(count);
}

bool hd_pass_threads(struct hd_build *build) {
    const struct hd_trace *trace = build->trace;
    struct hd_model_memory *memory = build->memory;
    uint32_t events = trace->events, threads = trace->threads;
    uint32_t *start = memory->thread_start = hd_zalloc((size_t)threads + 2, sizeof *start);
    memory->thread_event = hd_alloc(events, sizeof *memory->thread_event);
    for (uint32_t e = 0; e < events; e++) {
        if (trace->thread[e] >= threads)
            return hd_fail(build->error, HD_ERR_FORMAT,
                           "event %u is of thread %u, but the trace has only %u threads", e,
                           trace->thread[e], threads);
        if (trace->kind[e] == HD_EV_NONE || trace->kind[e] >= HD_EV_THREAD)
            return hd_fail(build->error, HD_ERR_FORMAT, "event %u has kind %u, which no event has",
                           e, trace->kind[e]);
        start[trace->thread[e] + 2]++;
    }
    /* Shifted by one, so that filling leaves start[t] where it belongs. */
    for (uint32_t t = 0; t < threads; t++) start[t + 2] += start[t + 1];
    for (uint32_t e = 0; e < events; e++) memory->thread_event[start[trace->thread[e] + 1]++] = e;
    build->model->thread_start = start;
    build->model->thread_event = memory->thread_event;
    build_rank(build);
    return true;
}

/* How many of `count` numbers are this one; eight at a time. */
static uint32_t count_equal(const uint16_t *number, uint32_t count, uint16_t wanted) {
    typedef uint16_t eight __attribute__((vector_size(16)));
    eight sum = {0}, all = sum + wanted;
    uint32_t i = 0, result = 0;
    for (; i + 8 <= count; i += 8) {
        eight here;
        memcpy(&here, number + i, sizeof here);
        sum -= (eight)(here == all);
    }
    for (unsigned lane = 0; lane < 8; lane++) result += sum[lane];
    for (; i < count; i++) result += number[i] == wanted;
    return result;
}

uint32_t hd_model_position(const struct hd_model *model, uint32_t event) {
    const struct hd_model_memory *memory = model->memory;
    uint16_t thread = model->thread[event];
    if (memory->rank != NULL) {
        uint32_t block = event >> memory->rank_shift;
        uint32_t position = memory->rank[(size_t)block * model->threads + thread];
        return position + count_equal(model->thread + (block << memory->rank_shift),
                                      event - (block << memory->rank_shift), thread);
    }
    return hd_lower_bound(model->thread_event + model->thread_start[thread],
                          model->thread_start[thread + 1] - model->thread_start[thread], event);
}
