/* Random small executions as text traces, well-formed by construction: nested, hand-over-hand and
 * recursive locks, read-write locks, failed tries, condition variables, barriers, semaphores, forks
 * and joins, atomics, blocks of memory, overlapping byte ranges. The same seed gives the same
 * trace, and line n is event n. */
#ifndef HEDDLE_TESTS_ORACLE_RANDOM_TRACE_H
#define HEDDLE_TESTS_ORACLE_RANDOM_TRACE_H

#include "support/dice.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_LINES = 64, TEXT_WIDTH = 32, SIM_THREADS = 5, SIM_LOCKS = 4, SIM_SEMAPHORES = 8 };

struct text_trace {
    bool lenient; /* not well-formed: to be repaired */
    unsigned lines;
    char line[TEXT_LINES][TEXT_WIDTH];
};

struct sim_thread {
    bool started, ended, forked, joined;
    unsigned write_depth[SIM_LOCKS], read_depth[SIM_LOCKS];
    int waits_with; /* lock to take again after a condition wait, -1 */
    bool woken;     /* the wait itself is over */
    bool member, arrived;
};

/* How likely each group of operations is, a trace at a time. */
struct sim_mix {
    unsigned access, atomic, lock, condition, barrier, semaphore, thread, block, mark;
};

struct sim {
    struct dice dice;
    struct text_trace *out;
    struct sim_mix mix;
    unsigned threads, locks, variables;
    bool ranges, read_locks, recursive;
    unsigned discipline; /* of 4 accesses without a lock so many do not happen */
    struct sim_thread thread[SIM_THREADS];
    unsigned depth[SIM_LOCKS]; /* holds in write mode */
    unsigned semaphores;
    bool initialised[SIM_SEMAPHORES];
    unsigned tokens[SIM_SEMAPHORES];
    bool allocated;
    unsigned members, arrivals;
};

static inline void sim_line(struct sim *sim, unsigned thread, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static inline void sim_line(struct sim *sim, unsigned thread, const char *format, ...) {
    char *line = sim->out->line[sim->out->lines++];
    int used = snprintf(line, TEXT_WIDTH, "T%u|", thread);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + used, TEXT_WIDTH - (size_t)used, format, arguments);
    va_end(arguments);
}

/* ---- memory --------------------------------------------------------------------------------- */

static inline void sim_place(struct sim *sim, char *text, size_t size, unsigned alignment) {
    char variable = "xyz"[roll(&sim->dice, sim->variables)];
    unsigned offset = roll(&sim->dice, 4) / alignment * alignment,
             length = 1 << roll(&sim->dice, 3);
    if (sim->allocated && roll(&sim->dice, 2) == 0) variable = 'p';
    if (!sim->ranges)
        snprintf(text, size, "%c", variable);
    else if (offset == 0)
        snprintf(text, size, "%c:%u", variable, length);
    else
        snprintf(text, size, "%c+%u:%u", variable, offset, length > 2 ? 2 : length);
}

static inline bool sim_holds(const struct sim *sim, unsigned t) {
    for (unsigned lock = 0; lock < sim->locks; lock++)
        if (sim->thread[t].write_depth[lock] + sim->thread[t].read_depth[lock] > 0) return true;
    return false;
}

static inline bool sim_access(struct sim *sim, unsigned t) {
    char place[16];
    if (!sim_holds(sim, t) && roll(&sim->dice, 4) < sim->discipline) return false;
    sim_place(sim, place, sizeof place, 1);
    sim_line(sim, t, "%c(%s)", "rw"[roll(&sim->dice, 2)], place);
    return true;
}

static inline bool sim_atomic(struct sim *sim, unsigned t) {
    static const char *const kind[] = {"ar", "aw", "arw"};
    char place[16] = "a";
    if (roll(&sim->dice, 3) == 0) sim_place(sim, place, sizeof place, 2);
    sim_line(sim, t, "%s(%s)", kind[roll(&sim->dice, 3)], place);
    return true;
}

