/* Happens-before and causally-precedes as methods: what their clocks leave unordered may race. */
#include "methods/hb_cp.h"
#include "methods/hb_stream.h"
#include "methods/methods.h"

static void *prepare(const struct hd_race_task *task, enum hd_hb_cp_type type) {
    const struct hd_conflicts *candidates = task->candidates;
    struct hd_bitset asked = {0};
    hd_bitset_reserve(&asked, candidates->model->events);
    for (size_t i = 0; i < candidates->event.size; i++)
        hd_bitset_add(&asked, candidates->event.data[i]);
    struct hd_hb_cp *clocks = hd_hb_cp_build(candidates->model, type, &asked);
    hd_bitset_free(&asked);
    return clocks;
}

static void *prepare_hb(const struct hd_race_task *task) { return prepare(task, HD_CLOCKS_HB); }
static void *prepare_cp(const struct hd_race_task *task) { return prepare(task, HD_CLOCKS_CP); }

static void forget(void *clocks) { hd_hb_cp_free(clocks); }

static bool before(const struct hd_race_task *task, const void *clocks, uint32_t x, uint32_t y) {
    return hd_clocks_before(task->candidates->clocks, x, y) || hd_hb_cp_before(clocks, x, y);
}

static const struct hd_race_method hb = {
    .prepare = prepare_hb, .forget = forget, .before = before, .stream = hd_hb_stream};
static const struct hd_race_method cp = {.prepare = prepare_cp, .forget = forget, .before = before};
const struct hd_method hd_method_hb = {.name = "hb", .race = &hb};
const struct hd_method hd_method_cp = {.name = "cp", .race = &cp};
