/* A run as closing sees it: what each step of each thread sees, and what comes before it. Threads
 * and steps have names that are the same in every run, so that runs can be compared. See
 * docs/explore.md for the words and the argument. */
#ifndef HEDDLE_EXPLORE_CLOSING_VIEW_H
#define HEDDLE_EXPLORE_CLOSING_VIEW_H

#include "model/model.h"

#define CLOSING_NEVER (HD_NONE - 1) /* the operation had not come about when the run ended */

enum { CLOSING_READS = 1, CLOSING_WRITES = 2 };
/* What a lock or semaphore lets a thread do. */
enum { CLOSING_LETS_WRITE = 1, CLOSING_LETS_READ = 2, CLOSING_LETS_TAKE = 4 };

/* A step and one cell that it is about. A cell is a memory location, a lock, a condition variable,
 * a barrier, a semaphore. An operation on one of the latter sees the one before it: all of a cell
 * are a chain. */
struct closing_use {
    uint32_t event, cell;
    uint32_t from; /* the use that it sees; HD_NONE: the initial value; CLOSING_NEVER */
    uint8_t does;
    uint8_t lets; /* of a lock or semaphore, after this operation */
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

bool closing_is_step(uint8_t kind);

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

/* What a step that sees these uses (one for each of its own that reads, in their order) adds to its
 * thread's hash. */
uint64_t closing_hash_step(const struct closing_view *view, uint64_t before, uint32_t event,
                           const uint32_t *from);
/* An event as others name it: its thread, its number. */
uint64_t closing_name(const struct closing_view *view, uint32_t event);

#endif
