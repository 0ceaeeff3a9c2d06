/* What the parts of the explorer share; not for others. */
#ifndef HEDDLE_EXPLORE_EXPLORER_H
#define HEDDLE_EXPLORE_EXPLORER_H

#include "base/alloc.h"
#include "base/clock.h"
#include "base/map.h"
#include "explore/dead_ends.h"
#include "explore/explore.h"
#include "facts/history.h"
#include "finding/from_model.h"
#include "run/schedule.h"
#include "run/server.h"

/* ---- the corpus ----------------------------------------------------------------------------- */

/* How far values may change in what is predicted. */
enum depth {
    DEPTH_EXACT,   /* every read keeps its write: what is feasible is so in the program */
    DEPTH_RELAXED, /* reads that no branch follows are free */
    DEPTH_FREE,    /* all reads are: the program may do something else on the way */
    DEPTH_SWITCH,  /* not predicted: one context switch where two threads meet */
    DEPTHS
};

/* A recorded run that passed, and what was found in it. */
struct recorded {
    struct hd_model model;
    struct hd_describe *describe;
    struct hd_analysis analysis; /* of both */
    struct hd_findings findings[DEPTHS];
    struct hd_findings roles; /* the exact ones once more, by events: see explore_add_role */
    bool asked, repeats;      /* does its own schedule, followed again, give the same run? */
};

/* ---- wanted runs ---------------------------------------------------------------------------- */

/* A prediction or a context switch that can be forced: waits in the queue. */
struct target {
    struct recorded *run;
    struct hd_finding *finding;
    enum depth depth;
    uint64_t key;  /* of its sites: the same target in every run */
    uint32_t rank; /* small first */
    /* DEPTH_SWITCH: a thread stops before `stop`, the thread of `other` runs through that and as
     * far as it can, then the first goes on. */
    uint32_t stop, other;
    /* Worth a try at once, the other thread but briefly: a wait that is in no loop, an exchange
     * that may find an old value again. */
    bool early;
    const char *sign;   /* of such a place: what it is known for, as a sentence; NULL */
    uint32_t repeat;    /* of the same sites, by other threads */
    uint32_t roles;     /* others that are represented: see explore_add_role */
    uint32_t tried;     /* variants */
    bool by_block;      /* of a suspicion: see explore/meetings.h */
    uint32_t suspicion; /* number, from 1, of what a finding from the source suspects; 0: none */
    bool reached, failed;
    bool closes;               /* closing runs it anyway: it is from one of its runs */
    bool shown;                /* a forced run really did it: its own trace says so */
    struct hd_outcome outcome; /* of the forced run that says most */
};

/* The next run: of a target, or steered in some way. */
struct wanted {
    struct target *target; /* NULL: steering says how */
    struct hd_steering steering;
    HD_VECTOR(uint32_t) chosen; /* suspensions: candidates, in the order of steering's targets */
    bool own_schedule;          /* a failure's schedule is that of its run */
};

/* One of several runs at once. */
struct attempt {
    struct hd_steering steering; /* what it points to must live until the run is over */
    bool hangs;
    bool ran;        /* as explore_run says */
    bool asked;      /* somebody else does the run, under... */
    uint32_t ticket; /* ...this number: it is not taken yet */
    struct hd_result run;
    bool cut;              /* by the end of the time that there is */
    bool broken;           /* it could not be run, and... */
    struct hd_error error; /* ...why */
};

/* A run that was done together with others, and was not asked for yet. */
struct early_run {
    uint64_t key;
    struct attempt *attempt;
};

/* ---- failures ------------------------------------------------------------------------------- */

/* An access as it is found again in other runs: a call of its thread, or the nth at its place. */
struct access {
    uint32_t thread, nth;
    uint64_t count;
    uint64_t site; /* hd_site_source */
    uint8_t kind;
};

/* The accesses that a failure depends on, in the order of the failing run. */
struct order {
    struct access *access;
    uint32_t accesses; /* 0: not known */
    bool together;     /* each is to the same memory as the one before it */
};

/* A failure that was found. */
struct failure {
    struct hd_outcome outcome;
    struct order order;
    uint64_t cause;             /* the places of what an experiment proved; 0: none did */
    struct hd_finding *finding; /* of a target, or made for a run that failed by itself */
};

