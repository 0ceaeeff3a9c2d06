/* One context switch, which no prediction reaches because the program would do something else: a
 * thread is stopped once, before an access or a wait that another thread's later access conflicts
 * with, the other runs as far as it can, and the first goes on. Other places are not tried: a
 * switch there would change nothing. */
#include "explore/explorer.h"
#include "facts/clocks.h"
#include "facts/patterns.h"
#include "facts/reversible.h"
#include "finding/words.h"

#include <stdio.h>
#include <string.h>

#define MOST_PLACES 2000u /* of a run */
#define MOST_EXCHANGES 4u /* updates of another thread before one's own */
#define MOST_AHEAD 1000u  /* accesses of a location that are looked at beyond one */
#define MOST_HELD 16u
#define MOST_REPEATS 4u /* of the same sites by other threads */

struct switches {
    struct explorer *x;
    struct recorded *run;
    const struct hd_model *model;
    const struct hd_clocks *clocks;
    /* by thread: its latest access, and the location that this is of */
    uint32_t *latest, *latest_of;
    struct hd_map known; /* places, by their sites */
    uint32_t places;
    bool early; /* only what is worth a try at once */
};

static struct switches begin_switches(struct explorer *x, struct recorded *run) {
    const struct hd_model *model = &run->model;
    struct switches s = {.x = x,
                         .run = run,
                         .model = model,
                         .clocks = hd_must_clocks(&run->analysis),
                         .latest = hd_zalloc(model->threads, sizeof *s.latest),
                         .latest_of = hd_alloc(model->threads, sizeof *s.latest_of)};
    for (uint32_t t = 0; t < model->threads; t++) s.latest_of[t] = HD_NONE;
    return s;
}

static void end_switches(struct switches *s) {
    hd_map_free(&s->known);
    free(s->latest);
    free(s->latest_of);
}

/* The access of its thread to the location before this one, HD_NONE; and this is the latest now. */
static uint32_t access_before(struct switches *s, uint32_t location, uint32_t event) {
    uint32_t thread = s->model->thread[event];
    uint32_t before = s->latest_of[thread] == location ? s->latest[thread] : HD_NONE;
    s->latest_of[thread] = location;
    s->latest[thread] = event;
    return before;
}

/* ---- who concerns whom ---------------------------------------------------------------------- */

