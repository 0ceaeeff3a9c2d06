/* AVIO-H over a trace, beside AVIO-S: see hardware.h. The caches are in caches.c. */
#include "learn/hardware.h"

#include "base/alloc.h"
#include "facts/patterns.h"
#include "facts/site.h"
#include "learn/detect.h"

#include <string.h>

struct hd_hardware hd_hardware_usual(void) {
    return (struct hd_hardware){.cores = 4,
                                .line = 64,
                                .l1_bytes = 32 << 10,
                                .l1_ways = 4,
                                .l2_bytes = 1 << 20,
                                .l2_ways = 8,
                                .l1_cycles = 2,
                                .l2_cycles = 10,
                                .memory_cycles = 200,
                                .report_cycles = 500,
                                .slower_clock = 0.004};
}

bool hd_hardware_fits(const struct hd_hardware *hardware, struct hd_error *error) {
    uint32_t line = hardware->line;
    if ((line & (line - 1)) != 0)
        return hd_fail(error, HD_ERR_USAGE, "a cache line has a power of two bytes, not %u", line);
    if (hardware->l1_bytes / line < hardware->l1_ways)
        return hd_fail(error, HD_ERR_USAGE, "the L1 has fewer lines than ways");
    if (hardware->l2_bytes / line < hardware->l2_ways)
        return hd_fail(error, HD_ERR_USAGE, "the L2 has fewer lines than ways");
    return true;
}

/* ---- which accesses are checked, and what AVIO-S says -----------------------------------------
 */

enum { BY_SOFTWARE = 1, BY_HARDWARE = 2 };

struct runner {
    const struct hd_hardware *hardware;
    const struct hd_model *model;
    struct hd_describe *describe;
    const struct hd_invariants *invariants;
    struct hd_caches *caches;
    struct hd_hardware_result *result;
    struct hd_map site, checked; /* access in the code -> is an I-instruction */
    uint8_t *violated;           /* by event: BY_SOFTWARE */
    HD_VECTOR(uint8_t) said;     /* by access in the code: who reported it */
    uint32_t *thread;            /* of each core */
    uint64_t *cycles, *reports;  /* of each core */
    struct hd_arena arena;
};

static uint32_t code_of(struct runner *r, uint32_t event) {
    const uint32_t *location;
    hd_model_locations(r->model, event, &location);
    return hd_site_number(r->model, &r->site, event, location[0]) * 4 +
           hd_access_does(r->model, event);
}

static bool is_checked(struct runner *r, uint32_t event, uint32_t code) {
    if (r->invariants == NULL) return true;
    uint32_t *slot = hd_map_slot(&r->checked, code, 2);
    if (*slot == 2) {
        struct hd_place place = hd_place_of_event(r->describe, r->model, event, &r->arena);
        *slot = hd_invariants_holding(r->invariants, &place, "") != NULL;
    }
    return *slot == 1;
}

static void note(void *context, uint32_t first, uint32_t remote, uint32_t second,
                 enum hd_pattern pattern) {
    struct runner *r = context;
    (void)first;
    (void)remote;
    (void)pattern;
    r->violated[second] = 1;
}

/* ---- the run ----------------------------------------------------------------------------------
 */

struct step {
    bool checked, violated;
    bool displaced, switched; /* history of a line was gone */
};

static void access_line(struct runner *r, uint32_t core, uint64_t line, unsigned does,
                        struct step *step) {
    struct hd_hardware_result *result = r->result;
    struct hd_cache_access access = hd_caches_access(r->caches, core, line, does);
    result->accesses++;
    result->hits += access.hit;
    result->upgrades += access.upgrade;
    result->misses += !access.hit && !access.upgrade;
    result->l2_misses += access.cycles > r->hardware->l1_cycles + r->hardware->l2_cycles;
    r->cycles[core] += access.cycles;
    if (!access.hit && step->checked) result->checks++;
    step->violated |= access.violated;
    step->switched |= access.switched;
    step->displaced |= !access.known && !access.switched;
}