/* A failing run, read back from its trace. */
struct failing {
    struct hd_model model;
    struct hd_describe *describe;
    uint64_t *count; /* hook calls, by event */
    bool there;
};

/* A schedule that gives a failure, as small as it gets, and how often it does. */
struct reproduction {
    bool there;
    struct hd_schedule schedule;
    struct hd_outcome outcome;
    uint32_t runs, reproduced;
    uint32_t switches, switches_before;
};

/* ---- all of it ------------------------------------------------------------------------------ */

struct explorer {
    const struct hd_explore_options *options;
    struct hd_exploration *result;
    struct hd_error *error;
    bool broken; /* *error says why nothing more can be run */
    struct hd_program program;
    struct hd_host host; /* the options', with a server of our own */
    /* attempt.c */
    HD_VECTOR(struct early_run) early;
    uint32_t crowd; /* times as long as alone runs may take, since several go on at once */
    /* budget.c */
    double start, deadline;         /* no new run is begun later */
    double last;                    /* every run is over by then */
    bool too_long;                  /* the latest run has more events than can be looked at */
    double phase_end;               /* while nothing failed: something else is to be tried then */
    uint64_t plain_ms, recorded_ms; /* longest plain run; first recorded one */
    uint32_t patience_ms;           /* forced runs: for a thread that is in a system call */
    /* normal.c */
    int reference; /* standard output of a plain run; -1: none */
    char reference_path[40];
    /* corpus.c */
    HD_VECTOR(struct recorded *) run;
    uint32_t recordings;       /* begun */
    uint32_t quiet;            /* the latest of them that brought nothing new */
    uint64_t bytes;            /* of all models */
    uint64_t calls;            /* hook calls of the longest recorded run */
    struct hd_history history; /* of the recorded runs that passed */
    /* queue.c */
    HD_VECTOR(struct target *) target;
    struct hd_map key;   /* targets by key, plus one */
    struct hd_map print; /* the sites (in short) that a fingerprint stands for */
    struct hd_dead_ends dead_ends;
    /* the source that works now */
    uint32_t fed;    /* recorded runs that were given to it */
    uint64_t number; /* of its runs, from 0 */
    struct hd_profile profile;
    /* Takes what it needs from every run that is recorded; how much was new. May be NULL. */
    uint32_t (*collect)(struct explorer *x, struct recorded *run);
    uint32_t *order, count; /* suspensions: candidates, ranked */
    uint32_t all;           /* runs that it will want, as far as is known */
    uint32_t at, pass;
    uint32_t below;                /* targets of a lower rank are due */
    struct suspected *suspected;   /* by suspicion; NULL: there are none */
    struct closing_state *closing; /* source_close.c; NULL: not begun */
    /* failures */
    HD_VECTOR(struct failure) failure;
    uint32_t shown_saved;   /* files for what did not fail */
    struct hd_findings own; /* findings that were made here, and what forcing adds to all */
    bool explaining;        /* a failure is looked into: other runs that fail say nothing new */
    char best[200];
};

/* budget.c */
void explore_begin_budget(struct explorer *x);
bool explore_is_stopped(struct explorer *x);    /* a signal, or nothing can be run */
bool explore_is_over(struct explorer *x);       /* also: no more time, no more runs */
bool explore_phase_is_over(struct explorer *x); /* also: something else has to be tried */
void explore_begin_phase(struct explorer *x, double share);
void explore_report(struct explorer *x, const char *what, uint32_t done, uint32_t all);
/* Until when to reproduce, minimise or look for a schedule if that should take `seconds`: at least
 * a part of it is possible, since exploring ends a little earlier. */
double explore_until(const struct explorer *x, double seconds);
/* How long a run under this steering may take before it hangs; and one that is known to hang. */
uint64_t explore_limit_ms(const struct explorer *x, const struct hd_steering *steering);
uint64_t explore_hang_ms(const struct explorer *x, const struct hd_steering *steering);

/* explore.c: runs a target's next variant. */
void explore_force(struct explorer *x, struct target *target);

/* attempt.c: one run, known to hang or not. False: it could not be run, a signal came or the time
 * was up before it ended; then *run needs no freeing. */