static bool is_signal(const struct hd_model *model, uint32_t event) {
    return model->kind[event] == HD_EV_SIGNAL || model->kind[event] == HD_EV_BROADCAST;
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

static const char *words_for(struct hd_findings *findings, const struct hd_finding *finding) {
    const struct hd_finding_event *e = finding->event;
    if (finding->events == 3)
        return hd_finding_text(findings, "%s.", hd_words_between(findings, finding));
    return hd_finding_text(findings,
                           "%s before %s. In the run that passed it is the other way round, but no "
                           "synchronisation makes it so.",
                           hd_words_step(findings, &e[0], e[0].variable),
                           hd_words_step(findings, &e[1], e[1].variable));
}

static void wait_in_words(struct hd_findings *findings, struct hd_finding_event *event,
                          struct switches *s, uint32_t wait) {
    event->verb = "waits for";
    event->variable =
        hd_finding_text(findings, "%s", hd_describe_event(s->run->describe, wait, HD_SHORT));
    event->about = event->variable;
}

/* What a place is known for. */
enum sign {
    NO_SIGN,
    IN_NO_LOOP, /* a wait */
    EXCHANGE    /* of a value that was read before: it may be there again by then */
};

static const char *const sign_words[] = {
    [IN_NO_LOOP] = "The wait is in no loop: what it waits for may be gone again by the time it "
                   "returns.",
    [EXCHANGE] = "The exchange succeeds if the value is the same again, whatever else has changed "
                 "meanwhile (ABA)."};

static void add_words(struct hd_findings *findings, struct hd_finding *finding, enum sign sign) {
    finding->conclusion = words_for(findings, finding);
    if (sign == NO_SIGN) return;
    finding->conclusion = hd_finding_text(findings, "%s %s", finding->conclusion, sign_words[sign]);
    finding->repair = sign == IN_NO_LOOP ? HD_REPAIR_WAIT_LOOP : HD_REPAIR_ABA;
}

/* `event` of one thread, in front of which `other` is to come. `wait` is the wait that `event`
 * begins, or HD_NONE. */
static void add_place(struct switches *s, uint32_t before, uint32_t event, uint32_t other,
                      uint32_t wait, enum sign sign, uint32_t repeat) {
    const struct hd_model *model = s->model;
    uint32_t stop = place_to_stop(model, event, other);
    if (s->places >= MOST_PLACES || !exists(model, model->thread[other], stop)) return;
    bool atomic = hd_model_is_atomic(model, event) && hd_model_is_atomic(model, other);
    if (!atomic && hd_clocks_before(s->clocks, stop, other)) return;
    if (before != HD_NONE && before >= stop) before = HD_NONE; /* one section around both */
    enum hd_pattern pattern =
        before != HD_NONE ? hd_pattern_of_events(model, before, other, event) : HD_PATTERN_NONE;
    struct hd_findings *findings = &s->run->findings[DEPTH_SWITCH];
    uint32_t triple[3] = {before, other, event};
    bool three = pattern != HD_PATTERN_NONE;
    struct hd_finding draft = {.kind = three ? HD_FINDING_ATOMICITY : HD_FINDING_ORDER,
                               .verdict = HD_VERDICT_POSSIBLE,
                               .engine = "switch",
                               .pattern = three ? hd_pattern_name(pattern) : NULL,
                               .harm = HD_HARM_UNLIKELY,
                               .threads_involved = 2,
                               .variables_involved = 1,
                               .accesses_involved = three ? 3 : 2};
    hd_finding_set_events(findings, &draft, s->run->describe, model, three ? triple : triple + 1,
                          three ? 3 : 2);
    if (wait != HD_NONE) wait_in_words(findings, &draft.event[draft.events - 1], s, wait);
    if (is_signal(model, other)) draft.event[draft.events - 2].verb = "signals";
    add_words(findings, &draft, sign);
    struct hd_finding *finding = hd_finding_keep(findings, &draft);
    hd_finding_fingerprint(finding);
    struct target target = {.run = s->run,
                            .finding = finding,
                            .depth = DEPTH_SWITCH,
                            .early = sign != NO_SIGN,
                            .sign = sign_words[sign],
                            .repeat = repeat,
                            .stop = stop,
                            .other = other};
    s->places++;
    explore_add_target(s->x, &target);
}

/* ---- places --------------------------------------------------------------------------------- */

/* How often these sites came by other threads before; HD_NONE: by these threads too. */
static uint32_t count_place(struct switches *s, uint64_t sites, uint32_t event, uint32_t other) {
    uint64_t threads = (uint64_t)s->model->thread[event] << 32 | s->model->thread[other];
    uint32_t *own = hd_map_slot(&s->known, sites ^ hd_mix64(threads + 1), 0);
    if (++*own > 1) return HD_NONE;
    return (*hd_map_slot(&s->known, sites, 0))++;
}

/* The same sites are the same place. */
static bool look_at_pair(void *context, const struct hd_reversible *pair) {
    struct switches *s = context;
    const struct hd_model *model = s->model;
    uint64_t sites = hd_mix64((uint64_t)model->site[pair->first] << 32 | model->site[pair->second]);
    if (hd_model_is_access(model, pair->first))
        sites ^= hd_mix64(pair->before != HD_NONE ? model->site[pair->before] + 1u : 0u);
    uint32_t repeat = count_place(s, sites, pair->first, pair->second);
    if (repeat < MOST_REPEATS)
        add_place(s, pair->before, pair->first, pair->second, pair->wait,
                  s->early ? IN_NO_LOOP : NO_SIGN, repeat);
    return s->places < MOST_PLACES;
}

/* Is what a wait waits for looked at again after it, at the same place? The reads of the section
 * before it tell, and those of the one after it. */
static bool is_in_loop(const struct switches *s, uint32_t begins, uint32_t wait) {
    const struct hd_model *model = s->model;
    uint32_t thread = model->thread[wait], after = hd_model_position(model, wait) + 1;
    uint32_t count = model->thread_start[thread + 1] - model->thread_start[thread];
    const uint32_t *own = model->thread_event + model->thread_start[thread];
    uint32_t end = after;
    while (end < count && model->kind[own[end]] != HD_EV_RELEASE) end++;
    for (uint32_t i = hd_model_position(model, begins); i-- > 0;) {
        if (model->kind[own[i]] == HD_EV_ACQUIRE) break;
        if (!hd_model_is_read(model, own[i])) continue;
        char site[512];
        snprintf(site, sizeof site, "%s", hd_describe_site(s->run->describe, own[i]));
        for (uint32_t k = after; k < end; k++)
            if (hd_model_is_read(model, own[k]) &&
                strcmp(hd_describe_site(s->run->describe, own[k]), site) == 0)
                return true;
    }
    return false;
}

/* A wait in no loop, with the signal that may come too early. */
static bool look_at_loose_wait(void *context, const struct hd_reversible *pair) {
    return is_in_loop(context, pair->first, pair->wait) || look_at_pair(context, pair);
}

/* Each atomic update of what its thread has read before, with the second, third and fourth next
 * updates of another thread: it may put back what was there. */
static void look_at_exchanges(struct switches *s, uint32_t location) {
    const struct hd_model *model = s->model;
    uint32_t first = model->location_start[location], end = model->location_start[location + 1];
    for (uint32_t i = first; i < end; i++) {
        uint32_t event = model->location_event[i], thread = HD_NONE, updates = 0;
        uint32_t before = access_before(s, location, event);
        if (model->kind[event] != HD_EV_ATOMIC_UPDATE || before == HD_NONE ||
            model->kind[before] != HD_EV_ATOMIC_READ)
            continue;
        for (uint32_t k = i + 1; k < end && k - i < MOST_AHEAD && updates < MOST_EXCHANGES; k++) {
            uint32_t other = model->location_event[k];
            if (model->thread[other] == model->thread[event] || !hd_model_is_write(model, other) ||
                (thread != HD_NONE && model->thread[other] != thread))
                continue;
            thread = model->thread[other];
            if (++updates < 2) continue;
            uint64_t sites = (uint64_t)model->site[before] << 32 | model->site[event];
            if (count_place(s, hd_mix64(sites + updates), event, other) == 0)
                add_place(s, before, event, other, HD_NONE, EXCHANGE, updates - 2);
        }
    }
}

void explore_early_switches(struct explorer *x, struct recorded *run) {
    struct switches s = begin_switches(x, run);
    s.early = true;
    hd_reversible_waits(s.model, 1, look_at_loose_wait, &s);
    for (uint32_t l = 0; l < run->model.locations; l++)
        if (run->model.location[l].shared) look_at_exchanges(&s, l);
    end_switches(&s);
}

/* Each wait, with the next signal of its condition variable, which may come too early; every access
 * with those of other threads that conflict with it; sections of one lock in the other order, since
 * what is in them may be out of sight (memory that uninstrumented code touches). */
void explore_switches_of(struct explorer *x, struct recorded *run) {
    struct switches s = begin_switches(x, run);
    hd_reversible_waits(s.model, 1, look_at_pair, &s);
    if (s.places < MOST_PLACES) hd_reversible_accesses(s.model, MOST_AHEAD, look_at_pair, &s);
    if (s.places < MOST_PLACES) hd_reversible_sections(s.model, MOST_AHEAD, look_at_pair, &s);
    end_switches(&s);
}

/* ---- as a schedule -------------------------------------------------------------------------- */

/* How far the other thread goes: as far as it can, or out of the sections that it is in. */
static uint64_t calls_beyond(const struct hd_model *model, const uint64_t *count, uint32_t other,
                             bool briefly) {
    uint32_t thread = model->thread[other], last = other;
    if (!briefly)
        return count[model->thread_event[model->thread_start[thread + 1] - 1]] - count[other];
    uint32_t held[MOST_HELD], sections = hd_model_held(model, other, held, MOST_HELD);
    for (uint32_t i = 0; i < sections && i < MOST_HELD; i++)
        if (model->section[held[i]].release != HD_NONE && model->section[held[i]].release > last)
            last = model->section[held[i]].release;
    return count[last] - count[other];
}

bool explore_switch_schedule(const struct target *target, bool briefly,
                             struct hd_schedule *schedule, struct hd_error *error) {
    const struct hd_model *model = &target->run->model;
    struct hd_span before = {0, target->stop};
    if (!hd_schedule_from_witness(schedule, model, target->run->describe, &before, 1, 0, error))
        return false;
    uint64_t *count = hd_schedule_call_counts(model), made = 0, mark = count[target->other];
    uint32_t thread = model->thread[target->other];
    char text[1024];
    for (size_t i = 0; i < schedule->turn.size; i++)
        if (schedule->turn.data[i].thread == thread)
            made += schedule->turn.data[i].calls + schedule->turn.data[i].beyond;
    hd_schedule_event_text(target->run->describe, model, target->other, text, sizeof text);
    struct hd_turn turn = {.thread = thread,
                           .calls = mark > made ? mark - made : 0,
                           .beyond = calls_beyond(model, count, target->other, briefly),
                           .to = hd_schedule_text(schedule, text)};
    hd_vector_push(&schedule->turn, turn);
    hd_schedule_event_text(target->run->describe, model, target->stop, text, sizeof text);
    struct hd_turn next = {.thread = model->thread[target->stop],
                           .calls = hd_schedule_is_call(model, target->stop),
                           .to = hd_schedule_text(schedule, text)};
    hd_vector_push(&schedule->then, next);
    free(count);
    return true;
}
