/* Prediction as a command asks for it: kinds of bugs, methods that judge, findings out. A kind is
 * one line in HD_PREDICT_KINDS and a function that makes queries; a method is one line in
 * HD_METHODS. */
#ifndef HEDDLE_PREDICT_PREDICT_H
#define HEDDLE_PREDICT_PREDICT_H

#include "base/clock.h"
#include "engine/engine.h"
#include "facts/branches.h"
#include "finding/from_model.h"

/* name, what it does, does --model matter */
#define HD_METHODS(X)                                                                      \
    X(LOCKSET, "lockset", "conflicting, no common lock, not must-ordered", false)          \
    X(HB, "hb", "unordered by happens-before in this trace", false)                        \
    X(CP, "cp", "unordered by causally-precedes", false)                                   \
    X(UCG, "ucg", "no cycle by Rule 1 alone; reads may read anything", false)              \
    X(OA, "oa", "over-approximate: must-order and common sections only", false)            \
    X(UA, "ua", "under-approximate: every read of the whole trace keeps its write", false) \
    X(AVFILTER, "avfilter", "OA less what broken reads-from makes doubtful", false)        \
    X(POLY, "poly", "exact: a checked witness, or a proof that there is none", true)
enum hd_method {
#define X(name, word, about, model) HD_METHOD_##name,
    HD_METHODS(X)
#undef X
        HD_METHOD_COUNT
};
const char *hd_method_name(enum hd_method method);
/* "poly/cdsr", "lockset" */
const char *hd_engine_name(enum hd_method method, enum hd_reading reading);

struct hd_predict_options {
    enum hd_method method;
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
    struct hd_model *const *passing;
    struct hd_describe *const *passing_describe;
    uint32_t passings;
    /* nondeterminism */
    bool paper;                   /* the paper's model in place of the sound one */
    bool final_state;             /* what variables hold in the end counts as read */
    const char *read_site;        /* only reads there; NULL: all */
    struct hd_progress *progress; /* may be NULL */
};

/* Where the work went. */
struct hd_predict_stats {
    struct hd_engine_stats engine;
    uint64_t groups; /* site pairs */
    uint64_t
        ordered; /* those with no event pair that must-order, or the method's order, leaves open */
    uint64_t checks;                    /* questions to the method */
    uint64_t dominated;                 /* event pairs that another's answer settled */
    uint64_t witnesses, witness_events; /* checked */
    unsigned jobs;
    double candidate_seconds, prepare_seconds, decide_seconds, report_seconds;
};

struct hd_predict {
    const struct hd_model *model;
    struct hd_describe *describe;
    struct hd_predict_options options;
    struct hd_predict_stats stats;
    struct hd_nondet_stats *nondet; /* filled by nondeterminism; may be NULL */
};

/* word on the command line, function suffix, kind of its findings, methods it can use, what it
 * finds */
#define HD_RACE_METHODS                                                                        \
    (1u << HD_METHOD_LOCKSET | 1u << HD_METHOD_HB | 1u << HD_METHOD_CP | 1u << HD_METHOD_UCG | \
     1u << HD_METHOD_POLY)
#define HD_ATOMICITY_METHODS \
    (1u << HD_METHOD_OA | 1u << HD_METHOD_UA | 1u << HD_METHOD_AVFILTER | 1u << HD_METHOD_POLY)
#define HD_PREDICT_KINDS(X)                                                  \
    X("race", races, RACE, HD_RACE_METHODS, "two accesses at the same time") \
    X("atomicity", atomicity, ATOMICITY, HD_ATOMICITY_METHODS,               \
      "an access of another thread between two that belong together")        \
    X("order", orders, ORDER, 1u << HD_METHOD_POLY,                          \
      "two operations in an order that nothing enforces")                    \
    X("deadlock", deadlocks, DEADLOCK, 1u << HD_METHOD_POLY,                 \
      "threads that wait for each other for ever")                           \
    X("nondet", nondeterminism, NONDETERMINISM, 1u << HD_METHOD_POLY,        \
      "reads that may see another write")

struct hd_predict_kind {
    const char *word, *about;
    enum hd_finding_kind kind;
    unsigned methods; /* a bit for each enum hd_method */
    /* Adds its findings and counts. */
    bool (*run)(struct hd_predict *predict, struct hd_findings *findings, struct hd_error *error);
};
extern const struct hd_predict_kind hd_predict_kinds[];
extern const unsigned hd_predict_kind_count;

#define X(word, function, kind, methods, about)                                          \
    bool hd_predict_##function(struct hd_predict *predict, struct hd_findings *findings, \
                               struct hd_error *error);
HD_PREDICT_KINDS(X)
#undef X

/* Adds what one engine counted to a total. */
void hd_engine_stats_add(struct hd_engine_stats *total, const struct hd_engine_stats *part);

#endif
