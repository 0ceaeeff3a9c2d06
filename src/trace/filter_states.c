/* The automaton behind the filter: see filter_states.h. */
#include "trace/filter_states.h"

#include "base/alloc.h"
#include "base/vector.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum {
    FIRST_STATES = 64,
    FIRST_BITS = 10,
    PLACE_LIMIT = 1 << 20, /* twice that fits a step's key */
    STEP_LIMIT = 1 << 20,  /* after so many, they are worked out anew */
    MISSED_LIMIT = 1 << 20
};

struct state {
    uint32_t place[HD_STATE_PLACES]; /* ascending */
    uint16_t steps[HD_STATE_PLACES]; /* bit k of [i]: the step from place k to place i is known */
    uint16_t bytes;                  /* of the unit */
    uint8_t places, latest, recorded;
    uint8_t unused[3];
};

struct hd_states {
    struct hd_states_tables tables;
    HD_VECTOR(struct hd_filter_place) place;
    struct state *state; /* from HD_STATE_FIRST on */
    uint32_t states;     /* highest number plus one */
    uint16_t *slot;      /* states by content */
    uint32_t steps;
    uint32_t missed; /* states that were wanted and not made */
    /* what hd_states_first was asked for lately, by the low bits of the place; copies of words read
     * with one place and write with another */
    struct first {
        uint32_t place;
        uint16_t bytes, state; /* HD_STATE_NONE: none */
    } first[FIRST_STATES];
};

#define SLOTS (2 * HD_STATE_LIMIT)

static void make_tables(struct hd_states *s) {
    s->tables.place_mask = s->tables.step_mask = (1u << FIRST_BITS) - 1;
    s->tables.place = hd_zalloc(1u << FIRST_BITS, sizeof *s->tables.place);
    s->tables.step = hd_zalloc(1u << FIRST_BITS, sizeof *s->tables.step);
    s->states = HD_STATE_FIRST;
    s->steps = s->missed = 0;
    memset(s->first, 0, sizeof s->first);
    s->tables.full = false;
    s->place.size = 0;
    memset(s->slot, 0, SLOTS * sizeof *s->slot);
}

struct hd_states *hd_states_new(void) {
    struct hd_states *s = hd_zalloc(1, sizeof *s);
    s->state = hd_alloc(HD_STATE_LIMIT, sizeof *s->state);
    s->slot = hd_alloc(SLOTS, sizeof *s->slot);
    s->tables.bytes = hd_zalloc(HD_STATE_LIMIT, sizeof *s->tables.bytes);
    s->tables.deferred = hd_zalloc(HD_STATE_LIMIT, sizeof *s->tables.deferred);
    make_tables(s);
    return s;
}

void hd_states_clear(struct hd_states *s) {
    free(s->tables.place);
    free(s->tables.step);
    make_tables(s);
}

void hd_states_free(struct hd_states *s) {
    if (s == NULL) return;
    free(s->tables.place);
    free(s->tables.step);
    free(s->tables.bytes);
    free(s->tables.deferred);
    free(s->state);
    free(s->slot);
    hd_vector_free(&s->place);
    free(s);
}

uint32_t hd_states_count(const struct hd_states *s) { return s->states - HD_STATE_FIRST; }
const struct hd_states_tables *hd_states_tables(const struct hd_states *s) { return &s->tables; }

/* ---- places ------------------------------------------------------------------------------- */

static struct hd_place_entry *find_place(const struct hd_states_tables *tables, uint64_t key) {
    uint64_t at = hd_state_hash(key) & tables->place_mask;
    while (tables->place[at].key != 0 && tables->place[at].key != key)
        at = (at + 1) & tables->place_mask;
    return &tables->place[at];
}

static void grow_places(struct hd_states *s) {
    struct hd_states_tables larger = s->tables;
    larger.place_mask = s->tables.place_mask * 2 + 1;
    larger.place = hd_zalloc(larger.place_mask + 1, sizeof *larger.place);
    for (uint64_t i = 0; i <= s->tables.place_mask; i++)
        if (s->tables.place[i].key != 0)
            *find_place(&larger, s->tables.place[i].key) = s->tables.place[i];
    free(s->tables.place);
    s->tables = larger;
}

