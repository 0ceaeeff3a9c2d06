/* How a run is steered: which scheduler, which policy with its numbers, which interleavings to
 * force, or which schedule to follow. The one struct for it: everybody who wants a run fills it in,
 * schedule files hold it under "control", a job carries it to another process. */
#ifndef HEDDLE_RUN_STEERING_H
#define HEDDLE_RUN_STEERING_H

#include "facts/site.h"
#include "trace/wire.h"

struct hd_schedule;

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

/* Zeroed fields mean what is said in brackets. */
struct hd_steering {
    enum hd_strategy strategy;   /* of `heddle expose`, which chose the rest */
    enum hd_scheduler scheduler; /* (HD_SCHED_OFF: a plain run, as if started by hand, no trace) */
    enum hd_policy policy;       /* (round robin) */
    uint64_t seed;
    uint32_t quantum; /* time slice: hook calls between preemptions (the policy's usual one) */
    uint32_t
        watchdog_ms; /* serial: how often to look for a thread that keeps the others waiting (5) */
    /* what is recorded */
    bool no_trace; /* write no trace: the outcome counts, not what happened */
    bool direct;   /* store accesses that came as expected, too */
    bool states;   /* note what tells a loop that only waits (runtime/state.c) */
    bool children; /* record forked and exec'ed processes too */
    /* checking: see run/observed.h; with `no_trace` no accesses are recorded */
    bool check, check_waits;
    enum hd_granularity granularity;
    /* replay */
    const struct hd_schedule *schedule; /* to follow, by the process that it names */
    uint32_t patience_ms;               /* for a thread that is in a system call (2000) */
    bool unchecked; /* do not compare the trace with the schedule afterwards: quicker */
    /* pct */
    uint64_t length;
    uint32_t depth;
    /* noise */
    uint32_t per_mille, most_us, most;
    /* force */
    uint32_t timeout_us, timeouts, hits;
    uint32_t strict; /* enum hd_force_strict */
    HD_VECTOR(struct hd_force_target) target;
    const struct hd_sites *places; /* of the targets */
};
/* Frees the targets; the schedule and the places are somebody else's. */
void hd_steering_free(struct hd_steering *steering);
void hd_steering_copy(struct hd_steering *to, const struct hd_steering *from);

/* The options and the policy's plan for the runtime (wire.h); *plan is malloc'ed or NULL. */
struct hd_wire_options hd_steering_options(const struct hd_steering *steering);
void *hd_steering_plan(const struct hd_steering *steering, size_t *bytes);
/* patience_ms, or the usual. */
uint32_t hd_steering_patience_ms(const struct hd_steering *steering);

#endif
