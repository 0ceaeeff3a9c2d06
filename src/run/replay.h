/* Did a run follow its schedule, and what came of that? Checked in the run's trace, independently
 * of the runtime. Also: where two runs of one schedule differ because the program depends on
 * something that no schedule controls. */
#ifndef HEDDLE_RUN_REPLAY_H
#define HEDDLE_RUN_REPLAY_H

#include "base/status.h"

#include <stdint.h>

struct hd_result;
struct hd_schedule;
struct hd_steering;

/* name, word */
#define HD_REPLAY_VERDICTS(X)       \
    X(CONFIRMED, "confirmed")       \
    X(DID_NOT_FAIL, "did not fail") \
    X(DIVERGED, "diverged")
enum hd_replay_verdict {
#define X(name, word) HD_REPLAYED_##name,
    HD_REPLAY_VERDICTS(X)
#undef X
        HD_REPLAY_VERDICT_COUNT
};
const char *hd_replay_verdict_name(enum hd_replay_verdict verdict);

/* The first place where the run was not what the schedule says. */
#define HD_NO_EVENT UINT64_MAX
struct hd_divergence {
    bool there;
    uint32_t turn; /* of the schedule, `then` included, from 0 */
    uint32_t thread;
    uint64_t call;  /* that thread's, from 1: where it should have been something else */
    uint64_t event; /* its number in the run's trace, HD_NO_EVENT if there is none */
    char expected[512], came[512];
};

struct hd_replay {
    /* CONFIRMED: the schedule was followed to its end, and the program failed. DID_NOT_FAIL: it was
     * followed and nothing was seen; a race is real all the same. DIVERGED: it was not followed;
     * the outcome is of another run. */
    enum hd_replay_verdict verdict;
    bool reached;   /* the state that the schedule leads to */
    uint32_t turns; /* that were taken, `then` included */
    bool unchecked; /* the run's trace could not be read or is too long: only counts were checked */
    char words[1400]; /* verdict, and why: one line */
    struct hd_divergence divergence;
};

/* Judges a run that followed steering->schedule: fills in result->replay. */
void hd_replay_judge(const struct hd_steering *steering, struct hd_result *result);

/* ---- what no schedule controls -------------------------------------------------------------- */

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
