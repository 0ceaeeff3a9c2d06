/* AVIO over two variables that belong together (Lu's dissertation, 5.4.2, Figure 5.4): were two
 * accesses of a thread, one to each variable, interleaved with two of another thread so that no
 * order of one pair after the other has the same effect?
 *
 * Pairs are those of facts/correlated_pairs.h. A pair A1(x), A2(y) whose modes fit a rule is
 * violated by a pair of another thread to the same two locations, A3(x) and A4(y) in either order,
 * if hd_two_variable_case says so. */
#ifndef HEDDLE_LEARN_DETECT_TWO_H
#define HEDDLE_LEARN_DETECT_TWO_H

#include "facts/correlated_pairs.h"
#include "facts/two_variables.h"
#include "finding/from_model.h"
#include "learn/learner.h"

/* A pair in the code: identified by A2 and the variable of A1. */
struct hd_detected_pair {
    uint32_t first, second; /* events of the first one: A1, A2 */
    uint32_t variable;      /* of A1, number of the rules */
    uint32_t violations;    /* executions that were violated */
};

/* All violations of the same two accesses in the code, in the same case. */
struct hd_detected_two {
    uint32_t event[4]; /* A1 to A4 of the one that ended first */
    enum hd_two_case which;
    uint32_t pair;        /* index of hd_detected_pairs.executed */
    uint32_t variable[2]; /* of A1 and A2 */
    uint32_t instances;
};

struct hd_detected_pairs {
    HD_VECTOR(struct hd_detected_pair) executed;
    HD_VECTOR(struct hd_detected_two) violation;
};

void hd_detect_two(struct hd_analysis *analysis, const struct hd_correlated_rules *rules,
                   struct hd_detected_pairs *detected);
void hd_detected_pairs_free(struct hd_detected_pairs *detected);

/* All that was detected, as notes of a run. */
void hd_learner_note_pairs(struct hd_learner *learner, struct hd_analysis *analysis,
                           const struct hd_correlated_rules *rules,
                           const struct hd_detected_pairs *detected);
/* What breaks an invariant over two variables; if `invariants` is NULL or has none of that sort,
 * the rules alone say what belongs together, and all is reported. */
void hd_broken_pairs_in_trace(struct hd_findings *findings, struct hd_analysis *analysis,
                              const struct hd_correlated_rules *rules,
                              const struct hd_invariants *invariants,
                              const struct hd_detected_pairs *detected, bool all);

#endif
