/* What each method says about the same candidates, as in the paper's Table 1. */
#ifndef HEDDLE_METHODS_RACE_COMPARE_H
#define HEDDLE_METHODS_RACE_COMPARE_H

#include "predict/race_decide.h"

#define HD_COMPARED 6 /* lockset, hb, cp, ucg, poly/csr, poly/cdsr */

struct hd_compared {
    const char *engine;
    uint64_t races; /* groups it reports: feasible or possible */
    uint64_t undecided;
    uint64_t checks;      /* pairs it was asked about */
    double seconds;       /* preparation included */
    double check_seconds; /* seconds / checks */
};

/* A candidate pair of sites and what each method makes of it. */
struct hd_compared_group {
    struct hd_conflict pair;
    uint8_t verdict[HD_COMPARED]; /* enum hd_verdict */
};

struct hd_comparison {
    struct hd_compared method[HD_COMPARED];
    HD_VECTOR(struct hd_compared_group) group;
};

bool hd_compare_races(struct hd_predict *predict, struct hd_comparison *comparison,
                      struct hd_error *error);
void hd_comparison_free(struct hd_comparison *comparison);

#endif
