/* The cause of a failure is an experiment: the failing schedule with only two events the other way
 * round. If the program passes then, each time, their order is what it fails by. */
#include "explore/critical.h"
#include "explore/explorer.h"
#include "explore/flip.h"
#include "facts/site.h"

#include <string.h>

#define EXPERIMENTS 80u
#define EXPERIMENT_SECONDS 10.0
#define MOST_EVENTS 2000000u
#define MOST_SECTIONS 16u
#define MOST_FLIPS 16u

struct experiments explore_experiments(struct explorer *x, const struct failing *failing,
                                       struct hd_finding_forced *forced) {
    return (struct experiments){.x = x,
                                .failing = failing,
                                .forced = forced,
                                .until = explore_until(x, EXPERIMENT_SECONDS),
                                .left = EXPERIMENTS};
}

/* ---- one schedule --------------------------------------------------------------------------- */

static bool make_schedule(const struct failing *failing, uint32_t *event, uint32_t events,
                          struct hd_schedule *schedule) {
    struct hd_span *run = hd_alloc(events, sizeof *run);
    struct hd_error ignored;
    uint32_t runs = 0;
    for (uint32_t i = 0; i < events; i++)
        if (i > 0 && event[i] == event[i - 1] + 1)
            run[runs - 1].count++;
        else
            run[runs++] = (struct hd_span){event[i], 1};
    bool made = hd_schedule_from_witness(schedule, &failing->model, failing->describe, run, runs, 0,
                                         &ignored);
    free(run);
    return made;
}

/* Did the run do each second before its first, if it did that at all? */
static bool is_flipped(const struct explorer *x, const struct failing *failing,
                       const struct hd_flip *flip, uint32_t flips,
                       const struct hd_schedule *schedule, const char *trace) {
    struct failing again;
    bool good = true;
    explore_failing_load(x, &again, trace, schedule);
    if (!again.there) return false;
    for (uint32_t i = 0; i < flips && good; i++) {
        uint32_t found[2], event[2] = {flip[i].first, flip[i].second};
        for (int k = 0; k < 2; k++) {
            struct access access =
                explore_access(&failing->model, failing->describe, failing->count, event[k]);
            found[k] = explore_find_access(&access, &again.model, again.describe, again.count);
            /* A lock that never came in the failing run, or was tried in vain: it was had. */
            uint8_t kind = failing->model.kind[event[k]];
            if (found[k] == HD_NONE && (kind == HD_EV_BLOCKED || kind == HD_EV_TRY_FAILED))
                found[k] = 0;
        }
        good = found[1] != HD_NONE && (found[0] == HD_NONE || found[1] < found[0]);
    }
    explore_failing_free(&again);
    return good;
}

static bool passes(struct experiments *e, const struct hd_steering *steering, struct hd_result *run,
                   bool *passed) {
    struct explorer *x = e->x;
    explore_report(x, "explaining", e->forced->flipped_passed, x->options->repeats);
    if (!explore_run(x, steering, false, run)) return false;
    x->result->runs.repeated++;
    *passed = !hd_outcome_failed(&run->outcome);
    return true;
}

/* Once with a trace, to see whether it came about; then `most` times in all, while it passes. */
static void run_flipped(struct experiments *e, const struct hd_schedule *schedule,
                        const struct hd_flip *flip, uint32_t flips, uint32_t most, uint32_t *runs,
                        uint32_t *passed) {
    struct hd_steering steering = hd_schedule_steering(schedule);
    struct hd_result run;
    bool good;
    steering.unchecked = true;
    steering.patience_ms = e->x->patience_ms;
    if (!passes(e, &steering, &run, &good)) return;
    bool flipped = is_flipped(e->x, e->failing, flip, flips, schedule, run.trace_path);
    hd_result_free(&run);
    if (!flipped) return;
    *runs = 1;
    *passed = good;
    steering.no_trace = true;
    while (*runs == *passed && *runs < most && hd_seconds_now() < e->until &&
           passes(e, &steering, &run, &good)) {
        hd_result_free(&run);
        ++*runs;
        *passed += good;
    }
}

