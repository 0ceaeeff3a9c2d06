/* Decides candidate pairs of accesses by any method that knows races, with all cores: one verdict a
 * group, or one an event pair. */
#ifndef HEDDLE_PREDICT_RACE_DECIDE_H
#define HEDDLE_PREDICT_RACE_DECIDE_H

#include "facts/conflict_pairs.h"
#include "predict/predict.h"

/* A method made ready for the candidates of a model; shared by all workers, read-only. */
struct hd_race_decider {
    const struct hd_race_method *method;
    struct hd_race_task task;
    void *prepared; /* the method's own */
};
struct hd_race_decider hd_race_decider_new(const struct hd_race_method *method,
                                           const struct hd_race_task *task);
void hd_race_decider_free(struct hd_race_decider *decider);

struct hd_race_decision {
    uint32_t group;
    struct hd_conflict pair;        /* the one that settled it; for an infeasible group, any */
    enum hd_verdict verdict;        /* POSSIBLE with a witness: only if reads see other writes */
    struct hd_kept_witness witness; /* owned by the decisions */
};

struct hd_race_decisions {
    HD_VECTOR(struct hd_race_decision) list; /* by group; within a group by events */
};

/* False if a witness turned out wrong. */
bool hd_races_decide(const struct hd_race_decider *decider,
                     const struct hd_predict_options *options, bool instances,
                     struct hd_race_decisions *decisions, struct hd_predict_stats *stats,
                     struct hd_error *error);
/* Asks again about what is not feasible, with a decider whose task has branches: what is feasible
 * then ignores values that flow into addresses, so it is possible. It takes nothing away, so the
 * pairs of a group that are most worth deciding will do. */
bool hd_races_relax(const struct hd_race_decider *decider, const struct hd_predict_options *options,
                    bool instances, struct hd_race_decisions *decisions,
                    struct hd_predict_stats *stats, struct hd_error *error);
void hd_race_decisions_free(struct hd_race_decisions *decisions);

#endif
