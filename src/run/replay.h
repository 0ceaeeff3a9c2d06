/* Replay: makes the program take a schedule, checks in the trace of that run that it did, and
 * judges how it ended. Also: how often the same schedule gives the same failure, and where two runs
 * of one schedule part because the program depends on something that nobody controls.
 *
 *     struct hd_replay replay;
 *     if (!hd_replay(&program, &schedule, NULL, &replay, &error)) ... could not be run
 *     if (replay.run.interrupted) ...
 *     replay.verdict, replay.words; replay.run.outcome; replay.run.trace_path
 *     hd_replay_free(&replay);
 */
#ifndef HEDDLE_RUN_REPLAY_H
#define HEDDLE_RUN_REPLAY_H

#include "run/run.h"
#include "run/schedule.h"

/* name, word */
#define HD_REPLAY_VERDICTS(X)       \
    X(CONFIRMED, "confirmed")       \
    X(DID_NOT_FAIL, "did not fail") \
    X(DIVERGED, "diverged")
enum hd_replay_verdict {
#define X(name, word) HD_REPLAYED_##name,
    HD_REPLAY_VERDICTS(X)
#undef X
};
const char *hd_replay_verdict_name(enum hd_replay_verdict verdict);

/* The first place where the run was not what the schedule says. */
struct hd_divergence {
    bool there;
    uint32_t turn; /* of the schedule, `then` included, from 0 */
    uint32_t thread;
    uint64_t call;  /* that thread's, from 1: where it should have been something else */
    uint32_t event; /* of the run's trace, HD_NONE if there is none */
    char expected[512], came[512];
};

struct hd_replay {
    /* CONFIRMED: the schedule was followed to its end, and the program failed. DID_NOT_FAIL: it was
     * followed and nothing was seen; a race is real all the same. DIVERGED: it was not followed;
     * the outcome is of another run. */
    enum hd_replay_verdict verdict;
    bool reached;     /* the state that the schedule leads to */
    uint32_t turns;   /* that were taken, `then` included */
    bool unchecked;   /* the run's trace could not be read: only counts were checked */
    char words[1400]; /* verdict, and why: one line */
    struct hd_divergence divergence;
    struct hd_program_run run;
};

/* How to go about it; NULL or zeroes: the usual. */
struct hd_replay_options {
    uint32_t patience_ms; /* for a thread that is in a system call (2000) */
    bool unchecked;       /* do not read the trace afterwards: quicker, for many replays */
    bool no_trace;        /* do not even write it */
};

bool hd_replay(const struct hd_program *program, const struct hd_schedule *schedule,
               const struct hd_replay_options *options, struct hd_replay *replay,
               struct hd_error *error);
void hd_replay_free(struct hd_replay *replay);

/* A race's accesses in the other order: turns the last `then` and the one before it round. False if
 * there are no two. */
bool hd_schedule_swap(struct hd_schedule *schedule);

/* ---- the rate ------------------------------------------------------------------------------- */

struct hd_replay_rate {
    uint32_t runs;
    uint32_t reproduced; /* failed in the same way as the reference */
    uint32_t failed;     /* failed in any way, the schedule followed */
    uint32_t reached, diverged;
    int interrupted;
    struct hd_outcome outcome;       /* the reference: what was given, or the first failure */
    struct hd_divergence divergence; /* the first one */
    uint64_t nanoseconds;
};

/* Replays `times` times. `like` is the failure to be reproduced; NULL: the first that comes. `step`
 * is told after every run, and may be NULL; false: that is enough. */
bool hd_replay_times(const struct hd_program *program, const struct hd_schedule *schedule,
                     const struct hd_replay_options *options, uint32_t times,
                     const struct hd_outcome *like,
                     bool (*step)(void *context, const struct hd_replay_rate *rate), void *context,
                     struct hd_replay_rate *rate, struct hd_error *error);

/* ---- what nobody controls ------------------------------------------------------------------- */

enum hd_cause {
    HD_CAUSE_UNKNOWN,
    HD_CAUSE_TIME,
    HD_CAUSE_RANDOM,
    HD_CAUSE_INPUT,
    HD_CAUSE_ADDRESS
};

/* Where two runs of one schedule are different. */
struct hd_difference {
    bool there;
    uint32_t event;               /* of both traces: the first that differs */
    char first[512], second[512]; /* what it is in each: "T1 log.c:57 r(len)" */
    enum hd_cause cause;
    char source[512]; /* what the program asked for before: "the time, T1 at log.c:12"; "" */
    char words[1700]; /* one line */
};

/* Compares the traces of two runs. */
bool hd_runs_differ(const char *first, const char *second, struct hd_difference *difference,
                    struct hd_error *error);

#endif