uint32_t hd_states_place(struct hd_states *s, uint32_t site, uint16_t bytes, bool write) {
    uint64_t key = hd_place_key(site, bytes, write);
    struct hd_place_entry *entry = find_place(&s->tables, key);
    if (entry->key == key) return entry->place;
    if (s->place.size * 2 >= s->tables.place_mask) {
        grow_places(s);
        entry = find_place(&s->tables, key);
    }
    struct hd_filter_place place = {site, bytes, write};
    uint32_t number = (uint32_t)s->place.size * 2;
    hd_vector_push(&s->place, place);
    if (s->place.size >= PLACE_LIMIT) s->tables.full = true;
    *entry = (struct hd_place_entry){key, number, HD_STATE_NONE};
    entry->first = hd_states_first(s, number, bytes);
    return number;
}

struct hd_filter_place hd_states_place_of(const struct hd_states *s, uint32_t place) {
    return s->place.data[place / 2];
}

/* ---- states ------------------------------------------------------------------------------- */

/* The number of a state, whether it is new or not; HD_STATE_NONE if there are too many. What lies
 * beyond its places is zero. */
static uint16_t number_of(struct hd_states *s, const struct state *state) {
    uint64_t at = XXH3_64bits(state, sizeof *state) & (SLOTS - 1);
    for (; s->slot[at] != 0; at = (at + 1) & (SLOTS - 1))
        if (memcmp(&s->state[s->slot[at]], state, sizeof *state) == 0) return s->slot[at];
    if (s->states == HD_STATE_LIMIT) {
        if (++s->missed == MISSED_LIMIT) s->tables.full = true;
        return HD_STATE_NONE;
    }
    uint16_t number = (uint16_t)s->states++;
    s->state[number] = *state;
    s->slot[at] = number;
    s->tables.bytes[number] = state->bytes;
    s->tables.deferred[number] = state->latest != state->recorded;
    return number;
}

uint16_t hd_states_first(struct hd_states *s, uint32_t place, uint16_t bytes) {
    struct first *first = &s->first[place % FIRST_STATES];
    if (first->state != HD_STATE_NONE && first->place == place && first->bytes == bytes)
        return first->state;
    struct state state = {.place = {place}, .bytes = bytes, .places = 1};
    *first = (struct first){place, bytes, number_of(s, &state)};
    return first->state;
}

uint16_t hd_states_settled(struct hd_states *s, uint16_t number) {
    struct state state = s->state[number];
    if (state.recorded == state.latest) return number;
    state.recorded = state.latest;
    return number_of(s, &state);
}

uint16_t hd_states_part(struct hd_states *s, uint16_t number, uint16_t bytes) {
    struct state state = s->state[number], wide = {.bytes = bytes};
    /* A place may be there twice then, as it was narrow and as it was wide: one of both. */
    uint8_t where[HD_STATE_PLACES];
    for (unsigned i = 0; i < state.places; i++) {
        uint32_t place = state.place[i] | HD_PLACE_WIDE;
        if (wide.places == 0 || wide.place[wide.places - 1] != place)
            wide.place[wide.places++] = place;
        where[i] = wide.places - 1;
    }
    for (unsigned i = 0; i < state.places; i++)
        for (unsigned k = 0; k < state.places; k++)
            if (state.steps[i] >> k & 1) wide.steps[where[i]] |= (uint16_t)(1u << where[k]);
    wide.latest = wide.recorded = where[state.latest];
    return number_of(s, &wide);
}

/* Puts a place into a state, where its order wants it; false if it has too many. */
static bool add_place(struct state *state, uint32_t place, unsigned *index) {
    unsigned at = 0;
    while (at < state->places && state->place[at] < place) at++;
    *index = at;
    if (at < state->places && state->place[at] == place) return true;
    if (state->places == HD_STATE_PLACES) return false;
    unsigned low = (1u << at) - 1;
    for (unsigned i = state->places; i > at; i--) {
        state->place[i] = state->place[i - 1];
        state->steps[i] = state->steps[i - 1];
    }
    state->place[at] = place;
    state->steps[at] = 0;
    state->places++;
    for (unsigned i = 0; i < state->places; i++)
        state->steps[i] =
            (uint16_t)((state->steps[i] & low) | ((unsigned)state->steps[i] & ~low) << 1);
    if (state->latest >= at) state->latest++;
    if (state->recorded >= at) state->recorded++;
    return true;
}

