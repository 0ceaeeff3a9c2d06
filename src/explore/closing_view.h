/* A run as closing sees it: what each step of each thread sees, and what comes before it. Threads
 * and steps have names that are the same in every run, so that runs can be compared. See
 * docs/explore.md for the words and the argument. */
#ifndef HEDDLE_EXPLORE_CLOSING_VIEW_H
#define HEDDLE_EXPLORE_CLOSING_VIEW_H

#include "model/model.h"

#define CLOSING_NEVER (HD_NONE - 1) /* the operation had not come about when the run ended */

/* EXPIRES: the end of a wait, which could have been that its time is up: then it reads and writes.
 */
enum { CLOSING_READS = 1, CLOSING_WRITES = 2, CLOSING_EXPIRES = 4 };
/* What a lock, a semaphore or a one-time initialisation lets a thread do. */
enum {
    CLOSING_LETS_WRITE = 1,
    CLOSING_LETS_READ = 2,
    CLOSING_LETS_TAKE = 4,
    CLOSING_LETS_BEGIN = 8,
    CLOSING_LETS_PASS = 16
};
/* A time limit of the step's call: it may be up; or it is so long that this is not tried. */
enum { CLOSING_SHORT = 1, CLOSING_LONG = 2 };

/* A step and one cell that it is about. A cell is a memory location, a lock, a condition variable,
 * a barrier, a semaphore. An operation on one of the latter sees the one before it: all of a cell
 * are a chain. */
struct closing_use {
    uint32_t event, cell;
    uint32_t from; /* the use that it sees; HD_NONE: the initial value; CLOSING_NEVER */
    uint8_t does;
    uint8_t lets; /* of a lock or semaphore, after this operation */
    /* of a condition variable: who waits after this operation, waiter[waiting .. + waiters) */
    uint32_t waiting, waiters;
};

/* How a step comes out: what it sees, one use for each of its own that reads, the thread that its
 * signal wakes (HD_NONE: none), and whether the time of its wait is up. */
struct closing_choice {
    const uint32_t *from;
    uint32_t wakes;
    bool expires;
};

struct closing_view {
    struct hd_model model; /* owned */
    uint32_t threads;
    uint64_t *thread_id; /* by thread: who made it, and which of those */
    /* Steps of a thread are its events but notes and the like: step[start[t] .. start[t + 1]). */
    uint32_t *start, *step;
    uint32_t *position; /* by event: which step of its thread; HD_NONE: none */
    uint64_t *hash;     /* [start[t] + t + k]: what the first k steps of t saw */
    struct closing_use *use;
    uint32_t *use_start; /* by event */
    uint32_t cells, memory_cells;
    uint8_t *cell_shared, *cell_lets; /* lets: before the first operation */
    uint32_t *cell_start, *cell_use;  /* by cell: the uses that write, in the order of the run */
    uint32_t *waiter;                 /* threads, see struct closing_use */
    uint32_t *woken;                  /* by event: the thread that a signal woke, HD_NONE */
    uint8_t *limit;                   /* by event */
    uint32_t *past;    /* [event * threads + t]: steps of t that come before it, itself included */
    uint32_t *blocked; /* by thread: what it was blocked in when the run deadlocked, HD_NONE */
    bool normal;       /* without rounds of loops that only wait */
    bool cut;          /* the run failed: threads may have had more to do */
    uint32_t crash;    /* the last step before the process died by a signal, HD_NONE */
    uint64_t data;     /* what all reads of memory saw (those that led to a crash), and what each
                          trylock gave */
    uint64_t steps;    /* the same with the order of operations on locks and the like */
    uint64_t whole;    /* and with where threads were blocked */
    uint64_t bytes;
};

/* Takes the model and the names of its threads over. */
void closing_view_build(struct closing_view *view, struct hd_model *model, uint64_t *thread_id);
void closing_view_free(struct closing_view *view);

bool closing_is_step(uint8_t kind, uint8_t flags);
/* Does a step try, so that it can do without what it asks for: a lock, or one of a semaphore? */
bool closing_is_try(const struct closing_view *view, uint32_t event);
/* What a lock must let a step do that it gets it. */
unsigned closing_asks(const struct closing_view *view, uint32_t event);

static inline uint32_t closing_steps(const struct closing_view *view, uint32_t thread) {
    return view->start[thread + 1] - view->start[thread];
}
/* The same, but 0 if it has only begun: no turn of a schedule makes it do that. */
uint32_t closing_steps_done(const struct closing_view *view, uint32_t thread);
static inline uint32_t closing_step(const struct closing_view *view, uint32_t thread, uint32_t k) {
    return view->step[view->start[thread] + k];
}
static inline uint64_t closing_hash(const struct closing_view *view, uint32_t thread, uint32_t k) {
    return view->hash[view->start[thread] + thread + k];
}
static inline const uint32_t *closing_past(const struct closing_view *view, uint32_t event) {
    return view->past + (size_t)event * view->threads;
}

/* What a step adds to its thread's hash if it comes out so. */
uint64_t closing_hash_step(const struct closing_view *view, uint64_t before, uint32_t event,
                           const struct closing_choice *choice);
/* An event as others name it: its thread, its number. */
uint64_t closing_name(const struct closing_view *view, uint32_t event);

#endif
