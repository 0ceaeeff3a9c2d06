/* The failing run itself, and the accesses that matter in its order and in that of a run that
 * passed. */
#include "explore/explorer.h"
#include "facts/site.h"
#include "facts/waits.h"

#include <string.h>

#define MOST_LINES 12u

const char *explore_text(struct explorer *x, const char *text) {
    return hd_finding_text(&x->own, "%s", text);
}

/* ---- the failing run ------------------------------------------------------------------------ */

void explore_failing_load(const struct explorer *x, struct failing *failing, const char *path,
                          const struct hd_schedule *schedule) {
    struct hd_model_options lenient = {.lenient = true};
    struct hd_trace_options read = explore_reading(x);
    struct hd_error ignored;
    memset(failing, 0, sizeof *failing);
    if (path[0] == '\0') return;
    struct hd_trace_mark *mark = schedule != NULL ? hd_schedule_marks(schedule, &read.marks) : NULL;
    read.mark = mark;
    bool loaded = hd_model_load(path, &read, &lenient, &failing->model, &ignored);
    free(mark);
    if (!loaded) return;
    failing->describe = hd_describe_open(&failing->model);
    failing->count = hd_schedule_call_counts(&failing->model);
    failing->there = true;
}

void explore_failing_free(struct failing *failing) {
    if (!failing->there) return;
    free(failing->count);
    hd_describe_close(failing->describe);
    hd_model_free(&failing->model);
    failing->there = false;
}

/* ---- the orders ----------------------------------------------------------------------------- */

struct hd_finding_line explore_line(struct explorer *x, struct hd_describe *describe,
                                    const struct hd_model *model, uint32_t event,
                                    const char *after) {
    const char *word = hd_event_text(model->kind[event], model->flags[event]);
    bool of_child = model->kind[event] == HD_EV_NOTE && hd_note_is_child(model->flags[event]);
    if (of_child) word = "acq";
    if (*word == '\0') word = hd_kind_name(model->kind[event]);
    return (struct hd_finding_line){
        .thread = of_child ? "child"
                           : explore_text(x, hd_describe_thread(describe, model->thread[event])),
        .text = hd_finding_text(&x->own, "%s(%s)%s", word,
                                hd_describe_event(describe, event, HD_SHORT), after),
        .site = explore_text(x, hd_finding_short_site(hd_describe_site(describe, event)))};
}

/* ---- an access in other runs ---------------------------------------------------------------- */

static bool is_like(const struct hd_model *model, struct hd_describe *describe, uint32_t event,
                    uint8_t kind, uint64_t site) {
    return model->kind[event] == kind && hd_site_source(describe, model, event) == site;
}

struct access explore_access(const struct hd_model *model, struct hd_describe *describe,
                             const uint64_t *count, uint32_t event) {
    struct access access = {.thread = model->thread[event],
                            .kind = model->kind[event],
                            .count = count[event],
                            .site = hd_site_source(describe, model, event)};
    const uint32_t *own = model->thread_event + model->thread_start[access.thread];
    for (uint32_t i = 0; own[i] != event; i++)
        access.nth += is_like(model, describe, own[i], access.kind, access.site);
    return access;
}

/* The same call of its thread; or, where the thread took another way to it, the access that comes
 * as often at this place. */
uint32_t explore_find_access(const struct access *access, const struct hd_model *model,
                             struct hd_describe *describe, const uint64_t *count) {
    uint32_t event = hd_schedule_event_at(model, count, access->thread, access->count), nth = 0;
    if (event != HD_NONE && is_like(model, describe, event, access->kind, access->site))
        return event;
    if (access->thread >= model->threads) return HD_NONE;
    for (uint32_t i = model->thread_start[access->thread];
         i < model->thread_start[access->thread + 1]; i++)
        if (is_like(model, describe, model->thread_event[i], access->kind, access->site) &&
            nth++ == access->nth)
            return model->thread_event[i];
    return HD_NONE;
}

/* Are two events about the same memory? */
static bool share_memory(const struct hd_model *model, uint32_t a, uint32_t b) {
    const uint32_t *left, *right;
    uint32_t lefts = hd_model_locations(model, a, &left);
    uint32_t rights = hd_model_locations(model, b, &right);
    for (uint32_t i = 0; i < lefts; i++)
        for (uint32_t k = 0; k < rights; k++)
            if (left[i] == right[k]) return true;
    return false;
}

