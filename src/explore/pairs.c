/* Pairs of operations that always came in one order and could come in the other. See potential.h.
 *
 * An order nobody sees to is a bug by itself if the program needs it, and it is also how two
 * variables, or a lock and a variable, get mixed up: one thread is late by just this operation. */
#include "explore/potential.h"

#include "facts/reversible.h"

#include <stdio.h>

#define MOST_AHEAD 64u  /* accesses after one that are looked at */
#define MOST_SIGNALS 8u /* after a wait that are looked at */
#define MOST_NESTS 8u   /* pairs of locks, one taken inside the other: threads that are looked at */
#define MOST_HELD 64u

/* `inner` is taken in a section of another lock, which began with `outer`. */
struct nest {
    uint32_t outer, inner; /* acquires */
    uint32_t next;
};

struct collector {
    struct hd_profile *profile;
    struct hd_analysis *analysis;
    const struct hd_model *model;
    const struct hd_clocks *clocks;
    struct hd_map place;         /* site -> place */
    HD_VECTOR(struct nest) nest; /* by their locks in chains */
    struct hd_map nest_of;
    struct hd_map stops; /* two places at which threads are suspended for a pair */
};

static uint32_t place_of(struct collector *c, uint32_t event) {
    return hd_profile_place(c->profile, c->analysis, &c->place, event);
}

/* Where a thread is suspended before an event, so that the other's comes first: outside of critical
 * sections, but not before anything that makes the other possible. */
static uint32_t stop_of(struct collector *c, uint32_t event, uint32_t other) {
    uint32_t section[MOST_HELD], held = hd_model_held(c->model, event, section, MOST_HELD);
    uint32_t stop = event;
    for (uint32_t i = 0; i < held && i < MOST_HELD; i++) { /* innermost first */
        uint32_t acquire = c->model->section[section[i]].acquire;
        if (acquire > event || hd_clocks_before(c->clocks, acquire, other) ||
            c->model->flags[acquire] & HD_LOCK_BY_WAIT)
            break;
        stop = acquire;
    }
    return place_of(c, stop);
}

static uint64_t key_of(uint32_t c, uint32_t r) {
    return hd_mix64((uint64_t)c << 32 | r) ^ 0x9a195; /* unlike those of triples */
}

/* Once more? Most are: what it takes to add one is left until then. */
static bool is_known(struct collector *c, uint32_t first, uint32_t second) {
    uint32_t number = hd_map_get(&c->profile->number,
                                 key_of(place_of(c, first), place_of(c, second)), UINT32_MAX);
    if (number == UINT32_MAX) return false;
    struct hd_interleaving *known = &c->profile->list.data[number];
    known->pairs++;
    if (second - first < known->distance) known->distance = second - first;
    return true;
}

/* `first` came before `second`: the other order is a pair that may be forced. */
static void add_pair(struct collector *c, uint32_t first, uint32_t second, uint32_t first_stop,
                     uint32_t second_stop, uint64_t rank, const char *variable) {
    struct hd_profile *profile = c->profile;
    uint32_t place = place_of(c, first), other = place_of(c, second);
    if (place == 0 || other == 0 || first_stop == 0 || second_stop == 0 ||
        is_known(c, first, second))
        return;
    uint32_t *slot = hd_map_slot(&profile->number, key_of(place, other), UINT32_MAX);
    struct hd_interleaving pair = {.c = place,
                                   .r = other,
                                   .c_stop = first_stop,
                                   .r_stop = second_stop,
                                   .frees = c->model->kind[second] == HD_EV_FREE,
                                   .c_thread = c->model->thread[first],
                                   .r_thread = c->model->thread[second],
                                   .pairs = 1,
                                   .gap = rank,
                                   .distance = second - first};
    snprintf(pair.variable, sizeof pair.variable, "%s", variable);
    *slot = (uint32_t)profile->list.size;
    hd_vector_push(&profile->list, pair);
    hd_map_slot(&c->stops, (uint64_t)first_stop << 32 | second_stop, 1);
}

/* Two places that have been seen in either order were harmless in both; one place in two threads
 * says nothing. */
static void see_order(struct collector *c, uint32_t first, uint32_t second) {
    uint32_t place = place_of(c, first), other = place_of(c, second);
    if (place != other) hd_map_slot(&c->profile->order, (uint64_t)place << 32 | other, 1);
}

/* ---- accesses ------------------------------------------------------------------------------- */

static bool look_at_accesses(void *context, const struct hd_reversible *pair) {
    struct collector *c = context;
    uint32_t first = pair->first, second = pair->second;
    see_order(c, first, second);
    if (c->model->kind[first] != HD_EV_FREE && !hd_clocks_before(c->clocks, first, second) &&
        !is_known(c, first, second))
        add_pair(c, first, second, stop_of(c, first, second), stop_of(c, second, first), 0,
                 hd_describe_location(c->analysis->describe, pair->about, HD_SHORT));
    return true;
}

/* ---- waits ---------------------------------------------------------------------------------- */

static bool holds(const struct hd_model *model, uint32_t event, uint32_t lock) {
    uint32_t section[MOST_HELD], held = hd_model_held(model, event, section, MOST_HELD);
    for (uint32_t i = 0; i < held && i < MOST_HELD; i++)
        if (model->section[section[i]].lock == lock) return true;
    return false;
}

