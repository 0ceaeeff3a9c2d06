/* Decides candidate groups with all cores: one verdict a group, or one an event pair. */
#ifndef HEDDLE_PREDICT_DECIDE_H
#define HEDDLE_PREDICT_DECIDE_H

#include "predict/asker.h"
#include "predict/judge.h"

struct hd_decision {
    uint32_t group;
    struct hd_conflict pair; /* the one that settled it; for an infeasible group, any */
    enum hd_verdict verdict;
    struct hd_kept_witness witness; /* owned by the decisions */
};

struct hd_decisions {
    HD_VECTOR(struct hd_decision) list; /* by group; within a group by events */
};

/* False if memory is out or a witness turned out wrong. */
bool hd_decide(const struct hd_court *court, unsigned jobs, bool instances,
               struct hd_progress *progress, struct hd_decisions *decisions,
               struct hd_predict_stats *stats, struct hd_error *error);
void hd_decisions_free(struct hd_decisions *decisions);

#endif
