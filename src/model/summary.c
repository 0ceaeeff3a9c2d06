/* A model in figures: see summary.h. */
#include "model/summary.h"

#include "base/alloc.h"
#include "base/bitset.h"

#include <stdlib.h>
#include <string.h>

const char *hd_edge_type_name(enum hd_edge_type type) {
    static const char *const name[HD_EDGE_TYPES] = {
        [HD_EDGE_FORK] = "fork",       [HD_EDGE_JOIN] = "join", [HD_EDGE_SIGNAL] = "signal",
        [HD_EDGE_BARRIER] = "barrier", [HD_EDGE_POST] = "post", [HD_EDGE_ONCE] = "once",
        [HD_EDGE_ATOMIC] = "atomic"};
    return (unsigned)type < HD_EDGE_TYPES ? name[type] : "?";
}

const char *hd_block_type_name(enum hd_block_type type) {
    static const char *const name[HD_BLOCK_TYPES] = {
        [HD_BLOCK_HEAP] = "heap",       [HD_BLOCK_MMAP] = "mapped", [HD_BLOCK_STACK] = "stack",
        [HD_BLOCK_FILE] = "file",       [HD_BLOCK_PIPE] = "pipe",   [HD_BLOCK_SOCKET] = "socket",
        [HD_BLOCK_COUNTER] = "eventfd", [HD_BLOCK_EPOLL] = "epoll", [HD_BLOCK_KERNEL] = "kernel"};
    return (unsigned)type < HD_BLOCK_TYPES ? name[type] : "?";
}

/* ---- the most used -------------------------------------------------------------------------- */

/* The `top` things with the largest counts seen so far, largest first; the earlier of two equals.
 */
struct ranking {
    uint32_t *thing;
    uint64_t *count;
    uint32_t used, top;
};

static struct ranking ranking_start(uint32_t top, uint32_t things) {
    struct ranking ranking = {.top = top < things ? top : things};
    ranking.thing = hd_alloc(ranking.top, sizeof *ranking.thing);
    ranking.count = hd_alloc(ranking.top, sizeof *ranking.count);
    return ranking;
}

static void ranking_offer(struct ranking *ranking, uint32_t thing, uint64_t count) {
    if (ranking->top == 0 ||
        (ranking->used == ranking->top && count <= ranking->count[ranking->used - 1]))
        return;
    uint32_t at = ranking->used < ranking->top ? ranking->used++ : ranking->used - 1;
    for (; at > 0 && ranking->count[at - 1] < count; at--) {
        ranking->thing[at] = ranking->thing[at - 1];
        ranking->count[at] = ranking->count[at - 1];
    }
    ranking->thing[at] = thing;
    ranking->count[at] = count;
}

static void ranking_free(struct ranking *ranking) {
    free(ranking->thing);
    free(ranking->count);
}

/* ---- locks ----------------------------------------------------------------------------------- */

static void describe_lock(const struct hd_model *model, struct hd_lock_summary *use) {
    struct hd_bitset threads = {0};
    for (uint32_t i = model->lock_start[use->lock]; i < model->lock_start[use->lock + 1]; i++) {
        const struct hd_section *section = &model->section[model->lock_section[i]];
        use->sections++;
        use->read_sections += section->read_mode;
        if (i > model->lock_start[use->lock])
            use->handovers += section->thread != model->section[model->lock_section[i - 1]].thread;
        uint32_t last = section->release;
        if (last == HD_NONE) {
            use->held_at_end = true;
            last = model->thread_event[model->thread_start[section->thread + 1] - 1];
        }
        uint32_t length =
            hd_model_position(model, last) - hd_model_position(model, section->acquire) + 1;
        if (length > use->longest) use->longest = length;
        hd_bitset_add(&threads, section->thread);
    }
    use->threads = (uint32_t)hd_bitset_count(&threads);
    hd_bitset_free(&threads);
}

static void rank_locks(const struct hd_model *model, uint32_t top, struct hd_summary *summary) {
    struct ranking ranking = ranking_start(top, model->locks);
    for (uint32_t l = 0; l < model->locks; l++)
        ranking_offer(&ranking, l, model->lock_start[l + 1] - model->lock_start[l]);
    summary->lock_use = hd_zalloc(ranking.used, sizeof *summary->lock_use);
    for (uint32_t i = 0; i < ranking.used; i++) {
        summary->lock_use[i].lock = ranking.thing[i];
        describe_lock(model, &summary->lock_use[i]);
        summary->lock_uses++;
    }
    for (uint32_t e = 0; summary->kinds[HD_EV_TRY_FAILED] > 0 && e < model->events; e++)
        for (uint32_t i = 0; model->kind[e] == HD_EV_TRY_FAILED && i < ranking.used; i++)
            summary->lock_use[i].failed += summary->lock_use[i].lock == model->object[e];
    ranking_free(&ranking);
}

/* ---- locations and threads ------------------------------------------------------------------- */

static void describe_location(const struct hd_model *model, struct hd_location_use *use) {
    struct hd_bitset threads = {0};
    for (uint32_t i = model->location_start[use->location];
         i < model->location_start[use->location + 1]; i++) {
        uint32_t event = model->location_event[i];
        use->accesses++;
        use->reads += hd_model_is_read(model, event);
        use->writes += hd_model_is_write(model, event);
        hd_bitset_add(&threads, model->thread[event]);
    }
    use->threads = (uint32_t)hd_bitset_count(&threads);
    hd_bitset_free(&threads);
}

