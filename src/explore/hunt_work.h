/* What the parts of a hunt share; not for others. */
#ifndef HEDDLE_EXPLORE_HUNT_WORK_H
#define HEDDLE_EXPLORE_HUNT_WORK_H

#include "base/map.h"
#include "explore/dead_ends.h"
#include "explore/hunt.h"
#include "explore/seeds.h"
#include "predict/predict.h"
#include "run/replay.h"

/* A recorded run, and what was predicted from it. */
struct hunt_run {
    struct hd_model model;
    struct hd_describe *describe;
    struct hd_findings findings[4]; /* by enum hunt_depth */
    bool passed;
    bool asked, repeats; /* does its own order, followed again, give the same run? */
};

/* How far values may change in what is predicted. */
enum hunt_depth {
    HUNT_EXACT,   /* every read keeps its write: what is feasible is so in the program */
    HUNT_RELAXED, /* reads that no branch follows are free */
    HUNT_FREE,    /* all reads are: the program may do something else on the way */
    HUNT_SWITCHED /* not predicted: one change of thread where two threads meet (hunt_switch.c) */
};

/* A prediction that can be forced. */
struct hunt_target {
    struct hunt_run *run;
    struct hd_finding *finding;
    enum hunt_depth depth;
    uint64_t key;  /* of its sites: the same target in every run */
    uint32_t rank; /* small first */
    /* HUNT_SWITCHED: a thread stops before `stop`, the thread of `other` runs through that and as
     * far as it can, then the first goes on. */
    bool switched;
    /* Worth a try at once, the other thread but briefly: a wait that is in no loop, an exchange
     * that may find an old value again. */
    bool early;
    uint32_t repeat; /* of the same sites, by other threads */
    uint32_t stop, other;
    uint32_t tried; /* variants */
    bool reached, failed;
    bool shown;                /* a forced run really did it: its own trace says so */
    struct hd_outcome outcome; /* of the forced run that tells most */
};

/* An access as it is found again in other runs: a call of its thread, or the nth at its place. */
struct hunt_access {
    uint32_t thread, nth;
    uint64_t count;
    const char *site;
    uint8_t kind;
};

/* The accesses that a failure turns on, in the order of the failing run. */
struct hunt_order {
    struct hunt_access *access;
    uint32_t accesses; /* 0: not known */
};

/* A failure that can be had again. */
struct hunt_failure {
    struct hd_outcome outcome;
    struct hunt_order order;
    struct hd_finding *finding; /* of a target, or made for a run that failed by itself */
};

struct hunt_work {
    const struct hd_hunt_options *options;
    struct hd_hunt *hunt;
    struct hd_program program;
    int reference; /* standard output of a plain run; -1: none */
    char reference_path[40];
    bool lines_vary; /* runs that are good print the same lines in different orders */
    double start, deadline;
    double phase_end;        /* while nothing failed: something else is to be tried then */
    uint64_t bytes;          /* of all models */
    uint64_t calls;          /* hook calls of the first recorded run */
    uint32_t patience_ms;    /* forced runs: for a thread that is in a system call */
    uint64_t hangs_again_ms; /* as in struct hd_reduce */
    HD_VECTOR(struct hunt_run *) run;
    HD_VECTOR(struct hunt_target) target;
    HD_VECTOR(struct hunt_failure) failure;
    uint32_t reducing;      /* runs of the present reduction, which no sum has yet */
    struct hd_findings own; /* findings that were made here, and what all of them are told */
    struct hd_map key;      /* targets by key, plus one */
    struct hd_map print;    /* the sites (in short) that a fingerprint stands for */
    struct hd_seen seen;
    struct hd_dead_ends dead_ends;
    char best[160];
};

bool hunt_is_over(const struct hunt_work *work); /* time, runs or Ctrl-C */
bool hunt_phase_is_over(const struct hunt_work *work);
void hunt_tell(struct hunt_work *work, const char *what, uint32_t done, uint32_t all);
/* Runs fail as the hunt sees it: the same lines in another order are no failure. */
bool hunt_failed(struct hunt_work *work, const struct hd_result *run);

/* hunt_runs.c */
bool hunt_plain_runs(struct hunt_work *work, struct hd_error *error);
/* Records the n-th run. *added is the new one, NULL if it brought nothing new or was interrupted;
 * a failing one is dealt with here. */
bool hunt_record(struct hunt_work *work, uint32_t n, struct hunt_run **added, uint32_t *news,
                 struct hd_error *error);
void hunt_run_free(struct hunt_run *run);
/* Does the program repeat itself if it is made to take a recorded run's own order? If so, and it
 * does not take the order of a proved prediction, that depends on something which is in no trace.
 */
bool hunt_repeats(struct hunt_work *work, struct hunt_run *run, bool *repeats,
                  struct hd_error *error);

/* hunt_force.c */
/* Predicts from a run and adds targets that are new. */
bool hunt_predict(struct hunt_work *work, struct hunt_run *run, enum hunt_depth depth,
                  struct hd_error *error);
/* Forces what was not forced yet, of a rank below `below`. */
#define HUNT_UNLIKELY 2000u /* from here on: what is probably intended */
bool hunt_force(struct hunt_work *work, uint32_t below, struct hd_error *error);

/* Adds a target if it is new. False when memory is out. */
bool hunt_add_target(struct hunt_work *work, const struct hunt_target *target,
                     enum hunt_depth depth);

/* hunt_shown.c */
/* Did the forced run of a prediction in which values may change do what is harmful by itself? */
bool hunt_is_shown(const struct hunt_target *target, const char *trace);

/* hunt_switch.c */
/* Adds a target for each place of a run where a thread could be late by one change of thread. */
bool hunt_switch(struct hunt_work *work, struct hunt_run *run, struct hd_error *error);
/* Only those that are worth a try at once. */
bool hunt_switch_early(struct hunt_work *work, struct hunt_run *run, struct hd_error *error);
bool hunt_switch_schedule(const struct hunt_target *target, bool briefly,
                          struct hd_schedule *schedule, struct hd_error *error);

/* hunt_expose.c */
bool hunt_expose(struct hunt_work *work, struct hd_error *error);

/* hunt_failure.c */
/* A run failed under a schedule: reproduces it, minimises it, says what it is about. The finding is
 * the target's, or NULL for a run that was not aimed at anything. */
bool hunt_failure(struct hunt_work *work, struct hunt_target *target,
                  const struct hd_schedule *schedule, const struct hd_result *run,
                  struct hd_error *error);
/* A failure that has a control, but no schedule. */
bool hunt_control_failure(struct hunt_work *work, const struct hd_outcome *outcome,
                          const char *engine, const char *what, const char *variable, uint32_t runs,
                          uint32_t reproduced, struct hd_finding **finding);
/* What forcing without failure is told about. */
bool hunt_no_failure(struct hunt_work *work, struct hunt_target *target);

#endif
