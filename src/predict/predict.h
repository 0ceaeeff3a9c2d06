/* Prediction as a command asks for it: kinds of bugs, a method that decides, findings out. A kind
 * is one line in HD_PREDICT_KINDS and a function that makes queries; method.h says what a method
 * is. */
#ifndef HEDDLE_PREDICT_PREDICT_H
#define HEDDLE_PREDICT_PREDICT_H

#include "base/clock.h"
#include "engine/engine.h"
#include "engine/questions.h"
#include "facts/branches.h"
#include "facts/correlated.h"
#include "finding/from_model.h"
#include "learn/invariants.h"
#include "predict/method.h"

struct hd_predict_options {
    const struct hd_method *method;
    enum hd_reading reading;
    struct hd_budget budget;
    unsigned jobs;       /* threads to work with; 0: one for each core */
    bool instances;      /* decide every pair of events instead of one of each group */
    bool all;            /* findings of every verdict and every rank */
    bool found_only;     /* with that: nothing that is infeasible, where it is much to list */
    bool all_patterns;   /* atomicity: AVFilter's fifth pattern (W-W-W) too */
    bool relax_branches; /* reads that no branch follows need not keep their writes */
    enum hd_branch_source branches;
    /* other runs that passed: what they did already is no bug */
    struct hd_analysis *const *passing;
    uint32_t passings;
    /* variables that belong together; NULL: none are known */
    const struct hd_correlated_rules *correlations;
    /* what runs that passed taught (heddle learn); NULL: nothing */
    const struct hd_invariants *invariants;
    /* nondeterminism */
    const struct hd_nondet_model *nondet_model; /* in place of the exact engine; NULL: none */
    bool final_state;                           /* what variables hold in the end counts as read */
    const char *read_site;                      /* only reads there; NULL: all */
    struct hd_progress *progress;               /* may be NULL */
    const struct hd_sharing *sharing;           /* who may decide elsewhere; NULL: nobody */
};

/* Where the work went. */
struct hd_predict_stats {
    struct hd_ask_stats asked;
    uint64_t groups;  /* site pairs, or as the kind has it */
    uint64_t ordered; /* those with no event pair that must-order, or the method's order, leaves */
    uint64_t dominated; /* event pairs that another's answer settled */
    double candidate_seconds, prepare_seconds, decide_seconds, report_seconds;
};

struct hd_predict {
    struct hd_analysis *analysis;
    const struct hd_model *model; /* the analysis' own, like `describe` */
    struct hd_describe *describe;
    struct hd_predict_options options;
    struct hd_predict_stats stats;
    struct hd_nondet_stats *nondet; /* filled by nondeterminism; may be NULL */
};

/* word on the command line, function suffix, kind of its findings, what it finds */
#define HD_PREDICT_KINDS(X)                                                         \
    X("race", races, RACE, "two accesses at the same time")                         \
    X("atomicity", atomicity, ATOMICITY,                                            \
      "an access of another thread between two that belong together")               \
    X("order", orders, ORDER, "two operations in an order that nothing enforces")   \
    X("deadlock", deadlocks, DEADLOCK, "threads that wait for each other for ever") \
    X("nondet", nondeterminism, NONDETERMINISM, "reads that may see another write")
enum {
#define X(word, function, kind, about) HD_PREDICT_##kind,
    HD_PREDICT_KINDS(X)
#undef X
        HD_PREDICT_KIND_COUNT
};

struct hd_predict_kind {
    const char *word, *about;
    enum hd_finding_kind kind;
    /* Adds its findings and counts. */
    bool (*run)(struct hd_predict *predict, struct hd_findings *findings, struct hd_error *error);
};
extern const struct hd_predict_kind hd_predict_kinds[HD_PREDICT_KIND_COUNT];

/* How the options have the engine asked. */
struct hd_ask_options hd_predict_ask_options(const struct hd_predict *predict);

/* Can a method decide a kind? */
bool hd_method_decides(const struct hd_method *method, enum hd_finding_kind kind);

#define X(word, function, kind, about)                                                   \
    bool hd_predict_##function(struct hd_predict *predict, struct hd_findings *findings, \
                               struct hd_error *error);
HD_PREDICT_KINDS(X)
#undef X

/* What goes wrong between variables that belong together, by the options' rules: races by the
 * methods that extend race detectors, else atomicity violations of two variables. To be asked for
 * beside the kinds race and atomicity. */
bool hd_predict_correlated(struct hd_predict *predict, struct hd_findings *findings,
                           struct hd_error *error);
/* The kind of what it finds. */
enum hd_finding_kind hd_correlated_kind(const struct hd_method *method);

#endif
