/* The sentences of findings, each in one place: what happens, why nothing prevents it, what such
 * bugs usually get. From plain structs; the events of a finding must be set. */
#ifndef HEDDLE_FINDING_WORDS_H
#define HEDDLE_FINDING_WORDS_H

#include "finding/finding.h"

/* " at file.c:12"; "" without a site */
const char *hd_words_at(struct hd_findings *findings, const char *site);
/* "T1 writes x at file.c:12" */
const char *hd_words_step(struct hd_findings *findings, const struct hd_finding_event *event,
                          const char *variable);

/* Why there is no schedule to show, by the verdict; `what` is what no correct reordering does. */
const char *hd_words_no_schedule(struct hd_findings *findings, const struct hd_finding *finding,
                                 const char *what);

/* The words of a schedule; if it is only possible, with what it takes. */
const char *hd_words_relaxed(struct hd_findings *findings, const struct hd_finding *finding,
                             const char *words);

/* What came of trying the cause of a failure: both rates, and whether it is one. "" if it was not
 * tried. */
void hd_words_cause(const struct hd_finding_forced *forced, char *text, size_t room);

/* ---- the kinds ------------------------------------------------------------------------------ */

const char *hd_words_race(struct hd_findings *findings, const struct hd_finding *finding);

/* "T2 writes x at a.c:9 between two accesses of T1, which reads it at a.c:3 and then writes it at
 * a.c:4": of three events. */
const char *hd_words_between(struct hd_findings *findings, const struct hd_finding *finding);
/* `wrong`: what is wrong with the pattern. */
const char *hd_words_atomicity(struct hd_findings *findings, const struct hd_finding *finding,
                               const char *wrong);

/* Of two variables that belong together: the first and the last event are of one thread, those
 * between them of another. */
const char *hd_words_correlated(struct hd_findings *findings, const struct hd_finding *finding);

/* Of two events in the order that goes wrong. */
const char *hd_words_early_read(struct hd_findings *findings, const struct hd_finding *finding,
                                bool fresh_memory);
const char *hd_words_late_initialisation(struct hd_findings *findings,
                                         const struct hd_finding *finding);
const char *hd_words_use_after_free(struct hd_findings *findings, const struct hd_finding *finding);
const char *hd_words_double_free(struct hd_findings *findings, const struct hd_finding *finding);
const char *hd_words_use_after_destroy(struct hd_findings *findings,
                                       const struct hd_finding *finding);
const char *hd_words_use_before_init(struct hd_findings *findings,
                                     const struct hd_finding *finding);
const char *hd_words_never_released(struct hd_findings *findings, const struct hd_finding *finding);
const char *hd_words_missed_signal(struct hd_findings *findings, const struct hd_finding *finding);

/* "waits for a signal on c at a.c:3"; `type` is an HD_WAIT_ of the trace. */
const char *hd_words_wait(struct hd_findings *findings, unsigned type, const char *name,
                          bool reading, const char *site);
/* A thread of a deadlock, and what it waits for. */
struct hd_stuck {
    const char *thread, *wait;
    const char *holds; /* the lock that the thread before it waits for; NULL: it holds none */
    bool holds_reading;
    const char *acquired;  /* where; "" if unknown */
    const char *needed_by; /* without a lock: the thread that can't go on without it; NULL */
};
/* Of one thread, it waits for itself. `observed`: the run ended so. */
const char *hd_words_deadlock(struct hd_findings *findings, const struct hd_stuck *stuck,
                              uint32_t count, bool observed);
const char *hd_words_endless_wait(struct hd_findings *findings, const struct hd_stuck *stuck);

/* Of three events: who holds the lock, the fork, and the child that waits. `own`: who holds it is
 * the one who forks. */
const char *hd_words_lock_at_fork(struct hd_findings *findings, const struct hd_finding *finding,
                                  bool own, bool observed);

/* Sets seen, possible and conclusion of a nondeterministic read: what it saw and could see. */
struct hd_read_words {
    const char *reader, *site; /* NULL: the final state, read by nobody */
    const char *seen, *other;  /* "the initial value", "what T1 wrote at a.c:3" */
};
void hd_words_nondeterminism(struct hd_findings *findings, struct hd_finding *finding,
                             const struct hd_read_words *words);

/* ---- repairs -------------------------------------------------------------------------------- */

#define HD_REPAIR_ATOMICITY                                                                       \
    "lock strategy: one critical section around the accesses that belong together; or design "    \
    "change: one atomic operation, or a value of its own; or condition check: look again before " \
    "the second access"
#define HD_REPAIR_SECTION \
    "lock strategy: one critical section around the accesses that belong together"
#define HD_REPAIR_ORDER "make the later operation wait for the earlier one"
#define HD_REPAIR_FREE                                                                         \
    "design change (count the users, the last one frees), code switch (join or wait for them " \
    "before the free)"
#define HD_REPAIR_RELEASE \
    "release the lock on every way out of the thread, cancellation included; or a robust mutex"
#define HD_REPAIR_SIGNAL \
    "condition check (test in a loop, in the section that waits, what the signal says)"
#define HD_REPAIR_INITIALISATION                                                                \
    "code switch (initialise before the other thread is started), condition check (wait until " \
    "it is initialised), lock strategy (hold a lock from the start to the initialisation)"
#define HD_REPAIR_SELF_DEADLOCK                                                                 \
    "give-up (do not take what is held already: split off a function that expects the lock to " \
    "be held), or a recursive mutex"
#define HD_REPAIR_LOCK_AND_WAIT                                                                   \
    "give-up (release the lock before waiting), split (another lock for what the waiting thread " \
    "protects)"
#define HD_REPAIR_LOCK_ORDER                                                                  \
    "give-up (do not take the second lock there, or try it and back off), acquisition order " \
    "(one order everywhere), split (smaller sections)"
#define HD_REPAIR_JOIN \
    "give-up (do not hold what the joined thread needs; join from one place only)"
#define HD_REPAIR_ENDLESS_WAIT \
    "condition check (test in a loop, under the lock, what the wait is for before each wait)"
#define HD_REPAIR_FORK                                                                            \
    "code switch (fork before there are threads, or only execute another program in the child), " \
    "or handlers (pthread_atfork) that take the lock before the fork and release it after it"
#define HD_REPAIR_WAIT_LOOP "condition check: a loop around the wait, which looks again each time"
#define HD_REPAIR_ABA                                                                           \
    "design change: a count beside the value, which changes every time; or lock strategy: one " \
    "critical section around read and exchange"

#endif
