/* Races by the exact engine. */
#include "engine/engine_base.h"
#include "predict/poly.h"

/* Must-order; or x must be executed before y can be next. Reads-from counts for what comes before
 * y, not for y itself, which is not executed. */
static bool before(const struct hd_race_task *task, const void *prepared, uint32_t x, uint32_t y) {
    (void)prepared;
    const struct hd_engine_base *base = task->base;
    return hd_clocks_before(task->candidates->clocks, x, y) ||
           hd_needed_for_next(base, task->reading == HD_CSR ? &base->must : &base->kept, x, y);
}

static void *begin(const struct hd_race_task *task, const void *prepared) {
    (void)prepared;
    return hd_asker_new(task->base, task->candidates->model, task->reading, task->budget);
}

static void end(void *asker, struct hd_ask_stats *stats) {
    hd_asker_stats(asker, stats);
    hd_asker_free(asker);
}

static bool decide(void *asker, uint32_t a, uint32_t b, enum hd_verdict *verdict,
                   struct hd_error *error) {
    struct hd_stop stop[2] = {{a, false}, {b, false}};
    struct hd_query query = {.stop = stop, .stops = 2, .reader = HD_NONE, .writer = HD_NONE};
    return hd_asker_ask(asker, &query, verdict, error);
}

static const struct hd_witness *witness(const void *asker) { return hd_asker_witness(asker); }

const struct hd_race_method hd_race_poly = {.needs_engine = true,
                                            .before = before,
                                            .begin = begin,
                                            .end = end,
                                            .decide = decide,
                                            .witness = witness};