static void rank_locations(const struct hd_model *model, uint32_t top, struct hd_summary *summary) {
    struct ranking ranking = ranking_start(top, model->locations);
    for (uint32_t l = 0; l < model->locations; l++) {
        if (!model->location[l].shared) continue;
        summary->shared_locations++;
        ranking_offer(&ranking, l, model->location_start[l + 1] - model->location_start[l]);
    }
    summary->location_use = hd_zalloc(ranking.used, sizeof *summary->location_use);
    for (uint32_t i = 0; i < ranking.used; i++) {
        summary->location_use[i].location = ranking.thing[i];
        describe_location(model, &summary->location_use[i]);
        summary->location_uses++;
    }
    ranking_free(&ranking);
}

/* What the file has of a thread; NULL: all of it is in the model. */
static const struct hd_trace_recorded *recorded_by(const struct hd_model *model, uint32_t thread) {
    const struct hd_trace_recorded *recorded = model->trace->recorded_by;
    return recorded != NULL ? &recorded[thread] : NULL;
}

static uint64_t events_of(const struct hd_model *model, uint32_t thread) {
    const struct hd_trace_recorded *recorded = recorded_by(model, thread);
    uint64_t events = 0;
    if (recorded == NULL) return model->thread_start[thread + 1] - model->thread_start[thread];
    for (unsigned kind = 0; kind < HD_EV_KINDS; kind++) events += recorded->kinds[kind];
    return events;
}

static void rank_threads(const struct hd_model *model, uint32_t top, struct hd_summary *summary) {
    struct ranking ranking = ranking_start(top, model->threads);
    for (uint32_t t = 0; t < model->threads; t++) ranking_offer(&ranking, t, events_of(model, t));
    summary->thread_use = hd_zalloc(ranking.used, sizeof *summary->thread_use);
    for (uint32_t i = 0; i < ranking.used; i++) {
        uint32_t thread = ranking.thing[i];
        struct hd_thread_use *use = &summary->thread_use[summary->thread_uses++];
        *use = (struct hd_thread_use){.thread = thread, .events = ranking.count[i]};
        for (uint32_t at = model->thread_start[thread]; at < model->thread_start[thread + 1]; at++)
            use->calls += hd_model_calls(model, model->thread_event[at]);
        if (model->trace->recorded_by != NULL)
            use->calls += recorded_by(model, thread)->other_calls;
    }
    ranking_free(&ranking);
}

/* ---- counts ---------------------------------------------------------------------------------- */

static void count_events(const struct hd_model *model, struct hd_summary *summary) {
    struct hd_bitset sites = {0}, stacks = {0};
    /* hook calls that are events themselves; not all events are hook calls */
    uint64_t recorded = 0;
    for (uint32_t e = 0; e < model->events; e++) {
        summary->kinds[model->kind[e]] += model->trace->recorded_by == NULL;
        recorded += model->calls[e] > 0;
        if (!hd_bitset_has(&sites, model->site[e])) hd_bitset_add(&sites, model->site[e]);
        if (!hd_bitset_has(&stacks, model->stack[e])) hd_bitset_add(&stacks, model->stack[e]);
    }
    for (uint32_t t = 0; model->trace->recorded_by != NULL && t < model->threads; t++)
        for (unsigned kind = 0; kind < HD_EV_KINDS; kind++)
            summary->kinds[kind] += recorded_by(model, t)->kinds[kind];
    /* Site 0 is "unknown", stack 0 the empty one. */
    hd_bitset_remove(&sites, 0);
    hd_bitset_remove(&stacks, 0);
    summary->sites = (uint32_t)hd_bitset_count(&sites);
    summary->stacks = (uint32_t)hd_bitset_count(&stacks);
    hd_bitset_free(&sites);
    hd_bitset_free(&stacks);
    uint64_t calls = model->trace->hook_calls;
    /* A last call that leads to no event, such as exit, is not elided. */
    bool elides = model->trace->options.full == 0 || model->trace->kept != HD_KEEP_ALL;
    summary->elided = elides && calls > recorded ? calls - recorded : 0;
}

static void count_things(const struct hd_model *model, struct hd_summary *summary) {
    for (uint32_t b = 0; b < model->blocks; b++) {
        if (model->block[b].type < HD_BLOCK_TYPES) summary->block_types[model->block[b].type]++;
        summary->freed_blocks += model->block[b].free != HD_NONE;
    }
    for (uint32_t i = 0; i < model->edges; i++) summary->edge_types[model->edge[i].type]++;
    for (uint32_t s = 0; s < model->sections; s++) {
        const struct hd_section *section = &model->section[s];
        uint32_t depth = section->held + 1u;
        if (depth > summary->deepest_nesting) summary->deepest_nesting = depth;
        summary->open_sections += section->release == HD_NONE;
    }
}

void hd_summary_build(const struct hd_model *model, uint32_t top, struct hd_summary *summary) {
    memset(summary, 0, sizeof *summary);
    count_things(model, summary);
    count_events(model, summary);
    rank_locks(model, top, summary);
    rank_locations(model, top, summary);
    rank_threads(model, top, summary);
}

void hd_summary_free(struct hd_summary *summary) {
    free(summary->lock_use);
    free(summary->location_use);
    free(summary->thread_use);
    memset(summary, 0, sizeof *summary);
}
