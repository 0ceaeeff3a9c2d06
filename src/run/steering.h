/* How a run is steered, in a form that can be kept: what a strategy chose for one run, and what a
 * reproducer file holds under "control". Turned into a struct hd_control to run it. */
#ifndef HEDDLE_RUN_STEERING_H
#define HEDDLE_RUN_STEERING_H

#include "facts/place.h"
#include "run/run.h"

/* name, word, what it does */
#define HD_STRATEGIES(X)                                                                   \
    X(CTRIGGER, "ctrigger", "suspend threads so that unserializable interleavings happen") \
    X(STRESS, "stress", "plain runs, one after the other")                                 \
    X(SYNC, "sync", "noise at synchronisation operations")                                 \
    X(RACE, "race", "suspend threads so that racing accesses meet")                        \
    X(PCT, "pct", "one thread at a time, random priorities that change at random places")  \
    X(POS, "pos", "one thread at a time, a random priority for each access")
enum hd_strategy {
#define X(name, word, about) HD_STRATEGY_##name,
    HD_STRATEGIES(X)
#undef X
        HD_STRATEGY_COUNT
};
const char *hd_strategy_name(enum hd_strategy strategy);

/* One interleaving to force; places are numbers of the steering's own table. */
struct hd_force_target {
    uint32_t p; /* 0: R right before C */
    uint32_t c, r, c_stop, r_stop;
    uint32_t c_caller, r_caller; /* 0: any */
    uint32_t c_thread, r_thread; /* HD_NONE: any */
    uint32_t skip;               /* opportunities to let go by first */
};

struct hd_steering {
    enum hd_strategy strategy;
    enum hd_scheduler scheduler;
    enum hd_policy policy;
    uint64_t seed;
    uint32_t quantum; /* 0: the usual one */
    /* pct */
    uint64_t length;
    uint32_t depth;
    /* noise */
    uint32_t per_mille, most_us, most;
    /* force */
    uint32_t timeout_us, timeouts, hits;
    uint32_t strict; /* enum hd_force_strict */
    HD_VECTOR(struct hd_force_target) target;
    const struct hd_places *places;
};
void hd_steering_free(struct hd_steering *steering);
bool hd_steering_copy(struct hd_steering *to, const struct hd_steering *from);

/* The control; *plan is what it points to and is the caller's to free. False when memory is out. */
bool hd_steering_control(const struct hd_steering *steering, struct hd_control *control,
                         void **plan);

/* ---- reproducers ------------------------------------------------------------------------------
 */

/* A failure and how to have it again: the file `heddle expose` writes and `heddle replay` takes, a
 * "heddle-schedule/1" whose "control" stands in place of turns. Strings are never NULL. */
struct hd_reproducer {
    const char *variable, *about, *command;
    const char *good_output; /* as in struct hd_schedule */
    const char *outcome;     /* "signal", "exit", ... */
    struct hd_steering steering;
    struct hd_places places; /* of a file that was read */
    struct hd_arena arena;
};
void hd_reproducer_free(struct hd_reproducer *reproducer);
/* malloc'ed JSON; NULL when memory is out. */
char *hd_reproducer_write(const struct hd_reproducer *reproducer);
/* Untrusted input; the error names the file and the field. */
bool hd_reproducer_read(const char *text, size_t bytes, const char *name,
                        struct hd_reproducer *reproducer, struct hd_error *error);
bool hd_reproducer_load(const char *path, struct hd_reproducer *reproducer, struct hd_error *error);
/* Is this a file with a control, rather than with turns? */
bool hd_reproducer_is(const char *text, size_t bytes);
/* Appears under its name only when it is whole. */
bool hd_reproducer_save(const struct hd_reproducer *reproducer, const char *path,
                        struct hd_error *error);

#endif