static inline bool sim_block(struct sim *sim, unsigned t) {
    if (sim->allocated && roll(&sim->dice, 3) > 0) {
        sim_line(sim, t, "free(p)");
        sim->allocated = roll(&sim->dice, 3) == 0; /* used, or freed once more */
    } else {
        sim_line(sim, t, "alloc(p:4)");
        sim->allocated = true;
    }
    return true;
}

/* ---- locks ---------------------------------------------------------------------------------- */

static inline bool sim_taken(const struct sim *sim, unsigned t, unsigned lock, bool to_write) {
    for (unsigned u = 0; u < sim->threads; u++) {
        if (u == t) continue;
        if (sim->thread[u].write_depth[lock] > 0) return true;
        if (to_write && sim->thread[u].read_depth[lock] > 0) return true;
    }
    return false;
}

static inline bool sim_release(struct sim *sim, unsigned t, unsigned lock) {
    struct sim_thread *me = &sim->thread[t];
    bool read = me->read_depth[lock] > 0 && (me->write_depth[lock] == 0 || roll(&sim->dice, 2));
    if (!read && me->write_depth[lock] == 0) return false;
    (read ? me->read_depth : me->write_depth)[lock]--;
    sim_line(sim, t, "%s(l%u)", read ? "rrel" : "rel", lock);
    return true;
}

static inline bool sim_lock(struct sim *sim, unsigned t) {
    struct sim_thread *me = &sim->thread[t];
    unsigned lock = roll(&sim->dice, sim->locks);
    if (roll(&sim->dice, 5) < 3)
        for (unsigned i = 0; i < sim->locks; i++)
            if (sim_release(sim, t, (lock + i) % sim->locks)) return true;
    bool read = sim->read_locks && lock == 0 && roll(&sim->dice, 2);
    bool again = me->write_depth[lock] > 0 || me->read_depth[lock] > 0;
    if (again && (!sim->recursive || roll(&sim->dice, 2))) return false;
    if (sim_taken(sim, t, lock, !read)) {
        if (again || roll(&sim->dice, 10)) return false;
        sim_line(sim, t, "tryfail(l%u)", lock);
        return true;
    }
    (read ? me->read_depth : me->write_depth)[lock]++;
    sim_line(sim, t, "%s(l%u)", read ? "racq" : "acq", lock);
    return true;
}

/* ---- condition variables, semaphores, barriers ------------------------------------------------
 */

static inline bool sim_condition(struct sim *sim, unsigned t) {
    struct sim_thread *me = &sim->thread[t];
    bool anyone = false;
    for (unsigned u = 0; u < sim->threads; u++)
        anyone |= sim->thread[u].waits_with >= 0 && !sim->thread[u].woken;
    if (anyone || roll(&sim->dice, 6) == 0) {
        sim_line(sim, t, "%s(c)", roll(&sim->dice, 2) ? "signal" : "broadcast");
        return true;
    }
    for (unsigned lock = 0; lock < sim->locks; lock++) {
        if (me->write_depth[lock] != 1 || me->read_depth[lock] > 0) continue;
        me->write_depth[lock] = 0;
        me->waits_with = (int)lock;
        me->woken = false;
        sim_line(sim, t, "rel(l%u)", lock);
        return true;
    }
    return false;
}

/* What a thread inside a condition wait does next. */
static inline bool sim_wait(struct sim *sim, unsigned t) {
    struct sim_thread *me = &sim->thread[t];
    unsigned lock = (unsigned)me->waits_with;
    if (!me->woken) {
        me->woken = true;
        sim_line(sim, t, "%s(c)", roll(&sim->dice, 8) ? "wait" : "timeout");
        return true;
    }
    if (sim_taken(sim, t, lock, true)) return false;
    me->waits_with = -1;
    me->write_depth[lock] = 1;
    sim_line(sim, t, "acq(l%u)", lock);
    return true;
}

