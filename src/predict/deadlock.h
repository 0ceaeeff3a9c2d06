/* Deadlocks: cycles of waiting threads (deadlock.c), and what a run that deadlocked says about
 * waits for other things than locks (deadlock_observed.c). */
#ifndef HEDDLE_PREDICT_DEADLOCK_H
#define HEDDLE_PREDICT_DEADLOCK_H

#include "predict/predict.h"

/* What the search may cost. A bound that is hit is counted as undecided. */
struct hd_deadlock_limits {
    uint64_t steps;     /* dependencies looked at in all */
    uint32_t groups;    /* of cycles of one length; with more, longer ones are not looked for */
    uint32_t cycles;    /* cycles kept of each group */
    uint64_t questions; /* asked of each group */
    uint64_t skipped;   /* event tuples of each group that are looked at and not asked */
};
extern const struct hd_deadlock_limits hd_deadlock_limits;

bool hd_predict_deadlocks_within(struct hd_predict *predict,
                                 const struct hd_deadlock_limits *limits,
                                 struct hd_findings *findings, struct hd_error *error);

/* Adds the waits of a deadlocked run that no cycle of locks explains: joins in a cycle, waits for
 * a signal, a post or an arrival that never came. */
void hd_deadlock_observed(struct hd_predict *predict, struct hd_findings *findings);

/* Adds children of a fork that wait for a lock which another thread held, or may hold, at the fork
 * (fork_locks.c). */
bool hd_deadlock_at_fork(struct hd_predict *predict, struct hd_findings *findings,
                         struct hd_error *error);
/* The one that a run has ended in, as a draft; false: it has not. */
bool hd_deadlock_at_fork_observed(const struct hd_model *model, struct hd_describe *describe,
                                  struct hd_findings *findings, struct hd_finding *draft);

#endif
