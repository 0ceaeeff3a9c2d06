/* Random small executions as struct hd_trace, well-formed by construction: overlapping accesses of
 * odd sizes, blocks that begin over others, recursive locks, rwlocks, condition variables,
 * barriers, semaphores, once, atomics, forks and joins. The same seed gives the same trace. */
#ifndef HEDDLE_TESTS_ORACLE_MODEL_RANDOM_H
#define HEDDLE_TESTS_ORACLE_MODEL_RANDOM_H

#include "support/dice.h"
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANDOM_BASE 0x10000u
#define RANDOM_SPACE 192u
#define RANDOM_THREADS 40
#define RANDOM_OBJECTS 6

/* ---- traces by hand -------------------------------------------------------------------------- */

struct hand {
    struct hd_trace trace;
    uint32_t capacity;
};

static inline void hand_start(struct hand *hand, uint32_t threads, uint32_t capacity) {
    memset(hand, 0, sizeof *hand);
    struct hd_trace *t = &hand->trace;
    hand->capacity = capacity;
    t->threads = threads;
    t->exact = t->end.whole = true;
    t->thread = calloc(capacity + 1, sizeof *t->thread);
    t->kind = calloc(capacity + 1, sizeof *t->kind);
    t->flags = calloc(capacity + 1, sizeof *t->flags);
    t->operand = calloc(capacity + 1, sizeof *t->operand);
    t->site = calloc(capacity + 1, sizeof *t->site);
    t->stack = calloc(capacity + 1, sizeof *t->stack);
    t->branches = calloc(capacity + 1, sizeof *t->branches);
    t->calls = calloc(capacity + 1, sizeof *t->calls);
    t->extra_event = calloc(capacity + 1, sizeof *t->extra_event);
    t->extra_value = calloc(capacity + 1, sizeof *t->extra_value);
}

#define NO_EXTRA UINT64_MAX
static inline uint32_t hand_add(struct hand *hand, unsigned thread, unsigned kind, unsigned flags,
                                uint64_t operand, uint64_t extra) {
    struct hd_trace *t = &hand->trace;
    if (t->events >= hand->capacity) abort();
    uint32_t e = t->events++;
    t->thread[e] = (uint16_t)thread;
    t->kind[e] = (uint8_t)kind;
    t->flags[e] = (uint8_t)flags;
    t->operand[e] = operand;
    t->calls[e] = 1;
    if (extra != NO_EXTRA) {
        t->extra_event[t->extras] = e;
        t->extra_value[t->extras++] = extra;
    }
    return e;
}

/* A copy, since a model takes its trace over. */
static inline struct hd_trace hand_copy(const struct hd_trace *from) {
    struct hand hand;
    hand_start(&hand, from->threads, from->events);
    struct hd_trace *t = &hand.trace;
    size_t n = from->events;
    t->format = from->format;
    t->events = from->events;
    t->exact = from->exact;
    t->end = from->end;
    memcpy(t->thread, from->thread, n * sizeof *t->thread);
    memcpy(t->kind, from->kind, n);
    memcpy(t->flags, from->flags, n);
    memcpy(t->operand, from->operand, n * sizeof *t->operand);
    memcpy(t->extra_event, from->extra_event, from->extras * sizeof *t->extra_event);
    memcpy(t->extra_value, from->extra_value, from->extras * sizeof *t->extra_value);
    t->extras = from->extras;
    return *t;
}

static inline void hand_free(struct hd_trace *t) { hd_trace_free(t); }

static inline uint64_t extra_of(const struct hd_trace *t, uint32_t event) {
    for (uint32_t i = 0; i < t->extras; i++)
        if (t->extra_event[i] == event) return t->extra_value[i];
    return NO_EXTRA;
}

static inline void print_trace(const struct hd_trace *t) {
    for (uint32_t e = 0; e < t->events; e++) {
        fprintf(stderr, "# %3u  T%u|%s(0x%llx", e, t->thread[e], hd_kind_name(t->kind[e]),
                (unsigned long long)t->operand[e]);
        uint64_t extra = extra_of(t, e);
        if (t->flags[e] != 0) fprintf(stderr, " flags %u", t->flags[e]);
        if (extra != NO_EXTRA) fprintf(stderr, " value %llu", (unsigned long long)extra);
        fprintf(stderr, ")\n");
    }
}

