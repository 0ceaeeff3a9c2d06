/* What no prediction reaches, because the program would do something else: a thread is stopped
 * once, before an access or a wait that another thread's later access concerns, the other runs as
 * far as it can, and the first goes on. A place where the other has no business is not tried: it
 * would change nothing. */
#include "expose/hunt_work.h"

#include <stdlib.h>
#include <string.h>

#define MOST_PLACES 2000u /* of a run */
#define MOST_HELD 16u

struct switches {
    struct hunt_work *work;
    struct hunt_run *run;
    const struct hd_model *model;
    struct hd_clocks *clocks;
    uint32_t places;
    bool failed;
};

/* ---- who concerns whom ---------------------------------------------------------------------- */

static bool is_signal(const struct hd_model *model, uint32_t event) {
    return model->kind[event] == HD_EV_SIGNAL || model->kind[event] == HD_EV_BROADCAST;
}

/* A wait begins with the release of its lock, and is only an event when it is over. */
static uint32_t wait_begins(const struct hd_model *model, uint32_t wait) {
    uint32_t position = hd_model_position(model, wait);
    const uint32_t *own = model->thread_event + model->thread_start[model->thread[wait]];
    while (position-- > 0)
        if (model->kind[own[position]] == HD_EV_RELEASE) return own[position];
    return HD_NONE;
}

static bool exists(const struct hd_model *model, uint32_t thread, uint32_t event) {
    uint32_t first = model->thread_start[thread];
    if (first == model->thread_start[thread + 1]) return false;
    if (model->thread_event[first] < event) return true;
    for (uint32_t i = 0; i < event; i++)
        if (model->kind[i] == HD_EV_FORK && model->object[i] == thread) return true;
    return false;
}

/* Does a thread take a lock between two events of the run? */
static bool takes(const struct hd_model *model, uint32_t thread, uint32_t lock, uint32_t from,
                  uint32_t to) {
    for (uint32_t i = model->lock_start[lock]; i < model->lock_start[lock + 1]; i++) {
        const struct hd_section *section = &model->section[model->lock_section[i]];
        if (section->thread == thread && section->acquire > from && section->acquire <= to)
            return true;
    }
    return false;
}

/* Where a thread has to stop so that the other gets to its event: before the outermost section that
 * would keep it out. */
static uint32_t place_to_stop(const struct hd_model *model, uint32_t event, uint32_t other) {
    uint32_t held[MOST_HELD], count = hd_model_held(model, event, held, MOST_HELD), stop = event;
    if (count > MOST_HELD) count = MOST_HELD;
    for (uint32_t i = 0; i < count; i++) { /* innermost first */
        const struct hd_section *section = &model->section[held[i]];
        if (section->acquire < stop &&
            takes(model, model->thread[other], section->lock, section->acquire, other))
            stop = section->acquire;
    }
    return stop;
}

/* ---- targets -------------------------------------------------------------------------------- */

static const char *pattern_of(const struct hd_model *model, uint32_t first, uint32_t remote,
                              uint32_t second) {
    bool a = hd_model_is_write(model, first), r = hd_model_is_write(model, remote),
         b = hd_model_is_write(model, second);
    if (!a && r) return b ? "R-W-W" : "R-W-R";
    if (a && r && !b) return "W-W-R";
    if (a && !r && b) return "W-R-W";
    return NULL;
}

static const char *words_for(struct hd_findings *findings, const struct hd_finding *finding) {
    const struct hd_finding_event *e = finding->event;
    if (finding->events == 3)
        return hd_finding_text(findings,
                               "%s %s %s at %s between two accesses of %s, which %s it at %s and "
                               "then %s it at %s.",
                               e[1].thread, e[1].verb, e[1].variable,
                               hd_finding_short_site(e[1].site), e[0].thread, e[0].verb,
                               hd_finding_short_site(e[0].site), e[2].verb,
                               hd_finding_short_site(e[2].site));
    return hd_finding_text(findings,
                           "%s %s %s at %s before %s %s %s at %s; in the run that passed it is the "
                           "other way round, but nothing sees to it.",
                           e[0].thread, e[0].verb, e[0].variable, hd_finding_short_site(e[0].site),
                           e[1].thread, e[1].verb, e[1].variable, hd_finding_short_site(e[1].site));
}

