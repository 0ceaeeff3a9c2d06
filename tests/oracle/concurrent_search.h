/* All schedules of a program of concurrent.h, under sequential consistency: the classes of its runs
 * (what each read of each thread sees, and each trylock's result) and the ways in which it fails. A
 * depth-first search over states, none of which is entered twice; it shares no code and no idea
 * with the explorer. A state has in it what its threads have seen, so that no two classes are taken
 * for one. Spinning is waiting, and no thread wakes up without a signal. */
#ifndef HEDDLE_TESTS_ORACLE_CONCURRENT_SEARCH_H
#define HEDDLE_TESTS_ORACLE_CONCURRENT_SEARCH_H

#include "oracle/concurrent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An await has LOOKED and is about to wait; WAITS; was WOKEN, or its time has EXPIRED, and is about
 * to lock again. The initialiser of a once is about to write, or has WRITTEN. */
enum concurrent_phase { RUNS, LOOKED, WAITS, WOKEN, EXPIRED, WRITES, WRITTEN };

struct concurrent_cell {
    int32_t value;
    uint32_t write; /* thread and place of the write, or 0 */
};

struct concurrent_seen {
    int32_t value;
    uint16_t write;
    uint16_t awaited;
};

struct concurrent_state {
    uint8_t at[CONCURRENT_THREADS], phase[CONCURRENT_THREADS], count[CONCURRENT_THREADS];
    uint8_t owner[2], writer[2]; /* of mutexes and reader-writer locks: the thread + 1 */
    uint8_t readers[2];          /* a bit for each thread */
    uint8_t value[2];            /* of semaphores */
    uint8_t once[2];             /* 1: begun, 2: done */
    uint8_t unused[3];
    uint32_t spun[CONCURRENT_THREADS]; /* what a spin saw last, and goes on: the write + 1 */
    struct concurrent_cell plain[CONCURRENT_OBJECTS], atomic[CONCURRENT_OBJECTS];
    int32_t reg[CONCURRENT_THREADS][CONCURRENT_REGISTERS];
    struct concurrent_seen seen[CONCURRENT_THREADS][CONCURRENT_SEEN];
};

struct concurrent_set {
    uint64_t (*key)[2]; /* 128 bits of a digest; 0, 0: none */
    size_t size, count;
};

struct concurrent_search {
    const struct concurrent *program;
    bool late;    /* a failing assertion does not end the run before the next step */
    bool naive;   /* states are entered as often as schedules lead there */
    bool rounds;  /* what a spin sees in vain is part of the class, the same in a row once */
    size_t limit; /* of states that are entered */
    size_t entered;
    bool cut, hangs, deadlocks, misused;
    struct concurrent_set states, classes, values; /* `values`: classes by what they print */
    bool failed[256];                              /* by the line of the assertion */
    FILE *out;                                     /* of the classes; may be NULL */
};

static inline bool concurrent_set_add(struct concurrent_set *set, const uint64_t key[2]) {
    if (2 * set->count >= set->size) {
        struct concurrent_set old = *set;
        set->size = old.size == 0 ? 1024 : 2 * old.size;
        set->key = calloc(set->size, sizeof *set->key);
        set->count = 0;
        if (set->key == NULL) abort();
        for (size_t i = 0; i < old.size; i++)
            if ((old.key[i][0] | old.key[i][1]) != 0) concurrent_set_add(set, old.key[i]);
        free(old.key);
    }
    size_t at = key[0] & (set->size - 1);
    for (; (set->key[at][0] | set->key[at][1]) != 0; at = (at + 1) & (set->size - 1))
        if (set->key[at][0] == key[0] && set->key[at][1] == key[1]) return false;
    set->key[at][0] = key[0];
    set->key[at][1] = key[1];
    set->count++;
    return true;
}