static inline bool sim_semaphore(struct sim *sim, unsigned t) {
    unsigned what = roll(&sim->dice, 7), s = roll(&sim->dice, sim->semaphores);
    if (what == 0 && !sim->initialised[s] && sim->tokens[s] == 0) {
        sim->initialised[s] = true;
        sim->tokens[s] = roll(&sim->dice, 2);
        sim_line(sim, t, "seminit(s%u:%u)", s, sim->tokens[s]);
    } else if (what < 4) {
        sim->tokens[s]++;
        sim_line(sim, t, "post(s%u)", s);
    } else {
        /* one that has a token, or now and then one of which nothing is known */
        for (unsigned i = 0; i < sim->semaphores && sim->tokens[s] == 0; i++)
            s = (s + 1) % sim->semaphores;
        if (sim->tokens[s] == 0 && (sim->initialised[s] || roll(&sim->dice, 3))) return false;
        if (sim->tokens[s] > 0) sim->tokens[s]--;
        sim_line(sim, t, "wait(s%u)", s);
    }
    return true;
}

static inline bool sim_barrier(struct sim *sim, unsigned t) {
    struct sim_thread *me = &sim->thread[t];
    if (sim->members == 0) {
        sim->arrivals = 0;
        for (unsigned u = 0; u < sim->threads; u++) {
            struct sim_thread *other = &sim->thread[u];
            other->arrived = false;
            other->member = other->started && !other->ended && other->waits_with < 0 &&
                            (u == t || roll(&sim->dice, 3) > 0);
            sim->members += other->member;
        }
    }
    if (!me->member || me->arrived) return false;
    me->arrived = true;
    sim_line(sim, t, "barrier(b)");
    if (++sim->arrivals == sim->members) { /* all may go on */
        sim->members = 0;
        for (unsigned u = 0; u < sim->threads; u++)
            sim->thread[u].member = sim->thread[u].arrived = false;
    }
    return true;
}

/* ---- threads -------------------------------------------------------------------------------- */

static inline bool sim_fork_or_join(struct sim *sim, unsigned t) {
    unsigned other = roll(&sim->dice, sim->threads);
    struct sim_thread *thread = &sim->thread[other];
    if (other == t) {
        if (t == 0 || roll(&sim->dice, 2) || thread->member) return false;
        thread->ended = true;
        if (roll(&sim->dice, 2)) sim_line(sim, t, "end()");
        return true;
    }
    if (!thread->started) {
        thread->started = true;
        sim_line(sim, t, "fork(T%u)", other);
        if (roll(&sim->dice, 4) == 0 && sim->out->lines < TEXT_LINES)
            sim_line(sim, other, "begin()");
        return true;
    }
    if (!thread->ended || thread->joined) return false;
    thread->joined = true;
    sim_line(sim, t, "join(T%u)", other);
    return true;
}

static inline bool sim_mark(struct sim *sim, unsigned t) {
    static const char *const mark[] = {"branch", "fence()", "note(n)"};
    sim_line(sim, t, "%s", mark[roll(&sim->dice, 3)]);
    return true;
}

/* ---- the simulation ------------------------------------------------------------------------- */

static inline bool sim_step(struct sim *sim) {
    unsigned t = roll(&sim->dice, sim->threads);
    struct sim_thread *me = &sim->thread[t];
    if (!me->started || me->ended || me->arrived) return false;
    if (me->waits_with >= 0) return sim_wait(sim, t);
    if (me->member && roll(&sim->dice, 2)) return sim_barrier(sim, t);
    const struct {
        unsigned weight;
        bool (*act)(struct sim *, unsigned);
    } choice[] = {{sim->mix.access, sim_access},
                  {sim->mix.atomic, sim_atomic},
                  {sim->mix.lock, sim_lock},
                  {sim->mix.condition, sim_condition},
                  {sim->mix.barrier, sim_barrier},
                  {sim->mix.semaphore, sim_semaphore},
                  {sim->mix.thread, sim_fork_or_join},
                  {sim->mix.block, sim_block},
                  {sim->mix.mark, sim_mark}};
    enum { CHOICES = sizeof choice / sizeof choice[0] };
    unsigned total = 0;
    for (unsigned i = 0; i < CHOICES; i++) total += choice[i].weight;
    unsigned at = roll(&sim->dice, total), i = 0;
    while (at >= choice[i].weight) at -= choice[i++].weight;
    return choice[i].act(sim, t);
}