/* What a run that failed did not get to comes last; one that passed has to have them `all`. The
 * same places on another object are something else. */
static bool is_in_order(const struct order *order, const struct hd_model *model,
                        struct hd_describe *describe, const uint64_t *count, bool all) {
    uint32_t before = HD_NONE;
    for (uint32_t i = 0; i < order->accesses; i++) {
        uint32_t event = explore_find_access(&order->access[i], model, describe, count);
        if ((i == 0 || all) && event == HD_NONE) return false;
        if (i > 0 && event != HD_NONE && (before == HD_NONE || before > event)) return false;
        if (i > 0 && event != HD_NONE && order->together && !share_memory(model, before, event))
            return false;
        before = event;
    }
    return order->accesses > 0;
}

bool explore_order_tells(struct explorer *x, const struct order *order,
                         const struct failing *failing) {
    if (!failing->there ||
        !is_in_order(order, &failing->model, failing->describe, failing->count, false))
        return false;
    for (size_t i = 0; i < x->run.size; i++) {
        struct recorded *run = x->run.data[i];
        uint64_t *count = hd_schedule_call_counts(&run->model);
        bool passes = is_in_order(order, &run->model, run->describe, count, true);
        free(count);
        if (passes) return false;
    }
    return true;
}

/* ---- the accesses that matter --------------------------------------------------------------- */

struct place {
    uint32_t event; /* of the run that passed */
    uint32_t other; /* of the failing one, HD_NONE if it did not get there */
    uint32_t wait;  /* the wait that `event` begins, HD_NONE if it is none */
    struct access access;
};

static int by_event(const void *left, const void *right) {
    const struct place *a = left, *b = right;
    return a->event < b->event ? -1 : a->event > b->event;
}
static int by_other(const void *left, const void *right) {
    const struct place *a = left, *b = right;
    return a->other < b->other ? -1 : a->other > b->other;
}

