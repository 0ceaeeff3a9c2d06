/* Decides candidate triples by any of the methods that know atomicity: one verdict a group, or one
 * a triple of events. What the trace itself has is feasible by every method, with the trace's own
 * order as witness. */
#ifndef HEDDLE_PREDICT_ATOMICITY_DECIDE_H
#define HEDDLE_PREDICT_ATOMICITY_DECIDE_H

#include "facts/triples.h"
#include "predict/predict.h"

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

/* Triples to decide, and with what. */
struct hd_triple_task {
    const struct hd_triples *triples;
    const struct hd_engine_base *base; /* if the method needs the engine */
    const struct hd_branches *branches;
    const struct hd_predict_options *options;
    struct hd_predict_stats *stats;
    /* set by hd_triples_decide: one for each group, or with `instances` for each triple of events
     */
    struct hd_triple_decision *decision;
    uint32_t decisions;
};

/* False if a witness turned out wrong. */
bool hd_triples_decide(struct hd_triple_task *task, const struct hd_atomicity_method *method,
                       struct hd_triple_decisions *decisions, struct hd_error *error);
void hd_triple_decisions_free(struct hd_triple_decisions *decisions);

/* For methods: asks the exact engine about all that the trace itself does not have. */
bool hd_triples_ask(const struct hd_triple_task *task, enum hd_reading reading,
                    struct hd_error *error);

/* The triple of a group whose events are nearest to each other in the trace. */
struct hd_triple hd_triples_nearest(const struct hd_triples *triples, uint32_t group);

#endif