/* A signal that comes before the wait is lost. If it is sent without the wait's lock, that may be
 * at the last moment, when everything has been tested. */
static bool look_at_wait(void *context, const struct hd_reversible *pair) {
    struct collector *c = context;
    const struct hd_model *model = c->model;
    uint32_t begins = pair->first, signal = pair->second, section = model->event_section[begins];
    if (section == HD_NONE || is_known(c, pair->wait, signal)) return true;
    uint32_t stop = holds(model, signal, model->section[section].lock) ? stop_of(c, begins, signal)
                                                                       : place_of(c, pair->wait);
    add_pair(c, pair->wait, signal, stop, stop_of(c, signal, begins), 0,
             hd_describe_object(c->analysis->describe, pair->about, HD_SHORT));
    return true;
}

/* ---- locks ---------------------------------------------------------------------------------- */

static uint64_t locks_of(const struct hd_model *model, const struct nest *nest, bool reversed) {
    uint32_t outer = model->section[model->event_section[nest->outer]].lock,
             inner = model->section[model->event_section[nest->inner]].lock;
    return reversed ? (uint64_t)inner << 32 | outer : (uint64_t)outer << 32 | inner;
}

static void add_nest(struct collector *c, uint32_t outer, uint32_t inner) {
    struct nest nest = {.outer = outer, .inner = inner, .next = UINT32_MAX};
    uint32_t *head = hd_map_slot(&c->nest_of, locks_of(c->model, &nest, false), UINT32_MAX);
    uint32_t length = 0;
    for (uint32_t i = *head; i != UINT32_MAX; i = c->nest.data[i].next, length++)
        if (c->model->thread[c->nest.data[i].inner] == c->model->thread[inner] &&
            c->model->site[c->nest.data[i].inner] == c->model->site[inner])
            return;
    if (length >= MOST_NESTS) return;
    nest.next = *head;
    *head = (uint32_t)c->nest.size;
    hd_vector_push(&c->nest, nest);
}

/* Two locks that two threads take in opposite orders: the second lock of the one is taken as the
 * first of the other just before. */
static void look_at_locks(struct collector *c) {
    const struct hd_model *model = c->model;
    for (uint32_t s = 0; s < model->sections; s++) {
        const struct hd_section *inner = &model->section[s];
        uint32_t depth = 0;
        for (uint32_t o = inner->outer; o != HD_NONE && depth < MOST_HELD; depth++) {
            const struct hd_section *outer = &model->section[o];
            bool open = outer->release == HD_NONE || outer->release > inner->acquire;
            if (open && outer->lock != inner->lock) add_nest(c, outer->acquire, inner->acquire);
            o = outer->outer;
        }
    }
    for (size_t i = 0; i < c->nest.size; i++) {
        const struct nest *one = &c->nest.data[i];
        uint32_t k = hd_map_get(&c->nest_of, locks_of(model, one, true), UINT32_MAX);
        for (; k != UINT32_MAX; k = c->nest.data[k].next) {
            const struct nest *two = &c->nest.data[k];
            if (model->thread[one->inner] == model->thread[two->inner]) continue;
            uint32_t lock = model->section[model->event_section[one->inner]].lock;
            add_pair(c, one->inner, two->outer, place_of(c, one->inner), place_of(c, two->outer), 0,
                     hd_describe_lock(c->analysis->describe, lock, HD_SHORT));
        }
    }
}

/* Sections of one lock in the other order: what is in them may be out of sight (memory that
 * uninstrumented code touches). */
static bool look_at_sections(void *context, const struct hd_reversible *pair) {
    struct collector *c = context;
    if (hd_clocks_before(c->clocks, pair->first, pair->second)) return true;
    uint32_t stop = stop_of(c, pair->first, pair->second),
             other = stop_of(c, pair->second, pair->first);
    if (hd_map_get(&c->stops, (uint64_t)stop << 32 | other, 0) == 0)
        add_pair(c, pair->first, pair->second, stop, other, 1,
                 hd_describe_lock(c->analysis->describe, pair->about, HD_SHORT));
    return true;
}

/* ---- a run ---------------------------------------------------------------------------------- */

static void settle(struct hd_profile *profile) {
    for (size_t i = 0; i < profile->list.size; i++) {
        struct hd_interleaving *it = &profile->list.data[i];
        if (it->p == 0)
            it->exercised = hd_map_get(&profile->order, (uint64_t)it->r << 32 | it->c, 0) != 0;
    }
}

void hd_profile_add_pairs(struct hd_profile *profile, struct hd_analysis *analysis) {
    struct collector c = {.profile = profile,
                          .analysis = analysis,
                          .model = analysis->model,
                          .clocks = hd_must_clocks(analysis)};
    hd_reversible_accesses(c.model, MOST_AHEAD, look_at_accesses, &c);
    hd_reversible_waits(c.model, MOST_SIGNALS, look_at_wait, &c);
    look_at_locks(&c);
    hd_reversible_sections(c.model, MOST_AHEAD, look_at_sections, &c);
    settle(profile);
    hd_map_free(&c.place);
    hd_map_free(&c.nest_of);
    hd_map_free(&c.stops);
    hd_vector_free(&c.nest);
}