bool explore_run(struct explorer *x, const struct hd_steering *steering, bool hangs,
                 struct hd_result *run);
/* Several runs, as many of them at the same time as the user allows: explore_at_once, at least 1
 * (so many are known ahead, if somebody else does them).
 * What comes of each does not depend on that number, nor on which one ends first. */
void explore_run_all(struct explorer *x, struct attempt *attempt, uint32_t count);
uint32_t explore_at_once(const struct explorer *x);
/* The two halves of it: the runs themselves; and what one of them adds to the exploration, which is
 * left out for runs that nobody wants any more (hd_result_free is enough for them). */
void explore_begin_all(struct explorer *x, struct attempt *attempt, uint32_t count);
bool explore_take_run(struct explorer *x, struct attempt *attempt);

/* As explore_run, and together with the run that is wanted now, coming[0], those that will be
 * wanted next if this one shows nothing new. Each has a key of its own. What they give is kept
 * until they are asked for, or dropped without a trace: the exploration takes the same course
 * whether there are any. */
struct coming {
    uint64_t key;
    struct hd_steering steering; /* what it points to must live until the call returns */
};
bool explore_run_early(struct explorer *x, const struct coming *coming, uint32_t count,
                       struct hd_result *run);
bool explore_has_early(struct explorer *x, uint64_t key); /* it need not be run any more */
/* Is it time to say what comes next, with a run of this key? */
bool explore_wants_coming(struct explorer *x, uint64_t key);
void explore_drop_early(struct explorer *x);

/* normal.c */
void explore_plain_runs(struct explorer *x);
/* Settles a run's outcome: output that differs is a failure only if the user says so. */
void explore_judge(struct explorer *x, struct hd_result *run);
/* Does the program fail about as often by itself? If plain runs failed at all, there are at least
 * as many of them then as of the runs that they are compared with. */
bool explore_is_natural(struct explorer *x, uint32_t runs, uint32_t reproduced);

/* corpus.c */
/* How the n-th run is recorded, from 0: first without preemption, then with regular time slices,
 * then random ones of varying lengths; not too short ones for a run of so many hook calls. */
struct hd_steering explore_recording(uint32_t n, uint64_t seed, uint64_t calls);
/* Records one more run. *added is the new one, NULL if it brought nothing new; a failing one is
 * dealt with here. False if there is no point in recording more. */
bool explore_record(struct explorer *x, struct recorded **added);
/* Records until there are so many, whatever the budget says: something is to be explained. */
void explore_record_some(struct explorer *x, uint32_t runs);
void explore_recorded_free(struct recorded *run);
/* Takes a run that passed, and was not recorded to predict from, for one of them. NULL: it shows
 * nothing new. */
struct recorded *explore_keep_run(struct explorer *x, const struct hd_result *run);
/* The same for a run of closing's, whether it shows something new or not, without rounds of loops
 * that only wait; NULL: it can't be loaded. *fresh:
 * it does, and is kept. Otherwise the caller keeps it (explore_keep) or frees it. */
struct recorded *explore_load_run(struct explorer *x, const struct hd_result *run, bool *fresh);
void explore_keep(struct explorer *x, struct recorded *run);
/* Does the program repeat itself if it is made to follow a recorded run's own schedule? If so, and
 * it diverges from that of a proved prediction, that depends on something which is in no trace. */
bool explore_repeats(struct explorer *x, struct recorded *run);

/* queue.c */
#define RANK_UNLIKELY 2000u /* from here on: what is probably intended */
void explore_add_target(struct explorer *x, const struct target *target); /* if it is new */
/* The same sites may stand for other call stacks and other objects, and one of them fails where
 * another does not: adds a target with the sites of one that is known, if its role is a new one. */
void explore_add_role(struct explorer *x, const struct target *target);
/* The same for one whose key, rank and fingerprint are set. */
bool explore_has_target(const struct explorer *x, uint64_t key);
void explore_put_target(struct explorer *x, const struct target *target);
struct target *explore_next_target(struct explorer *x, uint32_t below, uint32_t *due);
/* Those that come after it, in this variant, if nothing changes: at most so many. */
uint32_t explore_coming_targets(struct explorer *x, uint32_t variant, struct target **next,
                                uint32_t most);
