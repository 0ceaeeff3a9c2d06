/* What each method says about the same variables that belong together, as in the dissertation's
 * Table 5.6: the extended race detectors beside the exact engine. */
#ifndef HEDDLE_METHODS_CORRELATED_COMPARE_H
#define HEDDLE_METHODS_CORRELATED_COMPARE_H

#include "predict/correlated.h"

/* lockset_mv, hb_mv, poly in the reading of the options: in this order. */
enum { HD_CORRELATED_COMPARED = 3 };

struct hd_correlated_compared {
    const char *engine;
    uint64_t found; /* groups it reports: feasible or possible */
    uint64_t undecided;
    uint64_t wrong; /* found, but infeasible */
    uint64_t lost;  /* feasible, but not found */
    double seconds; /* without finding the groups */
};

struct hd_correlated_comparison {
    struct hd_correlated_compared method[HD_CORRELATED_COMPARED];
    struct hd_correlated_groups groups;
    struct hd_correlated_decision *decision[HD_CORRELATED_COMPARED]; /* one for each group */
};

bool hd_compare_correlated(struct hd_predict *predict, struct hd_correlated_comparison *comparison,
                           struct hd_error *error);
void hd_correlated_comparison_free(struct hd_correlated_comparison *comparison);

#endif
