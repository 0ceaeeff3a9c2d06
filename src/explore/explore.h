/* The explorer: from a program that passes to a failure that comes back whenever it is asked for.
 * Plain runs say what is normal; recorded runs say what else the program could do; sources want
 * runs (a prediction, one context switch, a suspension, a random policy); each is run and judged;
 * a failure is reproduced, minimised, explained and saved.
 *
 * `heddle hunt` and `heddle expose` are two plans: lists of sources with their shares of the time
 * (plan.c). */
#ifndef HEDDLE_EXPLORE_EXPLORE_H
#define HEDDLE_EXPLORE_EXPLORE_H

#include "base/vector.h"
#include "cover/cover.h"
#include "explore/potential.h"
#include "explore/suspicions.h"
#include "facts/correlated.h"
#include "finding/finding.h"
#include "learn/invariants.h"
#include "run/elsewhere.h"

enum hd_plan {
    HD_PLAN_HUNT,  /* predictions first; then what needs none */
    HD_PLAN_EXPOSE /* one strategy, alone, until the first failure */
};

/* What output means that differs from that of the plain runs. The order of lines never counts. */
enum hd_output_rule {
    HD_OUTPUT_NOTED, /* reported, no failure */
    HD_OUTPUT_SAME,  /* a failure */
    HD_OUTPUT_ANY    /* nothing */
};

/* Where a suspension takes place. */
enum hd_context { HD_CONTEXT_NONE, HD_CONTEXT_CALLER, HD_CONTEXT_THREAD };

/* Where an exploration is, for whoever draws it. */
struct hd_explore_progress {
    const char *what;   /* "recording", "predicting", "forcing", ... */
    uint64_t runs;      /* of the program, of every sort */
    uint64_t most_runs; /* 0: no limit */
    uint32_t done, all; /* of what is done now; all 0: unknown */
    uint32_t failures;  /* different ones */
    const char *best;   /* what is tried now: "race on total"; "" */
};

/* Zeroed fields mean what is said in brackets. */
struct hd_explore_options {
    struct hd_program program; /* its limit 0: from its own runs */
    const struct hd_host *host;
    enum hd_plan plan;
    enum hd_strategy strategy; /* expose */
    double seconds;            /* for everything (no limit) */
    uint32_t plain_runs;       /* (1) */
    uint32_t most_recorded;    /* (1) */
    uint64_t most_runs;        /* hunt: that force a prediction; expose: of every sort (no limit) */
    uint32_t strategy_runs;    /* hunt: of each of expose's strategies (none) */
    uint32_t repeats;          /* of what failed (none) */
    uint32_t most_questions;   /* of a minimisation (400) */
    uint64_t query_nanoseconds; /* for one prediction (2 s) */
    uint64_t seed;
    unsigned jobs;    /* for predictions; 0: one for each core */
    unsigned at_once; /* runs of the program at the same time (1) */
    /* Who does the runs instead of this process; NULL: nobody. */
    const struct hd_elsewhere *elsewhere;
    bool follow_fork; /* record processes that the program makes too, and predict from them */
    bool no_server;   /* execute the program for every run (forked from one that waits: server.h) */
    const char *snapshot_at; /* the function that it waits at; NULL: before main */
    enum hd_output_rule output;
    bool first; /* stop at the first failure */
    /* Variables that belong together: what may come between their accesses is predicted too. May be
     * NULL. */
    const struct hd_correlated_rules *correlations;
    const struct hd_invariants *invariants; /* that heddle learn learned; NULL */
    /* Gets what every traced run covers; may be NULL. */
    struct hd_cover *cover;
    bool trace_all;     /* runs of strategies that need no trace have one too, for `cover` */
    bool until_covered; /* end when nothing feasible is open under Def-Use and LR-Inv */
    bool complete;      /* hunt: go on until nothing is left, and nothing else */
    /* Only interleavings that are open here are forced by suspensions; NULL: all. */
    const struct hd_cover *targets_cover;
    /* hunt: what hd_suspicions_load gave is forced, and nothing else; NULL: what is predicted. It
     * must live as long as the exploration. */
    const struct hd_findings *suspicions;
    bool keep_control; /* save how the failing run was steered, not its schedule */
    /* the strategies' own */
    uint32_t depth; /* pct */
    enum hd_pruning pruning;
    enum hd_context context;
    uint32_t timeout_ms;        /* of a suspension, for the first attempt */
    uint32_t targets;           /* of a run */
    const char *reproducer;     /* file for the first failure, or NULL: saved nowhere */
    const char *replay_command; /* how reports begin the command that replays ("heddle replay") */
    void (*report)(void *context, const struct hd_explore_progress *progress); /* may be NULL */
    /* Gets every candidate of a suspension in the order of its rank, and then nothing is run. May
     * be NULL. */
    void (*list)(void *context, uint32_t rank, const struct hd_interleaving *it, const char *words);
    void *report_context; /* of the two */
};