static inline void concurrent_digest(uint64_t key[2], const void *data, size_t size) {
    const unsigned char *byte = data;
    for (; size >= 4; size -= 4, byte += 4) {
        uint32_t word;
        memcpy(&word, byte, 4);
        key[0] = (key[0] ^ word) * 0x9e3779b97f4a7c15u;
        key[0] ^= key[0] >> 29;
        key[1] = (key[1] + word) * 0xbf58476d1ce4e5b9u;
        key[1] ^= key[1] >> 31;
    }
    for (; size != 0; size--, byte++) {
        key[0] = (key[0] ^ *byte) * 0x100000001b3u;
        key[1] = (key[1] + *byte) * 0x94d049bb133111ebu;
        key[1] ^= key[1] >> 31;
    }
}

/* Only the part of the state that is in use. */
static inline bool concurrent_enter(struct concurrent_search *search,
                                    const struct concurrent_state *state) {
    uint64_t key[2] = {1, 2};
    concurrent_digest(key, state, offsetof(struct concurrent_state, seen));
    for (unsigned t = 0; t < search->program->threads; t++)
        concurrent_digest(key, state->seen[t], state->count[t] * sizeof state->seen[t][0]);
    return concurrent_set_add(&search->states, key);
}

static inline bool concurrent_holds(const struct concurrent_step *step, int32_t value) {
    return (value == step->value) != (step->differs != 0);
}

static inline void concurrent_see(struct concurrent_search *search, struct concurrent_state *state,
                                  unsigned t, struct concurrent_cell cell, bool awaited) {
    if (state->count[t] == CONCURRENT_SEEN) {
        search->cut = true;
        return;
    }
    struct concurrent_seen seen = {cell.value, (uint16_t)cell.write, awaited};
    state->seen[t][state->count[t]++] = seen;
}

static inline const struct concurrent_step *concurrent_next(const struct concurrent_search *search,
                                                            const struct concurrent_state *state,
                                                            unsigned t) {
    if (state->at[t] == search->program->steps[t]) return NULL;
    return &search->program->step[t][state->at[t]];
}

/* What a thread that waits waits for. */
static inline unsigned concurrent_waits_for(const struct concurrent_step *step) {
    return step->op == OP_UNTIL ? step->object : step->reg;
}

static inline bool concurrent_enabled(const struct concurrent_search *search,
                                      const struct concurrent_state *state, unsigned t) {
    const struct concurrent_step *step = concurrent_next(search, state, t);
    if (step == NULL || (state->phase[t] == WAITS && step->op != OP_UNTIL)) return false;
    for (unsigned other = 1; t == 0 && other < search->program->threads; other++)
        if (concurrent_next(search, state, other) != NULL) return false;
    if (state->phase[t] == WOKEN || state->phase[t] == EXPIRED)
        return state->owner[step->mutex] == 0;
    if (state->phase[t] != RUNS) return true;
    if (step->op == OP_DOWN) return state->value[step->object] != 0;
    if (step->op == OP_RDLOCK) return state->writer[step->object] == 0;
    if (step->op == OP_WRLOCK)
        return state->writer[step->object] == 0 && state->readers[step->object] == 0;
    if (step->op == OP_ONCE) return state->once[step->object] != 1;
    if (step->op == OP_LOCK) return state->owner[step->object] == 0;
    if (step->op == OP_SPIN)
        return concurrent_holds(step, state->atomic[step->object].value) ||
               (search->rounds && state->spun[t] != state->atomic[step->object].write + 1);
    return true;
}

/* An attempt's result is seen, and is no write. */
static inline void concurrent_result(struct concurrent_search *search,
                                     struct concurrent_state *state, unsigned t,
                                     const struct concurrent_step *step, bool done) {
    struct concurrent_cell result = {done, 0};
    concurrent_see(search, state, t, result, false);
    state->reg[t][step->reg] = done;
}

/* What one step does to the state but for a signal, which has a choice. False: the run has failed.
 */
