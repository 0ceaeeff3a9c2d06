/* Two variables that belong together: decisions about groups (facts/correlated_groups.h). The exact
 * engine is asked whether one thread can be about to do `second`, having done `first`, while the
 * other has done both of its accesses and that to the location of `first` after it: the
 * unserializable cases of the dissertation's Fig. 5.4. As in a triple (atomicity_ask.h), the other
 * thread may end there, and then its last access may read anything, or go on. */
#ifndef HEDDLE_PREDICT_CORRELATED_H
#define HEDDLE_PREDICT_CORRELATED_H

#include "facts/correlated_groups.h"
#include "predict/predict.h"

struct hd_correlated_decision {
    enum hd_verdict verdict;
    /* first, what the other thread does in its order, second; none if nothing was found */
    uint32_t event[4], events;
    uint32_t location[2];           /* of first and second */
    bool observed;                  /* the trace itself has it */
    struct hd_kept_witness witness; /* owned by the decisions */
};

struct hd_correlated_task {
    const struct hd_correlated_groups *groups;
    const struct hd_engine_base *base; /* if the method needs the engine */
    const struct hd_branches *branches;
    const struct hd_predict_options *options;
    struct hd_predict_stats *stats;
    struct hd_correlated_decision *decision; /* one for each group, zeroed: infeasible */
};

/* Decides all groups; to be freed by hd_correlated_decisions_free. NULL if a witness turned out
 * wrong. */
struct hd_correlated_decision *hd_correlated_decide(struct hd_predict *predict,
                                                    const struct hd_method *method,
                                                    const struct hd_correlated_groups *groups,
                                                    struct hd_error *error);
void hd_correlated_decisions_free(struct hd_correlated_decision *decision, size_t count);

/* What the options ask for. */
struct hd_correlated_wanted hd_correlated_wanted(const struct hd_predict *predict, bool remotes);

#endif