/* Why it ended. */
enum hd_explore_end {
    HD_END_FAILURE,   /* the first failure was enough */
    HD_END_RUNS,      /* no more runs */
    HD_END_TIME,      /* no more time */
    HD_END_EXHAUSTED, /* nothing left to try */
    HD_END_COVERED,   /* nothing feasible is open (until_covered) */
    HD_END_STOPPED    /* a signal */
};

/* Runs of each sort. */
struct hd_explore_runs {
    uint32_t plain;    /* as if started by hand */
    uint32_t recorded; /* to predict from */
    uint32_t forced;   /* that follow a schedule made for a prediction */
    uint32_t closing;  /* to see whether anything is left */
    uint32_t steered;  /* under a strategy */
    uint32_t asked;    /* while minimising */
    uint32_t repeated; /* for rates, schedules and explanations */
};

/* Do two accesses of a run race? */
enum hd_closed_races {
    HD_CLOSED_NO_RACES,
    HD_CLOSED_RACES,
    HD_CLOSED_RACES_UNKNOWN /* predicted, but the program diverged */
};

/* How far closing got (docs/explore.md). */
struct hd_closing_end {
    bool there;                     /* it was tried */
    bool complete;                  /* nothing is left */
    uint64_t classes;               /* ways in which reads see writes, that were run */
    uint64_t runs;                  /* that it took */
    uint64_t left;                  /* runs that are known to be wanted */
    enum hd_closed_races races;     /* if it is complete and nothing fails */
    HD_VECTOR(const char *) reason; /* why it is not complete */
};

struct hd_exploration {
    /* Failures first, then what was forced without failure, then what could not be forced.
     * `forced` says what came of each. */
    struct hd_findings findings;
    enum hd_explore_end end;
    int interrupted; /* the signal that asked to stop */
    struct hd_explore_runs runs;
    struct hd_explore_runs until_failure; /* up to the first one */
    double seconds, failure_seconds;      /* in all; until the first failure, 0: there was none */
    uint32_t failures;                    /* different ones */
    uint32_t threads, events;             /* most that a recorded run had */
    uint32_t processes;                   /* that were recorded in a run, at most */
    bool child_threads; /* in a process that was not recorded: they were not looked at */
    char build[33];     /* of the program (hd_trace_build), from the first recorded run; "" */
    /* without being steered */
    uint32_t plain_tries, plain_failed;
    struct hd_outcome plain_outcome; /* of the last that failed */
    bool flaky;                      /* what failed does so as often in plain runs */
    struct hd_outcome flaky_outcome;
    uint32_t recorded_failed;
    /* forced runs */
    uint32_t reached, diverged;
    uint32_t refuted;       /* proved, but the program diverges each time */
    uint32_t foreseen;      /* schedules that begin like one that got stuck: not run */
    uint32_t first_failure; /* forced runs up to the first failure; 0: none failed */
    uint32_t targets;       /* predictions that could be forced */
    uint32_t left;          /* that time or runs did not reach */
    uint32_t cut;           /* runs that had not ended when the time was up: they may hang */
    bool saturated;         /* the last recorded runs brought nothing new */
    /* output that depends on the schedule, without being a failure */
    uint32_t output_runs, output_differs;
    char output_words[512];
    /* suspensions */
    struct hd_profile_counts counts;
    uint64_t accesses; /* places of shared accesses in recorded runs */
    uint32_t candidates, tried, brought_about;
    uint32_t rank; /* of the candidate that failed, from 1; 0: none did */
    /* the first failure, by how the run was steered */
    const char *control; /* "the suspensions", "the seed"; NULL: it was found otherwise */
    uint32_t control_tries, control_reproduced;
    bool has_schedule;            /* what was saved is a schedule, not a control */
    struct hd_error unsaved;      /* why a file could not be written; code HD_OK: all were */
    const struct hd_cover *cover; /* the options'; NULL: not asked for */
    struct hd_closing_end closed;
    void *work; /* owner of what findings point to */
};

/* False if the job can't be done: *error says why and *exploration needs no freeing. */
bool hd_explore(const struct hd_explore_options *options, struct hd_exploration *exploration,
                struct hd_error *error);
void hd_exploration_free(struct hd_exploration *exploration);

/* Is it something to act on: failed when forced, harmful by itself, or a suspicion that the program
 * was seen to do? */
bool hd_explored_matters(const struct hd_finding *finding);
/* Does any of the findings? */
bool hd_explored_any(const struct hd_exploration *exploration);

/* "NAME.KIND.json" in the current directory, for a program's path: where a failure is saved if the
 * user does not say; malloc'ed. */
char *hd_explore_path(const char *program, const char *kind);

#endif