static void add_place(struct place *place, uint32_t *places, const struct hd_model *model,
                      uint32_t event) {
    if (event == HD_NONE || *places == MOST_LINES) return;
    struct place added = {.event = event, .other = HD_NONE, .wait = HD_NONE};
    if (model->kind[event] == HD_EV_WAIT && hd_wait_begins(model, event) != HD_NONE) {
        added.event = hd_wait_begins(model, event); /* that is what matters */
        added.wait = event;
    } else
        added.wait = hd_wait_begun_by(model, event);
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
static uint32_t places_of(const struct target *target, struct place *place) {
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

static void make_room(struct explorer *x, uint32_t lines, struct hd_finding_forced *forced,
                      struct order *order) {
    forced->goods = forced->bads = order->accesses = 0;
    forced->good = hd_arena_zalloc(&x->own.arena, lines + (size_t)1, sizeof *forced->good);
    forced->bad = hd_arena_zalloc(&x->own.arena, lines + (size_t)1, sizeof *forced->bad);
    order->access = hd_arena_zalloc(&x->own.arena, lines + (size_t)1, sizeof *order->access);
}

/* The accesses of a triple and of an order are listed as they go wrong. What the failing run did
 * not get to would have come last. */
static bool come_as_listed(const struct place *place, uint32_t places) {
    if (places > 0 && place[0].other == HD_NONE) return false;
    for (uint32_t i = 1; i < places; i++)
        if (place[i].other != HD_NONE &&
            (place[i - 1].other == HD_NONE || place[i - 1].other > place[i].other))
            return false;
    return true;
}

static struct hd_finding_line failing_line(struct explorer *x, const struct target *target,
                                           const struct failing *failing,
                                           const struct place *place) {
    const struct recorded *run = target->run;
    if (place->other == HD_NONE)
        return explore_line(x, run->describe, &run->model, place->event,
                            target->finding->kind == HD_FINDING_DEADLOCK ? " waits"
                                                                         : " not reached");
    if (place->wait != HD_NONE) return explore_line(x, run->describe, &run->model, place->wait, "");
    return explore_line(x, failing->describe, &failing->model, place->other, "");
}

bool explore_is_listed(const struct hd_finding *finding) {
    return finding->kind == HD_FINDING_ATOMICITY || finding->kind == HD_FINDING_ORDER ||
           hd_is_suspicion(finding);
}

/* Good and bad order of a prediction's events. What the failing run did not get to (a lock that
 * never came) is last. */
void explore_set_orders(struct explorer *x, const struct target *target,
                        const struct failing *failing, struct hd_finding_forced *forced,
                        struct order *order, bool *holds) {
    struct place place[MOST_LINES];
    const struct recorded *run = target->run;
    uint32_t places = places_of(target, place), found = 0;
    uint64_t *count = hd_schedule_call_counts(&run->model);
    make_room(x, places, forced, order);
    for (uint32_t i = 0; i < places; i++) {
        place[i].access = explore_access(&run->model, run->describe, count, place[i].event);
        if (failing->there)
            place[i].other = explore_find_access(&place[i].access, &failing->model,
                                                 failing->describe, failing->count);
        found += place[i].other != HD_NONE;
    }
    free(count);
    if (failing->there &&
        (found == 0 || (explore_is_listed(target->finding) && !come_as_listed(place, places))))
        *holds = false;
    order->together = true;
    for (uint32_t i = 1; i < places; i++)
        order->together &= share_memory(&run->model, place[i - 1].event, place[i].event);
    qsort(place, places, sizeof *place, by_event);
    for (uint32_t i = 0; i < places; i++)
        forced->good[forced->goods++] =
            explore_line(x, run->describe, &run->model, shown(&place[i]), "");
    if (!failing->there) return;
    qsort(place, places, sizeof *place, by_other);
    for (uint32_t i = 0; i < places; i++) {
        forced->bad[forced->bads++] = failing_line(x, target, failing, &place[i]);
        /* Threads that wait for each other do so because of what comes never. */
        if (target->finding->kind != HD_FINDING_DEADLOCK)
            order->access[order->accesses++] = place[i].access;
    }
}

/* The same accesses in a run that passed, all of them and in another order; false if it has them
 * not. */
static bool set_passing_order(struct explorer *x, struct recorded *run, const struct order *order,
                              struct hd_finding_forced *forced) {
    struct place place[3];
    uint32_t places = 0;
    uint64_t *count = hd_schedule_call_counts(&run->model);
    for (uint32_t i = 0; i < order->accesses; i++) {
        uint32_t like = explore_find_access(&order->access[i], &run->model, run->describe, count);
        if (like != HD_NONE) add_place(place, &places, &run->model, like);
    }
    free(count);
    if (places < order->accesses) return false;
    qsort(place, places, sizeof *place, by_event);
    forced->goods = 0;
    for (uint32_t i = 0; i < places; i++)
        forced->good[forced->goods++] =
            explore_line(x, run->describe, &run->model, place[i].event, "");
    if (!explore_same_orders(forced)) return true;
    forced->goods = 0;
    return false;
}

void explore_set_found_orders(struct explorer *x, const uint32_t *event, uint32_t events,
                              const struct failing *failing, struct hd_finding_forced *forced,
                              struct order *order) {
    make_room(x, events, forced, order);
    order->together = true;
    for (uint32_t i = 0; i < events; i++) {
        if (i > 0) order->together &= share_memory(&failing->model, event[i - 1], event[i]);
        forced->bad[forced->bads++] =
            explore_line(x, failing->describe, &failing->model, event[i], "");
        order->access[order->accesses++] =
            explore_access(&failing->model, failing->describe, failing->count, event[i]);
    }
    for (size_t i = 0; i < x->run.size; i++)
        if (set_passing_order(x, x->run.data[i], order, forced)) return;
}

bool explore_same_orders(const struct hd_finding_forced *forced) {
    if (forced->goods != forced->bads) return false;
    for (uint32_t i = 0; i < forced->goods; i++)
        if (strcmp(forced->good[i].thread, forced->bad[i].thread) != 0 ||
            strcmp(forced->good[i].text, forced->bad[i].text) != 0 ||
            strcmp(forced->good[i].site, forced->bad[i].site) != 0)
            return false;
    return true;
}