uint32_t explore_variants(const struct target *target);
bool explore_make_variant(const struct target *target, uint32_t variant,
                          struct hd_schedule *schedule, struct hd_error *error);

/* Sources: source_*.c. */
struct source {
    /* Before its first run: fills the queue, or its own list. May be NULL. */
    void (*begin)(struct explorer *x);
    /* Fills in the next run; false: there is none, unless feed brings more. */
    bool (*next)(struct explorer *x, struct wanted *wanted);
    /* Brings more to try; false: there is nothing more. May be NULL. */
    bool (*feed)(struct explorer *x);
    /* What `next` fills in depends on the number of the run alone, and one thread runs at a time:
     * runs that go on at once do not disturb each other. */
    bool independent;
    /* After a run. May be NULL. */
    void (*learn)(struct explorer *x, const struct wanted *wanted, const struct hd_result *run);
};
extern const struct source explore_predict_exact, explore_predict_roles, explore_predict_relaxed,
    explore_predict_free, explore_switches, explore_rest, explore_ctrigger, explore_race,
    explore_stress, explore_sync, explore_pct, explore_pos, explore_from, explore_close,
    explore_close_small;

/* plan.c */
struct stage {
    const struct source *source;
    double share;         /* of the time that is left */
    uint32_t runs;        /* times strategy_runs; 0: as many as there are */
    bool despite_failure; /* also if something failed already */
    bool in_parallel;     /* threads really run at once: it may do what closing does not cover */
    enum hd_strategy strategy;
};
const struct stage *explore_plan(const struct hd_explore_options *options, uint32_t *stages);

/* source_switch.c: adds a target for each place of a run where a thread could be late by one
 * context switch; or only those that are worth a try at once. */
void explore_switches_of(struct explorer *x, struct recorded *run);
void explore_early_switches(struct explorer *x, struct recorded *run);
bool explore_switch_schedule(const struct target *target, bool briefly,
                             struct hd_schedule *schedule, struct hd_error *error);

/* source_from.c: looks at a forced run that followed a suspicion's schedule, or was to. True if its
 * trace has what is suspected, also where the program took another way to it. */
bool explore_look_at_suspicion(struct explorer *x, struct target *target,
                               const struct hd_schedule *schedule, const struct hd_result *run);
/* In the end, what came of each. */
void explore_conclude_suspicions(struct explorer *x);
void explore_free_suspicions(struct explorer *x);

/* source_predict.c: predicts from a run of closing's that passed: everything if it shows something
 * new, else races and deadlocks. What is found there is forced, as far as it is harmful by itself.
 * False: it was not decided of all pairs whether they race, of all locks whether they deadlock. */
bool explore_ask_run(struct explorer *x, const struct hd_result *run);

/* source_close.c: is nothing left? */
bool explore_is_closed(const struct explorer *x);
/* What came of it, for the result. */
void explore_conclude_closing(struct explorer *x);
void explore_free_closing(struct explorer *x);

/* source_suspend.c: "buf->len: read at log.c:50, written at log.c:60; in between ..." */
void explore_interleaving_words(const struct explorer *x, const struct hd_interleaving *it,
                                char *text, size_t room);
/* A finding about the candidate that a run was forced into, with events of a recorded run; NULL
 * if there are none. */
struct hd_finding *explore_suspended_finding(struct explorer *x, uint32_t candidate,
                                             struct recorded **from);

/* shown.c: did the forced run of a prediction in which values may change do what is harmful by
 * itself? */
bool explore_is_shown(const struct target *target, const char *trace);

/* failure.c */
/* What failed: a run of a target that followed this schedule, or one that was steered. */
struct failed {
    const struct hd_result *run;
    struct target *target;              /* NULL: it was not aimed at anything */
    const struct hd_schedule *schedule; /* NULL: the run's own trace has it, or steering */
    const struct wanted *wanted;        /* NULL, or how it was steered */
};
void explore_failure(struct explorer *x, const struct failed *failed);
/* What a run without failure adds to a target's finding. */
void explore_no_failure(struct explorer *x, struct target *target);

/* save.c */
/* The schedule of a failure, or how its run was steered; *forced says where it is. */
void explore_save(struct explorer *x, struct reproduction *again, const struct wanted *wanted,
                  const struct hd_finding *finding, struct hd_finding_forced *forced);