/* ---- the simulation ----------------------------------------------------------------------------
 */

struct simulated_lock {
    uint64_t address;
    int write_holder, write_depth;
    int read_depth[RANDOM_THREADS];
};

struct simulated_thread {
    bool forked, started, ended, joined;
    bool member, arrived; /* of the open barrier round */
};

struct simulation {
    struct dice random;
    struct hand hand;
    unsigned threads;
    struct simulated_thread thread[RANDOM_THREADS];
    struct simulated_lock lock[RANDOM_OBJECTS];
    struct {
        bool initialised;
        uint64_t tokens;
    } sem[RANDOM_OBJECTS];
    uint64_t signals, round;
    int members, arrivals; /* of the open round; members 0: none */
    uint64_t barrier;
    uint64_t block[64];
    unsigned blocks;
};

/* Objects 0..3 lie in the space that blocks begin over, the others outside. */
static inline uint64_t object_address(unsigned object, unsigned kind) {
    return object < 4 ? RANDOM_BASE + object * 40 + kind * 8 : 0x40000 + object * 64 + kind * 8;
}

static inline bool lock_is_held(const struct simulation *s, const struct simulated_lock *lock) {
    if (lock->write_depth > 0) return true;
    for (unsigned t = 0; t < s->threads; t++)
        if (lock->read_depth[t] > 0) return true;
    return false;
}

static inline bool simulate_alloc(struct simulation *s, unsigned t) {
    uint64_t low = RANDOM_BASE + roll(&s->random, RANDOM_SPACE - 8);
    if (roll(&s->random, 2)) low &= ~7ull;
    uint64_t bytes =
        roll(&s->random, 3) ? 1 + roll(&s->random, 48) : roll(&s->random, RANDOM_SPACE);
    if (roll(&s->random, 6) == 0) { /* a large one, from far before or to far behind */
        uint64_t high = low + bytes;
        if (roll(&s->random, 2)) low = roll(&s->random, RANDOM_BASE);
        if (roll(&s->random, 2)) high = 0x30000 + roll(&s->random, 0x10000);
        bytes = high - low;
    }
    for (unsigned i = 0; i < 4; i++)
        if (lock_is_held(s, &s->lock[i]) && s->lock[i].address >= low &&
            s->lock[i].address < low + bytes)
            return false;
    for (unsigned i = 0; i < 4; i++) {
        uint64_t sem = object_address(i, 2);
        if (sem >= low && sem < low + bytes) {
            s->sem[i].initialised = false;
            s->sem[i].tokens = 0;
        }
    }
    if (s->blocks < 64) s->block[s->blocks++] = low;
    hand_add(&s->hand, t, HD_EV_ALLOC, roll(&s->random, 3), low, bytes);
    return true;
}

static inline bool simulate_free(struct simulation *s, unsigned t) {
    if (s->blocks > 0 && roll(&s->random, 5)) {
        uint64_t low = s->block[roll(&s->random, s->blocks)];
        hand_add(&s->hand, t, HD_EV_FREE, 0, low,
                 low < RANDOM_BASE || roll(&s->random, 4) ? NO_EXTRA : 1 + roll(&s->random, 30));
    } else
        hand_add(&s->hand, t, HD_EV_FREE, 0, RANDOM_BASE + roll(&s->random, RANDOM_SPACE),
                 roll(&s->random, 40));
    return true;
}

static inline bool simulate_access(struct simulation *s, unsigned t) {
    static const uint8_t sizes[] = {8, 8, 8, 4, 4, 4, 1, 1, 2, 3, 5, 7, 12, 16, 17, 24, 40};
    unsigned size = sizes[roll(&s->random, sizeof sizes)];
    unsigned what = roll(&s->random, 10);
    uint64_t address = RANDOM_BASE + roll(&s->random, RANDOM_SPACE / 2);
    if (roll(&s->random, 4)) address &= ~7ull;
    if (what < 8) {
        unsigned kind = what < 4 ? HD_EV_READ : HD_EV_WRITE;
        if (roll(&s->random, 40) == 0)
            hand_add(&s->hand, t, kind, 0, address, roll(&s->random, 100));
        else
            hand_add(&s->hand, t, kind, size, address, NO_EXTRA);
    } else
        hand_add(&s->hand, t, HD_EV_ATOMIC_READ + roll(&s->random, 3),
                 roll(&s->random, 4) | roll(&s->random, 6) << 4, address, NO_EXTRA);
    return true;
}