static void wait_in_words(struct hd_findings *findings, struct hd_finding_event *event,
                          struct switches *s, uint32_t wait) {
    event->verb = "waits for";
    event->variable =
        hd_finding_text(findings, "%s", hd_describe_event(s->run->describe, wait, HD_SHORT));
    event->about = event->variable;
}

/* `event` of one thread, in front of which `other` is to come. `wait` is the wait that `event`
 * begins, or HD_NONE. */
static void add_place(struct switches *s, uint32_t before, uint32_t event, uint32_t other,
                      uint32_t wait) {
    const struct hd_model *model = s->model;
    uint32_t stop = place_to_stop(model, event, other);
    if (s->places >= MOST_PLACES || !exists(model, model->thread[other], stop)) return;
    bool atomic = hd_model_is_atomic(model, event) && hd_model_is_atomic(model, other);
    if (!atomic && hd_clocks_before(s->clocks, stop, other)) return;
    if (before != HD_NONE && before >= stop) before = HD_NONE; /* one section around both */
    const char *pattern = before != HD_NONE ? pattern_of(model, before, other, event) : NULL;
    struct hd_findings *findings = &s->run->findings[HUNT_SWITCHED];
    uint32_t triple[3] = {before, other, event};
    struct hd_finding *made = hd_finding_add(findings);
    if (made == NULL) {
        s->failed = true;
        return;
    }
    struct hd_finding *finding = hd_arena_alloc(&findings->arena, sizeof *finding);
    if (finding != NULL) *finding = *made;
    findings->list.size--;
    if (finding == NULL) {
        s->failed = true;
        return;
    }
    bool three = pattern != NULL;
    finding->kind = three ? HD_FINDING_ATOMICITY : HD_FINDING_ORDER;
    finding->verdict = HD_VERDICT_POSSIBLE;
    finding->engine = "switch";
    finding->pattern = pattern;
    finding->harm = HD_HARM_UNLIKELY;
    finding->threads_involved = 2;
    finding->variables_involved = 1;
    finding->accesses_involved = three ? 3 : 2;
    hd_finding_set_events(findings, finding, s->run->describe, model, three ? triple : triple + 1,
                          three ? 3 : 2);
    if (finding->events == 0) {
        s->failed = true;
        return;
    }
    if (wait != HD_NONE) wait_in_words(findings, &finding->event[finding->events - 1], s, wait);
    if (is_signal(model, other)) finding->event[finding->events - 2].verb = "signals";
    finding->conclusion = words_for(findings, finding);
    struct hd_findings alone = {.list = {.data = finding, .size = 1, .capacity = 1}};
    hd_findings_fingerprint(&alone, model);
    struct hunt_target target = {
        .run = s->run, .finding = finding, .switched = true, .stop = stop, .other = other};
    s->places++;
    if (!hunt_add_target(s->work, &target, HUNT_SWITCHED)) s->failed = true;
}

/* ---- places --------------------------------------------------------------------------------- */

/* Every access to a location, with the next of each other thread that conflicts with it. The same
 * sites are the same place. */