/* ---- flips ---------------------------------------------------------------------------------- */

/* "T1 r(len) log.c:57" */
static const char *words_of(struct experiments *e, uint32_t event) {
    const struct hd_model *model = &e->failing->model;
    struct hd_finding_line line = explore_line(e->x, e->failing->describe, model, event, "");
    /* A lock that never came, or was tried in vain: what was wanted is told. */
    bool waits = model->kind[event] == HD_EV_BLOCKED && model->flags[event] == HD_WAIT_LOCK;
    if (waits || model->kind[event] == HD_EV_TRY_FAILED)
        line.text = hd_finding_text(&e->x->own, "%s(%s)", waits ? "acq" : "try",
                                    hd_describe_event(e->failing->describe, event, HD_SHORT));
    return hd_finding_text(&e->x->own, "%s %s%s%s", line.thread, line.text,
                           *line.site != '\0' ? " " : "", line.site);
}

/* The same in every run: what is done, and where. */
static uint64_t place_of(struct experiments *e, uint32_t event) {
    const struct failing *failing = e->failing;
    return hd_mix64(hd_site_source(failing->describe, &failing->model, event) +
                    failing->model.kind[event]);
}

static void keep(struct experiments *e, const struct hd_flip *flip, uint32_t flips, bool goes_on,
                 uint32_t runs, uint32_t passed) {
    struct hd_finding_forced *forced = e->forced;
    struct hd_findings *own = &e->x->own;
    if (forced->flipped_runs > 0 && passed < runs) return; /* the first that was tried is told */
    forced->flipped = "";
    for (uint32_t i = 0; i < flips && i < HD_FINDING_WORDS; i++)
        forced->flipped = hd_finding_text(own, "%s%s%s%s before %s", forced->flipped,
                                          i > 0 ? ", and " : "", words_of(e, flip[i].second),
                                          goes_on ? ", with what its thread does after it," : "",
                                          words_of(e, flip[i].first));
    if (flips > HD_FINDING_WORDS)
        forced->flipped = hd_finding_text(own, "%s, and %u more the other way round",
                                          forced->flipped, flips - HD_FINDING_WORDS);
    forced->flipped_runs = runs;
    forced->flipped_passed = passed;
    if (passed < runs) return;
    for (uint32_t i = 0; i < flips; i++)
        e->cause += place_of(e, flip[i].first) ^ hd_mix64(place_of(e, flip[i].second));
}

/* Runs the failing order with these flips. `goes_on`: only up to the last of them; then its thread
 * goes on as far as it can. True: it came about and passed each time; what came of it is kept if it
 * is to be `told`. */
static bool try_flips(struct experiments *e, const struct hd_flip *flip, uint32_t flips,
                      bool goes_on, bool told) {
    const struct hd_model *model = &e->failing->model;
    uint32_t *order = hd_alloc(model->events, sizeof *order), runs = 0, passed = 0;
    uint32_t events = hd_flip(model, flip, flips, order);
    for (uint32_t i = events; goes_on && i > 0; i--)
        if (order[i - 1] == flip[flips - 1].second) events = i;
    struct hd_schedule schedule;
    if (events > 0 && make_schedule(e->failing, order, events, &schedule)) {
        e->left--;
        run_flipped(e, &schedule, flip, flips, told ? e->x->options->repeats : 1, &runs, &passed);
        if (told && runs > 0) keep(e, flip, flips, goes_on, runs, passed);
        hd_schedule_free(&schedule);
    }
    free(order);
    return runs > 0 && passed == runs;
}

/* The first waits; or, where it is in a section that the second needs, that section does. Together
 * with other flips. False: it cannot be. */
