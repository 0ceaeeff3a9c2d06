/* The hunt: from a program that passes to a failure that comes back whenever it is asked for.
 * Plain runs say how the program behaves; recorded runs say what else it could do; each prediction
 * is forced on the program; a failure is reproduced, minimised and kept as a schedule. */
#ifndef HEDDLE_EXPLORE_HUNT_H
#define HEDDLE_EXPLORE_HUNT_H

#include "finding/from_model.h"
#include "run/run.h"

/* Where a hunt is, for whoever draws it. */
struct hd_hunt_progress {
    const char *what;   /* "recording", "predicting", "forcing", ... */
    uint32_t runs;      /* of the program, of every sort */
    uint32_t done, all; /* of what is done now; all 0: unknown */
    uint32_t failures;  /* different ones */
    const char *best;   /* the best candidate so far: "race on total"; "" */
};

/* Zeroed fields mean what is said in brackets. */
struct hd_hunt_options {
    struct hd_program program; /* its limit 0: from its own runs */
    const struct hd_host *host;
    uint32_t plain_runs;        /* (3) */
    uint32_t most_recorded;     /* (12) */
    uint32_t most_forced;       /* runs that force something (0: no limit) */
    uint32_t repeats;           /* of a failing schedule (20) */
    uint32_t most_questions;    /* of a minimisation (400) */
    uint32_t expose_runs;       /* of each of expose's strategies, if nothing failed (50) */
    bool no_expose;             /* leave them out */
    double seconds;             /* for everything (60) */
    uint64_t query_nanoseconds; /* for one prediction (2 s) */
    uint64_t seed;              /* of the random runs */
    unsigned jobs;              /* for predictions; 0: one for each core */
    bool any_output;            /* standard output is not compared with that of plain runs */
    bool first;                 /* stop at the first failure */
    const char *reproducer;     /* file for the first failing schedule, or NULL: kept nowhere */
    const char *replay_command; /* how reports begin the command that replays ("heddle replay") */
    void (*told)(void *context, const struct hd_hunt_progress *progress); /* may be NULL */
    void *context;
};

struct hd_hunt {
    /* Confirmed ones first, then what was forced without failure, then what could not be forced.
     * `forced` tells what came of each. */
    struct hd_findings findings;
    int interrupted; /* the signal that asked to stop: nothing else is certain */
    uint32_t plain, plain_failed, recorded, recorded_failed;
    uint32_t forced, reached, diverged; /* runs, and what they were */
    uint32_t refuted;                   /* proved, but the program takes another path each time */
    uint32_t foreseen;                  /* schedules that begin like one that got stuck: not run */
    uint32_t first_failure;             /* forced runs up to the first failure; 0: none failed */
    uint32_t repeated, asked;           /* runs for rates and for minimisation */
    uint32_t exposed;                   /* runs of expose's strategies */
    uint32_t targets;                   /* predictions that could be forced */
    uint32_t left;                      /* that time or runs did not reach */
    uint32_t threads;                   /* most that a run had */
    uint32_t events;                    /* most that a recorded run had */
    uint32_t failures;                  /* different ones */
    bool saturated;                     /* the last recorded runs brought nothing new */
    bool output_counts;                 /* output was compared */
    double seconds, failure_seconds;    /* in all; until the first failure, 0 if there was none */
    char plain_words[512];              /* how a plain run failed; "" */
    void *work;                         /* owner of what findings point to */
};

/* False if the job can't be done: *error says why and *hunt needs no freeing. */
bool hd_hunt(const struct hd_hunt_options *options, struct hd_hunt *hunt, struct hd_error *error);
void hd_hunt_free(struct hd_hunt *hunt);

/* Is it something to act on: failed when forced, or is harmful by itself? */
bool hd_hunt_matters(const struct hd_finding *finding);

#endif