/* accesses, atomics, locks, conditions, barriers, semaphores, threads, blocks, marks */
static const struct sim_mix sim_mixes[] = {
    {4, 0, 9, 0, 0, 0, 0, 0, 0}, /* locks and data */
    {9, 0, 3, 0, 0, 0, 0, 0, 0}, /* mostly data */
    {2, 0, 9, 0, 0, 0, 0, 0, 0}, /* mostly locks */
    {3, 0, 8, 5, 0, 0, 0, 0, 0}, /* condition variables */
    {4, 4, 6, 0, 0, 0, 0, 0, 0}, /* atomics */
    {4, 0, 6, 0, 2, 0, 4, 0, 0}, /* threads and barriers */
    {3, 0, 6, 0, 0, 5, 0, 0, 0}, /* semaphores */
    {4, 1, 6, 0, 0, 0, 1, 4, 0}, /* blocks */
    {5, 2, 8, 2, 1, 2, 2, 1, 1}, /* all */
};
/* Many sections whose order is open, tied together from thread to thread. */
static const struct sim_mix sim_hard_mixes[] = {
    {2, 0, 9, 0, 0, 5, 0, 0, 0}, {5, 0, 9, 0, 0, 2, 0, 0, 0}, {9, 0, 5, 0, 0, 0, 0, 0, 0},
    {9, 1, 0, 0, 0, 1, 0, 0, 0}, {1, 0, 9, 0, 0, 1, 0, 0, 0},
};

static inline void sim_run(struct sim *sim, unsigned length) {
    bool all_run = sim->mix.thread == 0 || roll(&sim->dice, 3) == 0;
    for (unsigned t = 0; t < sim->threads; t++) {
        sim->thread[t].started = t == 0 || all_run;
        sim->thread[t].waits_with = -1;
    }
    for (unsigned tries = 0; sim->out->lines < length && tries < 40 * length; tries++)
        sim_step(sim);
}

/* 2 to 4 threads, up to 14 events. */
static inline void random_trace(uint64_t seed, struct text_trace *out) {
    struct sim sim = {.dice = {seed * 0x2545f4914f6cdd1dull}, .out = out};
    memset(out, 0, sizeof *out);
    sim.mix = sim_mixes[roll(&sim.dice, sizeof sim_mixes / sizeof sim_mixes[0])];
    sim.threads = 2 + roll(&sim.dice, 3);
    sim.locks = 1 + roll(&sim.dice, 3);
    sim.variables = 1 + roll(&sim.dice, 3);
    sim.semaphores = 1 + roll(&sim.dice, 2);
    sim.ranges = roll(&sim.dice, 4) == 0;
    sim.read_locks = roll(&sim.dice, 3) == 0;
    sim.recursive = roll(&sim.dice, 3) == 0;
    sim.discipline = sim.mix.lock > 3 ? roll(&sim.dice, 4) : 0;
    sim_run(&sim, 4 + roll(&sim.dice, 11));
}

/* 3 to 5 threads, up to 30 events, for the last rungs of the ladder. */
static inline void random_hard_trace(uint64_t seed, struct text_trace *out) {
    struct sim sim = {.dice = {seed * 0x2545f4914f6cdd1dull}, .out = out};
    memset(out, 0, sizeof *out);
    sim.mix = sim_hard_mixes[roll(&sim.dice, sizeof sim_hard_mixes / sizeof sim_hard_mixes[0])];
    sim.threads = 3 + roll(&sim.dice, 3);
    sim.locks = 2 + roll(&sim.dice, 3);
    sim.variables = 1 + roll(&sim.dice, 3);
    sim.semaphores = SIM_SEMAPHORES;
    sim.read_locks = roll(&sim.dice, 4) == 0;
    sim.discipline = sim.mix.lock > 0 ? roll(&sim.dice, 4) : 0;
    sim_run(&sim, 15 + roll(&sim.dice, 16));
}

/* ---- as text -------------------------------------------------------------------------------- */

static inline size_t text_join(const struct text_trace *trace, char *text, size_t room) {
    size_t used = 0;
    for (unsigned i = 0; i < trace->lines; i++)
        used += (size_t)snprintf(text + used, room - used, "%s\n", trace->line[i]);
    return used;
}

#endif