/* ---- steps -------------------------------------------------------------------------------- */

static uint64_t *find_step(const struct hd_states_tables *tables, uint64_t key) {
    uint64_t at = hd_step_hash(key) & tables->step_mask;
    while (tables->step[at] != 0 && (tables->step[at] & HD_STEP_KEY) != key)
        at = (at + 1) & tables->step_mask;
    return &tables->step[at];
}

static void grow_steps(struct hd_states *s) {
    struct hd_states_tables larger = s->tables;
    bool over = s->steps >= STEP_LIMIT;
    larger.step_mask = over ? (1u << FIRST_BITS) - 1 : s->tables.step_mask * 2 + 1;
    larger.step = hd_zalloc(larger.step_mask + 1, sizeof *larger.step);
    for (uint64_t i = 0; !over && i <= s->tables.step_mask; i++)
        if (s->tables.step[i] != 0)
            *find_step(&larger, s->tables.step[i] & HD_STEP_KEY) = s->tables.step[i];
    free(s->tables.step);
    s->tables = larger;
    if (over) s->steps = 0;
}

static struct hd_step work_out(struct hd_states *s, uint64_t key) {
    uint16_t number = (uint16_t)key;
    uint32_t place = (uint32_t)(key >> 16) & 0x3fffff;
    bool forced = (key >> 38 & 1) != 0;
    struct state state = s->state[number];
    struct hd_step step = {0};
    unsigned at;
    bool fits = add_place(&state, place, &at);
    bool known = fits && (state.steps[at] >> state.latest & 1) != 0;
    if (known && !forced && ((place & HD_PLACE_WIDE) == 0 || state.recorded == at)) {
        state.latest = (uint8_t)at;
        step.next = number_of(s, &state);
        if (step.next != HD_STATE_NONE) {
            step.flags = s->tables.deferred[step.next] ? HD_STEP_DEFERRED : 0;
            return step;
        }
        state = s->state[number];
    }
    step.flags = HD_STEP_KEEP | (s->tables.deferred[number] ? HD_STEP_WAY : 0);
    if (fits) {
        state.steps[at] |= (uint16_t)(1u << state.latest);
        state.latest = state.recorded = (uint8_t)at;
        step.next = number_of(s, &state);
    } else {
        step.next = hd_states_first(s, place, state.bytes);
    }
    return step;
}

struct hd_step hd_states_step_slow(struct hd_states *s, uint64_t key) {
    uint64_t *found = find_step(&s->tables, key);
    if (*found != 0) return hd_step_of(*found);
    if (s->steps * 2ull >= s->tables.step_mask) {
        grow_steps(s);
        found = find_step(&s->tables, key);
    }
    s->steps++;
    struct hd_step step = work_out(s, key);
    *found = key | (uint64_t)step.next << 40 | (uint64_t)step.flags << 56;
    return step;
}

unsigned hd_states_way(const struct hd_states *s, uint16_t number,
                       uint32_t place[HD_STATE_PLACES]) {
    const struct state *state = &s->state[number];
    /* Backwards from the latest place: how far each is from it. */
    unsigned reached = 1u << state->latest, goal = 1u << state->recorded;
    uint16_t ring[HD_STATE_PLACES];
    unsigned rings = 0, edge = reached;
    if (state->latest == state->recorded) return 0;
    while (!(edge & goal)) {
        ring[rings++] = (uint16_t)edge;
        unsigned before = 0;
        for (unsigned left = edge; left != 0; left &= left - 1)
            before |= state->steps[__builtin_ctz(left)];
        edge = 0;
        for (unsigned left = before & ~reached; left != 0; left &= left - 1) {
            unsigned at = (unsigned)__builtin_ctz(left);
            if ((state->place[at] & HD_PLACE_WIDE) == 0 || at == state->recorded) edge |= 1u << at;
        }
        reached |= edge;
        if (edge == 0) return 0; /* there is always a way: the one that was taken */
    }
    unsigned count = 0, at = state->recorded;
    while (rings > 0) {
        for (unsigned left = ring[--rings]; left != 0; left &= left - 1) {
            unsigned next = (unsigned)__builtin_ctz(left);
            if ((state->steps[next] >> at & 1) == 0) continue;
            place[count++] = state->place[next];
            at = next;
            break;
        }
    }
    return count;
}
