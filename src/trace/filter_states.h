/* The automaton behind the filter (filter.h): what is known of a run of bytes that one thread has
 * touched in one epoch. A state says which places touched it, which steps between them are
 * recorded, which place is the latest, and which the latest recorded one. Equal states have one
 * number, and what an access does to a state is worked out once. */
#ifndef HEDDLE_TRACE_FILTER_STATES_H
#define HEDDLE_TRACE_FILTER_STATES_H

#include <stdbool.h>
#include <stdint.h>

/* A place is a kind of access: code, read or write, and size. A *wide* one touches more than the
 * unit whose state it is in, so it can't be recorded for this unit alone. */
#define HD_PLACE_WIDE 1u
struct hd_filter_place {
    uint32_t site;
    uint16_t bytes;
    bool write;
};

/* Numbers of states. What lies below HD_STATE_FIRST has other meanings in a cell. */
enum { HD_STATE_NONE = 0, HD_STATE_GOES_ON, HD_STATE_DETAIL, HD_STATE_FIRST };
#define HD_STATE_LIMIT 65536u
#define HD_STATE_PLACES 16u

/* What an access does to a state. */
enum {
    HD_STEP_KEEP = 1,    /* it is to be recorded; otherwise it is left out */
    HD_STEP_WAY = 2,     /* kept: before it, the way to the state's latest place */
    HD_STEP_DEFERRED = 4 /* the next state's latest place is not the latest recorded one */
};
struct hd_step {
    uint16_t next; /* HD_STATE_NONE: nothing is known from here on */
    uint8_t flags;
};

struct hd_states;
struct hd_states *hd_states_new(void);
void hd_states_free(struct hd_states *states);
/* Nothing is known any more; places and states get new numbers. */
void hd_states_clear(struct hd_states *states);
uint32_t hd_states_count(const struct hd_states *states);

/* Twice the number of a place; with HD_PLACE_WIDE where it is wide. */
uint32_t hd_states_place(struct hd_states *states, uint32_t site, uint16_t bytes, bool write);
struct hd_filter_place hd_states_place_of(const struct hd_states *states, uint32_t place);
/* A unit of so many bytes that only this place has touched, once. */
uint16_t hd_states_first(struct hd_states *states, uint32_t place, uint16_t bytes);

/* An access by a place to a unit in a state. It is left out if its step is known; a wide one only
 * if it is the latest recorded one then, since it is never deferred. `forced`: it is kept. */
struct hd_step hd_states_step_slow(struct hd_states *states, uint64_t key);
/* The same state with nothing deferred: what was is recorded. */
uint16_t hd_states_settled(struct hd_states *states, uint16_t state);
/* The state of a part of the unit, whose places are all wide there. With nothing deferred. */
uint16_t hd_states_part(struct hd_states *states, uint16_t state, uint16_t bytes);

/* The places to record, in their order, so that the latest recorded one is the latest one: the
 * shortest way of known steps. Returns how many; none is wide. */
unsigned hd_states_way(const struct hd_states *states, uint16_t state,
                       uint32_t place[HD_STATE_PLACES]);

/* The tables that the short ways look at. */
struct hd_states_tables {
    uint64_t place_mask, step_mask;
    struct hd_place_entry {
        uint64_t key; /* 0 = empty */
        uint32_t place;
        uint16_t first; /* the state after the first access, narrow; HD_STATE_NONE: not known */
    } * place;
    uint64_t *step;    /* hd_step_key, with next state and flags above it; 0 = empty */
    uint16_t *bytes;   /* of the unit, by state */
    uint8_t *deferred; /* by state */
    bool full; /* it pays to begin again: there are too many places, or states that were wanted
                  could not be made */
};
const struct hd_states_tables *hd_states_tables(const struct hd_states *states);

static inline uint64_t hd_place_key(uint32_t site, uint16_t bytes, bool write) {
    return (uint64_t)site | (uint64_t)bytes << 32 | (uint64_t)write << 48 | (uint64_t)1 << 49;
}
static inline uint64_t hd_state_hash(uint64_t key) {
    key *= 0x9e3779b97f4a7c15ull;
    return key ^ key >> 32;
}

/* A step is one word: there may be many, and which one is looked at next can't be foreseen. Bits
 * 0-15 the state, 16-37 the place, 38 forced, 39 always; 40-55 the next state, 56-58 flags. */
#define HD_STEP_KEY (((uint64_t)1 << 40) - 1)
static inline uint64_t hd_step_key(uint16_t state, uint32_t place, bool forced) {
    return (uint64_t)state | (uint64_t)place << 16 | (uint64_t)forced << 38 | (uint64_t)1 << 39;
}
static inline struct hd_step hd_step_of(uint64_t word) {
    return (struct hd_step){(uint16_t)(word >> 40), (uint8_t)(word >> 56)};
}
/* States that came up together are looked at together: steps from eight of them are neighbours. */
static inline uint64_t hd_step_hash(uint64_t key) {
    return hd_state_hash(key >> 3) << 3 | (key & 7);
}
static inline struct hd_step hd_states_step(struct hd_states *states,
                                            const struct hd_states_tables *tables, uint16_t state,
                                            uint32_t place, bool forced) {
    uint64_t key = hd_step_key(state, place, forced);
    uint64_t word = tables->step[hd_step_hash(key) & tables->step_mask];
    return (word & HD_STEP_KEY) == key ? hd_step_of(word) : hd_states_step_slow(states, key);
}

#endif
