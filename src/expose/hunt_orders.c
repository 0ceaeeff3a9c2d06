/* The failing run itself, and the accesses that matter in its order and in that of a run that
 * passed. See hunt_orders.h. */
#include "expose/hunt_orders.h"

#include <stdlib.h>
#include <string.h>

#define MOST_LINES 12u

static const char *text_of(struct hunt_work *work, const char *words) {
    return hd_finding_text(&work->own, "%s", words);
}

/* ---- the failing run ------------------------------------------------------------------------ */

void hunt_failing_load(struct hunt_failing *failing, const char *path) {
    struct hd_model_options lenient = {.lenient = true};
    struct hd_error ignored;
    memset(failing, 0, sizeof *failing);
    if (path[0] == '\0' || !hd_model_load(path, NULL, &lenient, &failing->model, &ignored)) return;
    failing->describe = hd_describe_open(&failing->model);
    failing->count = hd_schedule_call_counts(&failing->model);
    failing->there = true;
}

void hunt_failing_free(struct hunt_failing *failing) {
    if (!failing->there) return;
    free(failing->count);
    hd_describe_close(failing->describe);
    hd_model_free(&failing->model);
    failing->there = false;
}

/* ---- the orders ----------------------------------------------------------------------------- */

static struct hd_finding_line line_of(struct hunt_work *work, struct hd_describe *describe,
                                      const struct hd_model *model, uint32_t event,
                                      const char *after) {
    const char *word = hd_kind_text(model->kind[event]);
    if (*word == '\0') word = hd_kind_name(model->kind[event]);
    return (struct hd_finding_line){
        .thread = text_of(work, hd_describe_thread(describe, model->thread[event])),
        .text = hd_finding_text(&work->own, "%s(%s)%s", word,
                                hd_describe_event(describe, event, HD_SHORT), after),
        .site = text_of(work, hd_finding_short_site(hd_describe_site(describe, event)))};
}

struct place {
    uint32_t event; /* of the run that passed */
    uint32_t other; /* of the failing one, HD_NONE if it did not get there */
    uint32_t wait;  /* the wait that `event` begins, HD_NONE if it is none */
};

static int by_event(const void *left, const void *right) {
    const struct place *a = left, *b = right;
    return a->event < b->event ? -1 : a->event > b->event;
}
static int by_other(const void *left, const void *right) {
    const struct place *a = left, *b = right;
    return a->other < b->other ? -1 : a->other > b->other;
}

/* A wait is an event when it is over; what matters is when it began, with the release of its
 * lock. */
static uint32_t begin_of_wait(const struct hd_model *model, uint32_t event, uint32_t *wait) {
    const uint32_t *own = model->thread_event + model->thread_start[model->thread[event]];
    uint32_t position = hd_model_position(model, event);
    uint32_t count =
        model->thread_start[model->thread[event] + 1u] - model->thread_start[model->thread[event]];
    *wait = HD_NONE;
    if (model->kind[event] == HD_EV_WAIT && position > 0 &&
        model->kind[own[position - 1]] == HD_EV_RELEASE) {
        *wait = event;
        return own[position - 1];
    }
    if (model->kind[event] == HD_EV_RELEASE && position + 1 < count &&
        model->kind[own[position + 1]] == HD_EV_WAIT)
        *wait = own[position + 1];
    return event;
}

static void add_place(struct place *place, uint32_t *places, const struct hd_model *model,
                      uint32_t event) {
    if (event == HD_NONE || *places == MOST_LINES) return;
    struct place added = {.other = HD_NONE};
    added.event = begin_of_wait(model, event, &added.wait);
    for (uint32_t i = 0; i < *places; i++)
        if (place[i].event == added.event) return;
    place[(*places)++] = added;
}

static uint32_t shown(const struct place *place) {
    return place->wait != HD_NONE ? place->wait : place->event;
}

static bool is_told(const struct hd_finding *finding, const struct hd_model *model,
                    const struct hd_finding_step *step) {
    for (uint32_t i = 0; i < finding->events; i++)
        if (hd_finding_in_words(i, finding->events) &&
            finding->event[i].thread_number == model->thread[step->event])
            return true;
    return false;
}

/* The events of a prediction; of a deadlock also how the locks came to be held. */
static uint32_t places_of(const struct hunt_target *target, struct place *place) {
    const struct hd_finding *finding = target->finding;
    const struct hd_model *model = &target->run->model;
    uint32_t places = 0;
    for (uint32_t i = 0; i < finding->events; i++)
        if (hd_finding_in_words(i, finding->events))
            add_place(place, &places, model, finding->event[i].event);
    for (uint32_t i = 0; finding->kind == HD_FINDING_DEADLOCK && i < finding->steps; i++) {
        const struct hd_finding_step *step = &finding->step[i];
        if (step->folded == 0 && step->event < model->events && is_told(finding, model, step) &&
            (model->kind[step->event] == HD_EV_ACQUIRE ||
             model->kind[step->event] == HD_EV_READ_ACQUIRE))
            add_place(place, &places, model, step->event);
    }
    return places;
}

/* Good and bad order of a prediction's events. What the failing run did not get to (a lock that
 * never came) is last. */