static inline bool simulate_lock(struct simulation *s, unsigned t) {
    unsigned object = roll(&s->random, RANDOM_OBJECTS);
    unsigned what = roll(&s->random, 5);
    for (unsigned i = 0; what > 1 && i < RANDOM_OBJECTS; i++) { /* one that it holds, if any */
        unsigned held = (object + i) % RANDOM_OBJECTS;
        if (s->lock[held].read_depth[t] == 0 &&
            (s->lock[held].write_depth == 0 || s->lock[held].write_holder != (int)t))
            continue;
        object = held;
        break;
    }
    struct simulated_lock *lock = &s->lock[object];
    bool others_read = false;
    for (unsigned u = 0; u < s->threads; u++)
        if (u != t && lock->read_depth[u] > 0) others_read = true;
    bool other_writes = lock->write_depth > 0 && lock->write_holder != (int)t;
    bool writes = lock->write_depth > 0 && !other_writes;
    unsigned flags = object % 2 ? HD_LOCK_RWLOCK : HD_LOCK_MUTEX;
    switch (what) {
    case 0:
        if (others_read || other_writes) {
            hand_add(&s->hand, t, HD_EV_TRY_FAILED, flags, lock->address, NO_EXTRA);
            return true;
        }
        lock->write_holder = (int)t;
        lock->write_depth++;
        hand_add(&s->hand, t, HD_EV_ACQUIRE, flags, lock->address, NO_EXTRA);
        return true;
    case 1:
        if (other_writes || object % 2 == 0) return false;
        lock->read_depth[t]++;
        hand_add(&s->hand, t, HD_EV_READ_ACQUIRE, flags, lock->address, NO_EXTRA);
        return true;
    case 2:
    case 3:
        if (!writes && lock->read_depth[t] == 0) return false;
        if (writes)
            lock->write_depth--;
        else
            lock->read_depth[t]--;
        hand_add(&s->hand, t, HD_EV_RELEASE, flags, lock->address, NO_EXTRA);
        return true;
    default:
        if (lock->read_depth[t] == 0) return false;
        lock->read_depth[t]--;
        hand_add(&s->hand, t, HD_EV_READ_RELEASE, flags, lock->address, NO_EXTRA);
        return true;
    }
}

static inline bool simulate_sync(struct simulation *s, unsigned t) {
    unsigned object = roll(&s->random, RANDOM_OBJECTS);
    switch (roll(&s->random, 7)) {
    case 0:
        hand_add(&s->hand, t, roll(&s->random, 2) ? HD_EV_SIGNAL : HD_EV_BROADCAST, 0,
                 object_address(object, 1), ++s->signals);
        return true;
    case 1:
        hand_add(&s->hand, t, HD_EV_WAIT, 0, object_address(object, 1),
                 s->signals > 0 && roll(&s->random, 4) ? 1 + roll(&s->random, (uint32_t)s->signals)
                                                       : NO_EXTRA);
        return true;
    case 2:
        s->sem[object].initialised = true;
        s->sem[object].tokens = roll(&s->random, 3);
        hand_add(&s->hand, t, HD_EV_SEM_INIT, 0, object_address(object, 2), s->sem[object].tokens);
        return true;
    case 3:
        s->sem[object].tokens++;
        hand_add(&s->hand, t, HD_EV_POST, 0, object_address(object, 2), NO_EXTRA);
        return true;
    case 4:
        if (s->sem[object].initialised && s->sem[object].tokens == 0) return false;
        if (s->sem[object].tokens > 0) s->sem[object].tokens--;
        hand_add(&s->hand, t, HD_EV_SEM_WAIT, 0, object_address(object, 2), NO_EXTRA);
        return true;
    case 5:
        hand_add(&s->hand, t, HD_EV_ONCE_DONE, 0, object_address(object, 3), NO_EXTRA);
        return true;
    default:
        hand_add(&s->hand, t, HD_EV_ONCE_PASS, 0, object_address(object, 3), NO_EXTRA);
        return true;
    }
}

