/* Races by the exact engine. */
#include "base/alloc.h"
#include "engine/engine_base.h"
#include "predict/poly.h"

#include <stdlib.h>

struct poly {
    struct hd_asker *asker;
    const uint32_t *branches; /* the task's */
};

/* Must-order; or x must be executed before y can be next. Reads-from counts for what comes before
 * y, not for y itself, which is not executed. */
static bool before(const struct hd_race_task *task, const void *prepared, uint32_t x, uint32_t y) {
    (void)prepared;
    const struct hd_engine_base *base = task->base;
    bool keeps = task->reading != HD_CSR && task->branches == NULL;
    return hd_clocks_before(task->candidates->clocks, x, y) ||
           hd_needed_for_next(base, keeps ? &base->kept : &base->must, x, y);
}

static void *begin(const struct hd_race_task *task, const void *prepared) {
    (void)prepared;
    struct poly *poly = hd_alloc(1, sizeof *poly);
    poly->asker = hd_asker_new(task->base, task->candidates->model, task->reading, task->budget);
    poly->branches = task->branches;
    return poly;
}

static void end(void *own, struct hd_ask_stats *stats) {
    struct poly *poly = own;
    hd_asker_stats(poly->asker, stats);
    hd_asker_free(poly->asker);
    free(poly);
}

static bool decide(void *own, uint32_t a, uint32_t b, enum hd_verdict *verdict,
                   struct hd_error *error) {
    struct poly *poly = own;
    struct hd_stop stop[2] = {{a, false}, {b, false}};
    struct hd_query query = {
        .stop = stop, .stops = 2, .reader = HD_NONE, .writer = HD_NONE, .branches = poly->branches};
    return hd_asker_ask(poly->asker, &query, verdict, error);
}

static const struct hd_witness *witness(const void *own) {
    const struct poly *poly = own;
    return hd_asker_witness(poly->asker);
}

const struct hd_race_method hd_race_poly = {.needs_engine = true,
                                            .before = before,
                                            .begin = begin,
                                            .end = end,
                                            .decide = decide,
                                            .witness = witness};
