/* Runs every method on one set of groups. */
#include "methods/correlated_compare.h"

#include "methods/methods.h"

#include <string.h>

enum { EXACT = HD_CORRELATED_COMPARED - 1 };
static const struct hd_method *const compared[HD_CORRELATED_COMPARED] = {
    &hd_method_lockset_mv, &hd_method_hb_mv, &hd_method_poly};

static bool is_found(enum hd_verdict verdict) {
    return verdict == HD_FEASIBLE || verdict == HD_POSSIBLE;
}

static void count(struct hd_correlated_comparison *comparison) {
    for (unsigned m = 0; m < HD_CORRELATED_COMPARED; m++) {
        struct hd_correlated_compared *method = &comparison->method[m];
        for (size_t g = 0; g < comparison->groups.group.size; g++) {
            enum hd_verdict verdict = comparison->decision[m][g].verdict;
            enum hd_verdict exact = comparison->decision[EXACT][g].verdict;
            method->found += is_found(verdict);
            method->undecided += verdict == HD_UNDECIDED;
            method->wrong += is_found(verdict) && exact == HD_INFEASIBLE;
            method->lost += verdict == HD_INFEASIBLE && exact == HD_FEASIBLE;
        }
    }
}

bool hd_compare_correlated(struct hd_predict *predict, struct hd_correlated_comparison *comparison,
                           struct hd_error *error) {
    memset(comparison, 0, sizeof *comparison);
    struct hd_correlated_wanted wanted = hd_correlated_wanted(predict, true);
    hd_correlated_groups_find(predict->analysis, &wanted, &comparison->groups);
    predict->stats.groups = comparison->groups.group.size;
    for (unsigned m = 0; m < HD_CORRELATED_COMPARED; m++) {
        double start = hd_seconds_now();
        comparison->decision[m] =
            hd_correlated_decide(predict, compared[m], &comparison->groups, error);
        if (comparison->decision[m] == NULL) {
            hd_correlated_comparison_free(comparison);
            return false;
        }
        comparison->method[m].engine = hd_method_full_name(compared[m], predict->options.reading);
        comparison->method[m].seconds = hd_seconds_now() - start;
    }
    count(comparison);
    return true;
}

void hd_correlated_comparison_free(struct hd_correlated_comparison *comparison) {
    for (unsigned m = 0; m < HD_CORRELATED_COMPARED; m++)
        if (comparison->decision[m] != NULL)
            hd_correlated_decisions_free(comparison->decision[m], comparison->groups.group.size);
    hd_correlated_groups_free(&comparison->groups);
}