static bool add_flip(const struct hd_model *model, uint32_t first, uint32_t second,
                     struct hd_flip *flip, uint32_t *flips) {
    uint32_t section[MOST_SECTIONS], sections = hd_model_held(model, first, section, MOST_SECTIONS);
    uint32_t *order = hd_alloc(model->events, sizeof *order);
    bool can = false;
    if (sections > MOST_SECTIONS) sections = MOST_SECTIONS;
    for (uint32_t i = 0; i <= sections && !can; i++) {
        uint32_t waits = i == 0 ? first : model->section[section[i - 1]].acquire;
        if (i > 0 && waits >= first) continue;
        flip[*flips] = (struct hd_flip){first, second, waits};
        can = hd_flip(model, flip, *flips + 1, order) > 0;
    }
    free(order);
    *flips += can;
    return can;
}

static bool try_pair(struct experiments *e, uint32_t first, uint32_t second, bool goes_on) {
    struct hd_flip flip[1];
    uint32_t flips = 0;
    return add_flip(&e->failing->model, first, second, flip, &flips) &&
           try_flips(e, flip, flips, goes_on, true);
}

static bool may_try(const struct experiments *e) {
    return e->failing->there && e->left > 0 && e->x->options->repeats > 0 && !e->x->broken &&
           e->failing->model.events <= MOST_EVENTS && hd_seconds_now() < e->until;
}

bool explore_try_events(struct experiments *e, const uint32_t *event, uint32_t events,
                        bool goes_on) {
    const struct hd_model *model = &e->failing->model;
    for (uint32_t i = events; i-- > 1 && may_try(e);)
        if (model->thread[event[i - 1]] != model->thread[event[i]] && event[i - 1] < event[i] &&
            try_pair(e, event[i - 1], event[i], goes_on))
            return true;
    return false;
}

/* Of each triple the remote access comes after it, or before it; pairs come the other way round. As
 * many as can be together. */
static uint32_t collect_flips(const struct experiments *e, const struct hd_critical *list,
                              uint32_t count, unsigned way, struct hd_flip *flip) {
    uint32_t flips = 0;
    for (uint32_t i = 0; i < count && flips < MOST_FLIPS; i++) {
        unsigned at = list[i].events == 3 ? way : 0;
        add_flip(&e->failing->model, list[i].event[at], list[i].event[at + 1], flip, &flips);
    }
    return flips;
}

bool explore_try_set(struct experiments *e, const struct hd_critical *list, uint32_t count) {
    struct hd_flip flip[MOST_FLIPS];
    for (unsigned way = 0; way < 2 && may_try(e); way++) {
        uint32_t flips = collect_flips(e, list, count, way, flip);
        if (flips < 2 || !try_flips(e, flip, flips, false, false)) continue;
        for (uint32_t i = flips; i-- > 0 && flips > 1 && may_try(e);) {
            struct hd_flip without = flip[i];
            memmove(flip + i, flip + i + 1, (flips - i - 1) * sizeof *flip);
            if (try_flips(e, flip, flips - 1, false, false)) {
                flips--;
                continue;
            }
            memmove(flip + i + 1, flip + i, (flips - i - 1) * sizeof *flip);
            flip[i] = without;
        }
        if (may_try(e) && try_flips(e, flip, flips, false, true)) return true;
    }
    return false;
}

bool explore_try_locks(struct experiments *e) {
    const struct hd_model *model = &e->failing->model;
    for (uint32_t b = 0; e->failing->there && b < model->events; b++) {
        if (model->kind[b] != HD_EV_BLOCKED || model->flags[b] != HD_WAIT_LOCK ||
            model->object[b] >= model->locks)
            continue;
        for (uint32_t i = model->lock_start[model->object[b]];
             i < model->lock_start[model->object[b] + 1]; i++) {
            const struct hd_section *section = &model->section[model->lock_section[i]];
            if (section->release == HD_NONE && section->thread != model->thread[b] && may_try(e) &&
                try_pair(e, section->acquire, b, false))
                return true;
        }
    }
    return false;
}