static inline bool concurrent_do(struct concurrent_search *search, struct concurrent_state *state,
                                 unsigned t) {
    const struct concurrent_step *step = concurrent_next(search, state, t);
    uint32_t write = t * CONCURRENT_STEPS + state->at[t] + 1;
    struct concurrent_cell *plain = &state->plain[step->object % CONCURRENT_OBJECTS];
    struct concurrent_cell *atomic = &state->atomic[step->object % CONCURRENT_OBJECTS];
    bool waits = step->op == OP_AWAIT || step->op == OP_UNTIL;
    uint8_t *owner = &state->owner[(waits ? step->mutex : step->object) & 1];
    uint8_t *writer = &state->writer[step->object & 1],
            *readers = &state->readers[step->object & 1];
    uint8_t *value = &state->value[step->object & 1], *once = &state->once[step->object & 1];
    if (state->phase[t] == WAITS) {
        state->phase[t] = EXPIRED;
        return true;
    }
    if (state->phase[t] == WRITES) {
        state->plain[step->mutex] = (struct concurrent_cell){step->value, write};
        state->phase[t] = WRITTEN;
        return true;
    }
    if (state->phase[t] == WRITTEN) {
        *once = 2;
        concurrent_see(search, state, t, (struct concurrent_cell){1, 0}, false);
        state->phase[t] = RUNS;
        state->at[t]++;
        return true;
    }
    if (step->op == OP_UNTIL && (state->phase[t] == WOKEN || state->phase[t] == EXPIRED)) {
        concurrent_result(search, state, t, step, state->phase[t] == WOKEN);
        state->phase[t] = RUNS;
        state->at[t]++;
        *owner = (uint8_t)(t + 1);
        return true;
    }
    if (state->phase[t] == LOOKED) {
        state->phase[t] = WAITS;
        *owner = 0;
        return true;
    }
    if (state->phase[t] == WOKEN) {
        state->phase[t] = RUNS;
        *owner = (uint8_t)(t + 1);
        return true;
    }
    state->at[t]++;
    switch ((enum concurrent_op)step->op) {
    case OP_READ:
        concurrent_see(search, state, t, *plain, false);
        state->reg[t][step->reg] = plain->value;
        break;
    case OP_WRITE:
        *plain = (struct concurrent_cell){step->value, write};
        break;
    case OP_LOAD:
        concurrent_see(search, state, t, *atomic, false);
        state->reg[t][step->reg] = atomic->value;
        break;
    case OP_SPIN:
        concurrent_see(search, state, t, *atomic, false);
        state->spun[t] = 0;
        if (concurrent_holds(step, atomic->value)) break;
        state->spun[t] = atomic->write + 1;
        state->at[t]--;
        break;
    case OP_STORE:
        *atomic = (struct concurrent_cell){step->value, write};
        break;
    case OP_ADD:
    case OP_CAS:
        concurrent_see(search, state, t, *atomic, false);
        state->reg[t][step->reg] = atomic->value;
        if (step->op == OP_ADD)
            *atomic = (struct concurrent_cell){atomic->value + step->value, write};
        else if (atomic->value == step->value)
            *atomic = (struct concurrent_cell){step->next, write};
        break;
    case OP_LOCK:
        *owner = (uint8_t)(t + 1);
        break;
    case OP_UNLOCK:
        if (*owner != t + 1) search->misused = true;
        *owner = 0;
        break;
    case OP_TRY:
        concurrent_result(search, state, t, step, *owner == 0);
        if (*owner == 0) *owner = (uint8_t)(t + 1);
        break;
    case OP_UNTIL:
        if (*owner != t + 1) search->misused = true;
        *owner = 0;
        state->at[t]--;
        state->phase[t] = WAITS;
        break;
    case OP_POST:
        ++*value;
        break;
    case OP_DOWN:
        --*value;
        break;
    case OP_TAKE:
        concurrent_result(search, state, t, step, *value != 0);
        *value -= *value != 0;
        break;
    case OP_RDLOCK:
        *readers |= (uint8_t)(1u << t);
        break;
    case OP_WRLOCK:
        *writer = (uint8_t)(t + 1);
        break;
    case OP_TRYREAD:
        concurrent_result(search, state, t, step, *writer == 0);
        if (*writer == 0) *readers |= (uint8_t)(1u << t);
        break;
    case OP_TRYWRITE:
        concurrent_result(search, state, t, step, *writer == 0 && *readers == 0);
        if (*writer == 0 && *readers == 0) *writer = (uint8_t)(t + 1);
        break;
    case OP_LEAVE:
        if (*writer != t + 1 && (*readers >> t & 1) == 0) search->misused = true;
        if (*writer == t + 1) *writer = 0;
        *readers &= (uint8_t) ~(1u << t);
        break;
    case OP_ONCE:
        if (*once != 0) {
            concurrent_see(search, state, t, (struct concurrent_cell){0, 0}, false);
            break;
        }
        *once = 1;
        state->at[t]--;
        state->phase[t] = WRITES;
        break;
    case OP_AWAIT:
        if (*owner != t + 1) search->misused = true;
        concurrent_see(search, state, t, *plain, true);
        if (concurrent_holds(step, plain->value)) break;
        state->at[t]--;
        state->phase[t] = LOOKED;
        break;
    case OP_SIGNAL:
    case OP_BROADCAST:
        break;
    case OP_IF:
        if (!concurrent_holds(step, state->reg[t][step->reg])) state->at[t] = step->jump;
        break;
    case OP_ELSE:
        state->at[t] = step->jump;
        break;
    case OP_ASSERT:
        if (concurrent_holds(step, state->reg[t][step->reg])) break;
        search->failed[step->line] = true;
        return false;
    }
    return true;
}

