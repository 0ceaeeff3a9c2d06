/* Decides candidate triples by any of the methods that know atomicity: one verdict a group, or one
 * a triple of events. What the trace itself has is feasible by every method, with the trace's own
 * order as witness. */
#ifndef HEDDLE_PREDICT_ATOMICITY_DECIDE_H
#define HEDDLE_PREDICT_ATOMICITY_DECIDE_H

#include "facts/triples.h"
#include "predict/asker.h"

struct hd_triple_decision {
    uint32_t group;
    struct hd_triple triple; /* the one that settled it; of an infeasible group, a near one */
    enum hd_verdict verdict;
    bool observed;                  /* the trace itself has it */
    bool relaxed;                   /* only with reads that no branch follows */
    struct hd_kept_witness witness; /* owned by the decisions; none if the verdict is OA's or
                                       AVFilter's */
};

struct hd_triple_decisions {
    HD_VECTOR(struct hd_triple_decision) list; /* by group; within a group by events */
};

/* `ground` is needed by UA and POLY. False if memory is out or a witness turned out wrong. */
bool hd_triples_decide(const struct hd_triples *triples, const struct hd_ground *ground,
                       const struct hd_branches *branches, enum hd_method method,
                       const struct hd_predict_options *options,
                       struct hd_triple_decisions *decisions, struct hd_predict_stats *stats,
                       struct hd_error *error);
void hd_triple_decisions_free(struct hd_triple_decisions *decisions);

/* The triple of a group whose events are nearest to each other in the trace. */
struct hd_triple hd_triples_nearest(const struct hd_triples *triples, uint32_t group);

#endif