/* The schedule of a target that was shown without a failure. */
void explore_save_shown(struct explorer *x, struct target *target, struct hd_schedule *schedule);

/* reproduce.c */
/* Minimises, and says how often it fails: *to owns the schedule then. */
void explore_reproduce(struct explorer *x, const struct hd_schedule *schedule,
                       const struct hd_outcome *outcome, struct reproduction *to);
/* The same for a run that was steered: first the steering alone, then as a schedule if there is
 * one. *wanted becomes the smallest that fails. */
void explore_reproduce_control(struct explorer *x, struct wanted *wanted,
                               const struct hd_result *run, struct reproduction *to);

/* explain.c */
/* How a run is loaded: not if that would take too much of the time or the memory (attempt.c). */
struct hd_trace_options explore_reading(const struct explorer *x);
bool explore_is_for_memory(const struct explorer *x); /* is that what there is less of? */
/* The run followed the schedule; NULL: none. .there: it could be read */
void explore_failing_load(const struct explorer *x, struct failing *failing, const char *path,
                          const struct hd_schedule *schedule);
void explore_failing_free(struct failing *failing);
/* Is a finding's list of events the order in which it goes wrong? */
bool explore_is_listed(const struct hd_finding *finding);
/* Passing and failing order of a prediction's events. *holds becomes false if the failing run did
 * not have them, or not in the order that was predicted. */
void explore_set_orders(struct explorer *x, const struct target *target,
                        const struct failing *failing, struct hd_finding_forced *forced,
                        struct order *order, bool *holds);
/* The same for the accesses that only the failing run has. */
void explore_set_found_orders(struct explorer *x, const uint32_t *event, uint32_t events,
                              const struct failing *failing, struct hd_finding_forced *forced,
                              struct order *order);
bool explore_same_orders(const struct hd_finding_forced *forced);
/* "T1", "r(len)" and what `after` says, "log.c:57" */
struct hd_finding_line explore_line(struct explorer *x, struct hd_describe *describe,
                                    const struct hd_model *model, uint32_t event,
                                    const char *after);
/* An access as it is found again in other runs, and where it is in one: HD_NONE if it is not. */
struct access explore_access(const struct hd_model *model, struct hd_describe *describe,
                             const uint64_t *count, uint32_t event);
uint32_t explore_find_access(const struct access *access, const struct hd_model *model,
                             struct hd_describe *describe, const uint64_t *count);
/* Does a failing run have the accesses in this order, and no recorded run that passed? */
bool explore_order_tells(struct explorer *x, const struct order *order,
                         const struct failing *failing);
/* A string that lives as long as the exploration. */
const char *explore_text(struct explorer *x, const char *text);

/* cause.c: experiments. The failing run's own order is run again, with two events of it the other
 * way round. */
struct experiments {
    struct explorer *x;
    const struct failing *failing;
    struct hd_finding_forced *forced; /* gets what was tried */
    double until;
    uint32_t left;  /* that may be tried */
    uint64_t cause; /* the places of what holds, 0 */
};
struct experiments explore_experiments(struct explorer *x, const struct failing *failing,
                                       struct hd_finding_forced *forced);
/* Events of the failing run, in its order, of two threads at least: does the program pass each time
 * if two neighbours of them come the other way round? `goes_on`: and with the second, what its
 * thread does after it. */
bool explore_try_events(struct experiments *e, const uint32_t *event, uint32_t events,
                        bool goes_on);
/* The same for all of these together, and then for as few of them as will do. */
struct hd_critical;
bool explore_try_set(struct experiments *e, const struct hd_critical *list, uint32_t count);
/* The same for the locks that the threads which wait for each other hold. */
bool explore_try_locks(struct experiments *e);

/* coverage.c */
/* Adds what a run covered, if that is wanted and it has a trace. */
void explore_cover(struct explorer *x, const struct hd_result *run);
/* Is nothing feasible open, and does that end the exploration? */
bool explore_is_covered(const struct explorer *x);
/* Is it among the interleavings that the user wants? */
bool explore_is_target(const struct explorer *x, const struct hd_interleaving *it);

#endif
