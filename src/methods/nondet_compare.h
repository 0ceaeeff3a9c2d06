/* The exact model of nondeterminism and the paper's, set side by side. */
#ifndef HEDDLE_METHODS_NONDET_COMPARE_H
#define HEDDLE_METHODS_NONDET_COMPARE_H

#include "predict/nondet.h"

/* A triplet that the models see differently. */
struct hd_nondet_difference {
    struct hd_triplet triplet; /* its orders and verdict are the paper's */
    uint8_t sound;             /* enum hd_verdict */
    bool same_read; /* both say of the read the same: it may see some other write, or none */
};
struct hd_nondet_comparison {
    struct hd_nondet sound, paper;
    HD_VECTOR(struct hd_nondet_difference) list;
};
bool hd_nondet_compare(struct hd_predict *predict, struct hd_nondet_comparison *comparison,
                       struct hd_error *error);
void hd_nondet_comparison_free(struct hd_nondet_comparison *comparison);

#endif
