/* What each method makes of the same candidate triples, as in the AVFilter paper's section 4: how
 * many groups it keeps, and against the exact answer how many of those are false and how many
 * feasible ones it loses. */
#ifndef HEDDLE_METHODS_ATOMICITY_COMPARE_H
#define HEDDLE_METHODS_ATOMICITY_COMPARE_H

#include "facts/triples.h"
#include "predict/predict.h"

/* OA, UA, AVFilter, poly in the reading of the options: in this order. */
enum { HD_ATOMICITY_COMPARED = 4 };

struct hd_atomicity_compared {
    const char *engine;
    uint64_t kept; /* groups it reports: feasible or possible */
    uint64_t undecided;
    uint64_t wrong; /* kept, but infeasible */
    uint64_t lost;  /* feasible, but not kept */
    uint64_t checks;
    double seconds; /* OA: listing the candidates; the others: without it, preparation included */
};

struct hd_atomicity_compared_group {
    struct hd_triple triple; /* what the exact method settled on */
    enum hd_pattern pattern;
    bool observed;                          /* the trace itself has it */
    uint8_t verdict[HD_ATOMICITY_COMPARED]; /* enum hd_verdict */
};

struct hd_atomicity_comparison {
    struct hd_atomicity_compared method[HD_ATOMICITY_COMPARED];
    uint64_t observed; /* groups that the trace itself has: every method keeps them */
    HD_VECTOR(struct hd_atomicity_compared_group) group;
};

bool hd_compare_atomicity(struct hd_predict *predict, struct hd_atomicity_comparison *comparison,
                          struct hd_error *error);
void hd_atomicity_comparison_free(struct hd_atomicity_comparison *comparison);

#endif