static inline void concurrent_print(FILE *out, const struct concurrent *program,
                                    const struct concurrent_state *state) {
    fprintf(out, "class");
    for (unsigned i = 1; i <= program->threads; i++) {
        unsigned t = i % program->threads;
        fprintf(out, " T%u", t);
        for (unsigned s = 0; s < state->count[t]; s++)
            fprintf(out, " %d%s", state->seen[t][s].value, state->seen[t][s].awaited ? "w" : "");
    }
    fprintf(out, "\n");
}

/* No thread can go on. */
static inline void concurrent_end(struct concurrent_search *search,
                                  const struct concurrent_state *state) {
    const struct concurrent *program = search->program;
    bool ended = true;
    for (unsigned t = 0; t < program->threads; t++) {
        const struct concurrent_step *step = concurrent_next(search, state, t);
        if (step == NULL) continue;
        if (t != 0) ended = false;
        if (step->op == OP_SPIN) search->hangs = true;
    }
    if (!ended || concurrent_next(search, state, 0) != NULL) {
        search->deadlocks = true;
        return;
    }
    uint64_t key[2] = {1, 2}, value[2] = {1, 2};
    for (unsigned t = 0; t < program->threads; t++) {
        for (unsigned s = 0; s < state->count[t]; s++) {
            uint32_t write = state->seen[t][s].write;
            concurrent_digest(key, &write, sizeof write);
            concurrent_digest(key, &state->seen[t][s].value, 4); /* a trylock has no write */
            concurrent_digest(value, &state->seen[t][s].value, 4);
        }
        concurrent_digest(key, "end", 4);
        concurrent_digest(value, "end", 4);
    }
    concurrent_set_add(&search->classes, key);
    if (concurrent_set_add(&search->values, value) && search->out != NULL)
        concurrent_print(search->out, program, state);
}

