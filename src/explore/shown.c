/* A prediction in which values may change has reached its accesses: are they on the same memory,
 * and is that still what it was? The forced run's own trace tells. */
#include "explore/explorer.h"

#include "engine/asker.h"
#include "predict/order_violations.h"

#define RACE_NANOSECONDS 1000000000u

/* The call of the forced run that an event of the recorded run was; HD_NONE if it is not in the
 * trace, or is something else. */
static uint32_t same_call(const struct hd_model *forced, const uint64_t *forced_count,
                          const struct hd_model *recorded, const uint64_t *recorded_count,
                          uint32_t event) {
    uint32_t other =
        hd_schedule_event_at(forced, forced_count, recorded->thread[event], recorded_count[event]);
    return other != HD_NONE && forced->kind[other] == recorded->kind[event] ? other : HD_NONE;
}

static bool touches(const struct hd_model *model, uint32_t event, uint32_t block) {
    uint32_t object = model->object[event];
    const uint32_t *location;
    switch (hd_kind_class(model->kind[event])) {
    case HD_CLASS_LOCK:
        return object < model->locks && model->lock[object].block == block;
    case HD_CLASS_SYNC:
        return object < model->objects && model->sync_object[object].block == block;
    default:
        for (uint32_t i = hd_model_locations(model, event, &location); i-- > 0;)
            if (model->location[location[i]].block == block) return true;
        return false;
    }
}

/* A block was freed, and then used. */
static bool used_after(const struct hd_model *model, uint32_t end, uint32_t use) {
    if (end == HD_NONE || use == HD_NONE || use < end) return false;
    return model->object[end] != HD_NONE && touches(model, use, model->object[end]);
}

/* Memory was read that nobody has written. */
static bool found_raw(const struct hd_model *model, uint32_t read) {
    const uint32_t *location;
    if (read == HD_NONE || !hd_model_is_read(model, read) || model->from[read] != HD_NONE)
        return false;
    return hd_model_locations(model, read, &location) > 0 &&
           hd_block_is_raw(model, model->location[location[0]].block);
}

/* Can the two accesses of the forced run be next at the same time? Then they race there, with what
 * its reads have seen. */
static bool races(const struct hd_model *model, const uint32_t event[2]) {
    const uint32_t *location[2];
    uint32_t count[2];
    bool writes = false, meet = false;
    for (int i = 0; i < 2; i++) {
        if (event[i] == HD_NONE || !hd_model_is_access(model, event[i])) return false;
        writes |= hd_model_is_write(model, event[i]);
        count[i] = hd_model_locations(model, event[i], &location[i]);
    }
    for (uint32_t i = 0; i < count[0]; i++)
        for (uint32_t k = 0; k < count[1]; k++) meet |= location[0][i] == location[1][k];
    if (!writes || !meet) return false;
    struct hd_engine_base *base = hd_engine_base_build(model);
    struct hd_budget budget = {.nanoseconds = RACE_NANOSECONDS};
    struct hd_asker *asker = hd_asker_new(base, model, HD_CDSR, budget);
    struct hd_stop stop[2] = {{event[0], false}, {event[1], false}};
    struct hd_query query = {.stop = stop, .stops = 2, .reader = HD_NONE, .writer = HD_NONE};
    enum hd_verdict verdict;
    struct hd_error ignored;
    bool shown = hd_asker_ask(asker, &query, &verdict, &ignored) && verdict == HD_FEASIBLE;
    hd_asker_free(asker);
    hd_engine_base_free(base);
    return shown;
}

bool explore_is_shown(const struct target *target, const char *trace) {
    const struct hd_finding *finding = target->finding;
    const struct hd_model *recorded = &target->run->model;
    struct hd_model forced;
    struct hd_error ignored;
    bool race = finding->kind == HD_FINDING_RACE;
    if ((!race && finding->kind != HD_FINDING_ORDER) || finding->events != 2) return false;
    uint64_t *before = hd_schedule_call_counts(recorded);
    struct hd_trace_mark mark[2];
    for (int i = 0; i < 2; i++) {
        uint32_t own = finding->event[i].event;
        mark[i] = (struct hd_trace_mark){recorded->thread[own], before[own]};
    }
    if (mark[0].thread > mark[1].thread ||
        (mark[0].thread == mark[1].thread && mark[0].call > mark[1].call)) {
        struct hd_trace_mark first = mark[0];
        mark[0] = mark[1];
        mark[1] = first;
    }
    struct hd_trace_options read = {.mark = mark, .marks = 2};
    if (!hd_model_load(trace, &read, &(struct hd_model_options){.lenient = true}, &forced,
                       &ignored)) {
        free(before);
        return false;
    }
    uint64_t *count = hd_schedule_call_counts(&forced);
    uint32_t event[2];
    for (int i = 0; i < 2; i++)
        event[i] = same_call(&forced, count, recorded, before, finding->event[i].event);
    bool ends = recorded->kind[finding->event[0].event] == HD_EV_FREE;
    bool shown = race   ? races(&forced, event)
                 : ends ? used_after(&forced, event[0], event[1])
                        : found_raw(&forced, event[0]);
    free(count);
    free(before);
    hd_model_free(&forced);
    return shown;
}