static void look_at_location(struct switches *s, uint32_t location, struct hd_map *known) {
    const struct hd_model *model = s->model;
    uint32_t first = model->location_start[location], end = model->location_start[location + 1];
    for (uint32_t i = first; i < end && !s->failed; i++) {
        uint32_t event = model->location_event[i], before = HD_NONE;
        uint32_t thread = model->thread[event];
        for (uint32_t k = first; k < i; k++)
            if (model->thread[model->location_event[k]] == thread)
                before = model->location_event[k];
        for (uint32_t k = i + 1; k < end && !s->failed; k++) {
            uint32_t other = model->location_event[k];
            if (model->thread[other] == thread) continue;
            if (!hd_model_is_write(model, event) && !hd_model_is_write(model, other)) continue;
            uint64_t sites = (uint64_t)model->site[event] << 32 | model->site[other];
            uint64_t place =
                hd_mix64(sites) ^ hd_mix64(before != HD_NONE ? model->site[before] + 1u : 0u);
            uint32_t *slot = hd_map_slot(known, place, 0);
            if (slot == NULL) s->failed = true;
            if (slot == NULL || ++*slot > 1) continue;
            add_place(s, before, event, other, HD_NONE);
        }
    }
}

/* Each wait, with each signal of its condition variable: it may come too early. */
static void look_at_waits(struct switches *s) {
    const struct hd_model *model = s->model;
    for (uint32_t wait = 0; wait < model->events && !s->failed; wait++) {
        if (model->kind[wait] != HD_EV_WAIT) continue;
        uint32_t begins = wait_begins(model, wait);
        for (uint32_t other = begins != HD_NONE ? begins + 1 : model->events;
             other < model->events && !s->failed; other++)
            if (is_signal(model, other) && model->object[other] == model->object[wait] &&
                model->thread[other] != model->thread[wait]) {
                add_place(s, HD_NONE, begins, other, wait);
                break;
            }
    }
}

bool hunt_switch(struct hunt_work *work, struct hunt_run *run, struct hd_error *error) {
    struct switches s = {
        .work = work, .run = run, .model = &run->model, .clocks = hd_clocks_build(&run->model)};
    struct hd_map known = {0};
    s.failed = s.clocks == NULL;
    if (!s.failed) look_at_waits(&s);
    for (uint32_t l = 0; l < run->model.locations && !s.failed; l++)
        if (run->model.location[l].shared && s.places < MOST_PLACES)
            look_at_location(&s, l, &known);
    hd_map_free(&known);
    if (s.clocks != NULL) hd_clocks_free(s.clocks);
    return !s.failed || hd_fail(error, HD_ERR_MEMORY, "out of memory");
}

/* ---- as a schedule -------------------------------------------------------------------------- */

bool hunt_switch_schedule(const struct hunt_target *target, struct hd_schedule *schedule,
                          struct hd_error *error) {
    const struct hd_model *model = &target->run->model;
    struct hd_run before = {0, target->stop};
    if (!hd_schedule_from_witness(schedule, model, target->run->describe, &before, 1, 0, error))
        return false;
    uint64_t *count = hd_schedule_call_counts(model), made = 0, all = 0;
    uint32_t thread = model->thread[target->other];
    char text[1024];
    bool good = count != NULL;
    for (size_t i = 0; i < schedule->turn.size; i++)
        if (schedule->turn.data[i].thread == thread)
            made += schedule->turn.data[i].calls + schedule->turn.data[i].beyond;
    for (uint32_t i = model->thread_start[thread]; good && i < model->thread_start[thread + 1]; i++)
        all = count[model->thread_event[i]];
    if (good) {
        uint64_t mark = count[target->other];
        hd_schedule_event_text(target->run->describe, model, target->other, text, sizeof text);
        struct hd_turn turn = {.thread = thread,
                               .calls = mark > made ? mark - made : 0,
                               .beyond = all > mark ? all - mark : 0,
                               .to = hd_schedule_text(schedule, text)};
        good = hd_vector_push(&schedule->turn, turn);
        hd_schedule_event_text(target->run->describe, model, target->stop, text, sizeof text);
        struct hd_turn next = {.thread = model->thread[target->stop],
                               .calls = hd_schedule_is_call(model, target->stop),
                               .to = hd_schedule_text(schedule, text)};
        if (good) good = hd_vector_push(&schedule->then, next);
    }
    free(count);
    if (good) return true;
    hd_schedule_free(schedule);
    return hd_fail(error, HD_ERR_MEMORY, "out of memory");
}