void hunt_set_orders(struct hunt_work *work, const struct hunt_target *target,
                     const struct hunt_failing *failing, struct hd_finding_forced *forced,
                     bool *holds) {
    struct place place[MOST_LINES];
    const struct hunt_run *run = target->run;
    uint32_t places = places_of(target, place);
    uint64_t *count = hd_schedule_call_counts(&run->model);
    forced->good = hd_arena_zalloc(&work->own.arena, places + (size_t)1, sizeof *forced->good);
    forced->bad = hd_arena_zalloc(&work->own.arena, places + (size_t)1, sizeof *forced->bad);
    if (count == NULL || forced->good == NULL || forced->bad == NULL) {
        work->own.out_of_memory = true;
        free(count);
        return;
    }
    for (uint32_t i = 0; failing->there && i < places; i++) {
        uint32_t other =
            hd_schedule_event_at(&failing->model, failing->count, run->model.thread[place[i].event],
                                 count[place[i].event]);
        if (other != HD_NONE && failing->model.kind[other] == run->model.kind[place[i].event])
            place[i].other = other;
    }
    free(count);
    /* The accesses of a triple and of an order are listed as they go wrong. */
    bool listed =
        target->finding->kind == HD_FINDING_ATOMICITY || target->finding->kind == HD_FINDING_ORDER;
    for (uint32_t i = 1; listed && i < places; i++)
        if (place[i].other != HD_NONE &&
            (place[i - 1].other == HD_NONE || place[i - 1].other > place[i].other))
            *holds = false;
    qsort(place, places, sizeof *place, by_event);
    for (uint32_t i = 0; i < places; i++)
        forced->good[forced->goods++] =
            line_of(work, run->describe, &run->model, shown(&place[i]), "");
    qsort(place, places, sizeof *place, by_other);
    bool stuck = target->finding->kind == HD_FINDING_DEADLOCK;
    for (uint32_t i = 0; failing->there && i < places; i++) {
        bool came = place[i].other != HD_NONE;
        if (came && place[i].wait != HD_NONE)
            forced->bad[forced->bads++] =
                line_of(work, run->describe, &run->model, place[i].wait, "");
        else if (came)
            forced->bad[forced->bads++] =
                line_of(work, failing->describe, &failing->model, place[i].other, "");
        else if (stuck)
            forced->bad[forced->bads++] =
                line_of(work, run->describe, &run->model, place[i].event, " waits");
    }
}

/* The same access in a run that passed: thread, kind and place. */
static uint32_t like_in(struct hunt_run *run, const struct hunt_failing *failing, uint32_t event) {
    const char *site = hd_describe_site(failing->describe, event);
    uint32_t thread = failing->model.thread[event];
    if (thread >= run->model.threads || *site == '\0') return HD_NONE;
    for (uint32_t i = run->model.thread_start[thread]; i < run->model.thread_start[thread + 1];
         i++) {
        uint32_t other = run->model.thread_event[i];
        if (run->model.kind[other] == failing->model.kind[event] &&
            strcmp(hd_describe_site(run->describe, other), site) == 0)
            return other;
    }
    return HD_NONE;
}

void hunt_set_found_orders(struct hunt_work *work, const struct hd_critical *critical,
                           const struct hunt_failing *failing, struct hd_finding_forced *forced) {
    struct place place[3];
    uint32_t places = 0;
    struct hunt_run *run = work->run.size > 0 ? work->run.data[0] : NULL;
    forced->good = hd_arena_zalloc(&work->own.arena, 4, sizeof *forced->good);
    forced->bad = hd_arena_zalloc(&work->own.arena, 4, sizeof *forced->bad);
    if (forced->good == NULL || forced->bad == NULL) {
        work->own.out_of_memory = true;
        return;
    }
    for (uint32_t i = 0; i < critical->events; i++) {
        forced->bad[forced->bads++] =
            line_of(work, failing->describe, &failing->model, critical->event[i], "");
        uint32_t like = run != NULL ? like_in(run, failing, critical->event[i]) : HD_NONE;
        if (like != HD_NONE) add_place(place, &places, &run->model, like);
    }
    qsort(place, places, sizeof *place, by_event);
    for (uint32_t i = 0; i < places; i++)
        forced->good[forced->goods++] =
            line_of(work, run->describe, &run->model, place[i].event, "");
}

bool hunt_same_orders(const struct hd_finding_forced *forced) {
    if (forced->goods != forced->bads) return false;
    for (uint32_t i = 0; i < forced->goods; i++)
        if (strcmp(forced->good[i].thread, forced->bad[i].thread) != 0 ||
            strcmp(forced->good[i].text, forced->bad[i].text) != 0 ||
            strcmp(forced->good[i].site, forced->bad[i].site) != 0)
            return false;
    return true;
}

/* What was aimed at came as it always does; it is something else that makes the difference. */
void hunt_look_for_orders(struct hunt_work *work, const struct hunt_failing *failing,
                          struct hd_finding_forced *forced) {
    struct hd_critical critical = {0};
    if (!failing->there || !hd_critical_find(&work->seen, &failing->model, &critical)) return;
    if (critical.events == 0) return;
    forced->goods = forced->bads = 0;
    hunt_set_found_orders(work, &critical, failing, forced);
}