/* Steps that no other thread can see are taken at once. */
static inline bool concurrent_settle(struct concurrent_search *search,
                                     struct concurrent_state *state, unsigned t) {
    for (;;) {
        const struct concurrent_step *step = concurrent_next(search, state, t);
        if (step == NULL || state->phase[t] != RUNS) return true;
        bool local = step->op == OP_IF || step->op == OP_ELSE;
        if (!local && (search->late || step->op != OP_ASSERT)) return true;
        if (!concurrent_do(search, state, t)) return false;
    }
}

static inline void concurrent_explore(struct concurrent_search *search,
                                      const struct concurrent_state *state);

static inline void concurrent_step_of(struct concurrent_search *search,
                                      const struct concurrent_state *state, unsigned t,
                                      unsigned woken) {
    struct concurrent_state after = *state;
    for (unsigned other = 0; other < search->program->threads; other++)
        if ((woken >> other & 1) != 0) after.phase[other] = WOKEN;
    if (concurrent_do(search, &after, t) && concurrent_settle(search, &after, t))
        concurrent_explore(search, &after);
}

static inline void concurrent_explore(struct concurrent_search *search,
                                      const struct concurrent_state *state) {
    if (search->cut || (!concurrent_enter(search, state) && !search->naive)) return;
    if (++search->entered > search->limit) search->cut = true;
    bool stuck = true;
    for (unsigned t = 0; t < search->program->threads; t++) {
        if (!concurrent_enabled(search, state, t)) continue;
        stuck = false;
        const struct concurrent_step *step = concurrent_next(search, state, t);
        unsigned waiting = 0;
        for (unsigned other = 0; other < search->program->threads; other++)
            if (state->phase[other] == WAITS &&
                concurrent_waits_for(concurrent_next(search, state, other)) == step->object)
                waiting |= 1u << other;
        bool wakes = state->phase[t] == RUNS && waiting != 0;
        if (wakes && step->op == OP_SIGNAL) {
            for (unsigned other = 0; other < search->program->threads; other++)
                if ((waiting >> other & 1) != 0) concurrent_step_of(search, state, t, 1u << other);
        } else {
            concurrent_step_of(search, state, t, wakes && step->op == OP_BROADCAST ? waiting : 0);
        }
    }
    if (stuck) concurrent_end(search, state);
}

/* `search` says what is wanted and holds what is found. */
static inline void concurrent_search(struct concurrent_search *search,
                                     const struct concurrent *program) {
    struct concurrent_state state;
    memset(&state, 0, sizeof state);
    search->program = program;
    bool passes = true;
    for (unsigned t = 1; t < program->threads; t++)
        passes = concurrent_settle(search, &state, t) && passes;
    if (passes) concurrent_explore(search, &state);
}

static inline void concurrent_search_free(struct concurrent_search *search) {
    free(search->states.key);
    free(search->classes.key);
    free(search->values.key);
}

/* One thread after the other, as far as each can go: does that pass? */
static inline bool concurrent_passes(const struct concurrent *program) {
    struct concurrent_search search = {.program = program};
    struct concurrent_state state;
    memset(&state, 0, sizeof state);
    for (unsigned t = 1, stuck = 0; stuck < program->threads;) {
        if (!concurrent_enabled(&search, &state, t)) {
            t = (t + 1) % program->threads;
            stuck++;
            continue;
        }
        const struct concurrent_step *step = concurrent_next(&search, &state, t);
        bool wakes = state.phase[t] == RUNS && (step->op == OP_SIGNAL || step->op == OP_BROADCAST);
        for (unsigned other = 0; wakes && other < program->threads; other++) {
            if (state.phase[other] != WAITS) continue;
            if (concurrent_waits_for(concurrent_next(&search, &state, other)) != step->object)
                continue;
            state.phase[other] = WOKEN;
            wakes = step->op == OP_BROADCAST;
        }
        if (!concurrent_do(&search, &state, t)) return false;
        stuck = 0;
    }
    concurrent_end(&search, &state);
    concurrent_search_free(&search);
    return !search.deadlocks;
}

#endif