static inline bool simulate_barrier(struct simulation *s, unsigned t) {
    struct simulated_thread *me = &s->thread[t];
    if (s->members == 0) {
        s->round++;
        s->arrivals = 0;
        s->barrier = object_address(4 + roll(&s->random, 2), 4);
        for (unsigned u = 0; u < s->threads; u++) {
            struct simulated_thread *other = &s->thread[u];
            other->arrived = false;
            other->member = other->started && !other->ended && (u == t || roll(&s->random, 4) > 0);
            s->members += other->member;
        }
    }
    if (!me->member || me->arrived) return false;
    me->arrived = true;
    s->arrivals++;
    hand_add(&s->hand, t, HD_EV_BARRIER_ARRIVE, 0, s->barrier, s->round);
    return true;
}

static inline bool simulate_threads(struct simulation *s, unsigned t) {
    unsigned other = roll(&s->random, s->threads);
    unsigned what = roll(&s->random, 3);
    for (unsigned u = 0; what == 1 && u < s->threads; u++)
        if (s->thread[u].ended && !s->thread[u].joined) other = u;
    struct simulated_thread *thread = &s->thread[other];
    switch (what) {
    case 0:
        if (thread->forked || thread->started || thread->ended || other == t) return false;
        thread->forked = true;
        if (roll(&s->random, 6) == 0)
            thread->ended = true; /* never runs */
        else
            thread->started = true;
        hand_add(&s->hand, t, HD_EV_FORK, 0, other, NO_EXTRA);
        if (thread->started && roll(&s->random, 2))
            hand_add(&s->hand, other, HD_EV_BEGIN, 0, other, NO_EXTRA);
        return true;
    case 1:
        if (!thread->ended || thread->joined || other == t) return false;
        thread->joined = true;
        hand_add(&s->hand, t, HD_EV_JOIN, 0, other, NO_EXTRA);
        return true;
    default:
        if (roll(&s->random, 3) || s->thread[t].member) return false;
        s->thread[t].ended = true;
        if (roll(&s->random, 2)) hand_add(&s->hand, t, HD_EV_END, 0, t, NO_EXTRA);
        return true;
    }
}

static inline bool simulate_step(struct simulation *s) {
    unsigned t = roll(&s->random, s->threads);
    struct simulated_thread *me = &s->thread[t];
    if (!me->started || me->ended) return false;
    if (me->member && me->arrived) {
        if (s->arrivals < s->members) return false;
        bool all_left = true;
        me->member = false;
        hand_add(&s->hand, t, HD_EV_BARRIER_LEAVE, 0, s->barrier, s->round);
        for (unsigned u = 0; u < s->threads; u++) all_left = all_left && !s->thread[u].member;
        if (all_left) s->members = 0;
        return true;
    }
    unsigned what = roll(&s->random, 20);
    if (s->members > 0 && me->member && roll(&s->random, 3) == 0) return simulate_barrier(s, t);
    if (what < 9) return simulate_access(s, t);
    if (what < 13) return simulate_lock(s, t);
    if (what < 15) return simulate_sync(s, t);
    if (what < 16) return s->members == 0 && simulate_barrier(s, t);
    if (what < 18) return simulate_threads(s, t);
    if (what < 19) return simulate_alloc(s, t);
    return simulate_free(s, t);
}

static inline struct hd_trace random_trace(uint64_t seed, unsigned steps) {
    struct simulation s;
    memset(&s, 0, sizeof s);
    s.random.state = seed;
    s.threads = roll(&s.random, 8)   ? 2 + roll(&s.random, 5)
                : roll(&s.random, 2) ? 16
                                     : RANDOM_THREADS;
    hand_start(&s.hand, s.threads, 2 * steps + 8);
    for (unsigned t = 0; t < s.threads; t++)
        s.thread[t].started = t == 0 || roll(&s.random, 3) == 0;
    for (unsigned i = 0; i < RANDOM_OBJECTS; i++) s.lock[i].address = object_address(i, 0);
    for (unsigned i = 0; i < steps; i++) simulate_step(&s);
    return s.hand.trace;
}

#endif