/* The lines of an access, each once. */
static void access_lines(struct runner *r, uint32_t core, uint32_t event, struct step *step) {
    const uint32_t *location;
    uint32_t count = hd_model_locations(r->model, event, &location);
    unsigned does = hd_access_does(r->model, event);
    uint64_t before = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        const struct hd_location *at = &r->model->location[location[i]];
        uint64_t last = (at->address + at->bytes - 1) / r->hardware->line;
        for (uint64_t line = at->address / r->hardware->line; line <= last; line++) {
            if (line != before) access_line(r, core, line, does, step);
            before = line;
        }
    }
}

static void count(struct runner *r, uint32_t event, uint32_t code, const struct step *step) {
    struct hd_hardware_count *executions = &r->result->executions;
    bool software = r->violated[event] != 0;
    while (r->said.size <= code) hd_vector_push(&r->said, 0);
    if (software) r->said.data[code] |= BY_SOFTWARE;
    if (step->violated) r->said.data[code] |= BY_HARDWARE;
    executions->caught += software && step->violated;
    executions->raised += !software && step->violated;
    if (!software || step->violated) return;
    executions->missed++;
    if (step->switched)
        r->result->missed_switched++;
    else if (step->displaced)
        r->result->missed_displaced++;
}

static void run_event(struct runner *r, uint32_t event) {
    uint32_t thread = r->model->thread[event], core = thread % r->hardware->cores;
    const uint32_t *location;
    r->cycles[core] += r->model->branches[event];
    if (hd_access_does(r->model, event) == 0 || hd_model_locations(r->model, event, &location) == 0)
        return;
    if (r->thread[core] != thread) {
        if (r->thread[core] != HD_NONE) {
            hd_caches_switch(r->caches, core);
            r->result->switches++;
        }
        r->thread[core] = thread;
    }
    uint32_t code = code_of(r, event);
    struct step step = {.checked = is_checked(r, event, code)};
    access_lines(r, core, event, &step);
    if (!step.checked) return;
    if (step.violated) r->reports[core]++;
    count(r, event, code, &step);
}

static void finish(struct runner *r) {
    struct hd_hardware_result *result = r->result;
    double with = 0;
    for (uint32_t core = 0; core < r->hardware->cores; core++) {
        double own =
            (double)r->cycles[core] + (double)r->reports[core] * (double)r->hardware->report_cycles;
        if (r->cycles[core] > result->cycles) result->cycles = r->cycles[core];
        if (own > with) with = own;
    }
    if (result->cycles > 0)
        result->overhead = with / (1 - r->hardware->slower_clock) / (double)result->cycles - 1;
    for (size_t code = 0; code < r->said.size; code++) {
        result->code.caught += r->said.data[code] == (BY_SOFTWARE | BY_HARDWARE);
        result->code.missed += r->said.data[code] == BY_SOFTWARE;
        result->code.raised += r->said.data[code] == BY_HARDWARE;
    }
    result->displaced = hd_caches_displaced(r->caches);
}

void hd_hardware_run(const struct hd_hardware *hardware, const struct hd_model *model,
                     struct hd_describe *describe, const struct hd_invariants *invariants,
                     struct hd_hardware_result *result) {
    memset(result, 0, sizeof *result);
    struct runner r = {.hardware = hardware,
                       .model = model,
                       .describe = describe,
                       .invariants = invariants,
                       .caches = hd_caches_make(hardware),
                       .result = result,
                       .violated = hd_zalloc(model->events, 1),
                       .thread = hd_alloc(hardware->cores, sizeof *r.thread),
                       .cycles = hd_zalloc(hardware->cores, sizeof *r.cycles),
                       .reports = hd_zalloc(hardware->cores, sizeof *r.reports)};
    memset(r.thread, 0xff, hardware->cores * sizeof *r.thread); /* HD_NONE */
    struct hd_detected detected;
    hd_detect(model, HD_GRANULARITY_BYTE, &detected, note, &r);
    hd_detected_free(&detected);
    for (uint32_t event = 0; event < model->events; event++) run_event(&r, event);
    finish(&r);
    hd_caches_free(r.caches);
    free(r.violated);
    free(r.thread);
    free(r.cycles);
    free(r.reports);
    hd_vector_free(&r.said);
    hd_map_free(&r.site);
    hd_map_free(&r.checked);
    hd_arena_free(&r.arena);
}
