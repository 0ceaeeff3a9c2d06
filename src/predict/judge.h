/* One decision interface for all methods: what says of two accesses whether they can race. */
#ifndef HEDDLE_PREDICT_JUDGE_H
#define HEDDLE_PREDICT_JUDGE_H

#include "facts/conflict_pairs.h"
#include "facts/conflicts.h"
#include "predict/predict.h"

/* What a method needs to know before the first question; shared by all workers, read-only. */
struct hd_court {
    const struct hd_conflicts *candidates;
    enum hd_method method;
    enum hd_reading reading;
    struct hd_budget budget;
    struct hd_ground *ground;     /* UCG, POLY */
    struct hd_ucg_base *ucg_base; /* UCG */
    struct hd_order *order;       /* HB, CP */
};
bool hd_court_open(struct hd_court *court, const struct hd_conflicts *candidates,
                   enum hd_method method, enum hd_reading reading, struct hd_budget budget,
                   struct hd_error *error);
void hd_court_close(struct hd_court *court);

/* Does the method order x before y, for sure and whatever else happens? Then no pair of an event up
 * to x and one from y on can race. Is a hd_before. */
bool hd_court_before(const void *court, uint32_t x, uint32_t y);
/* Is hd_court_before all the method knows? Then a pair that it leaves unordered is `possible`. */
bool hd_court_is_order(const struct hd_court *court);

/* One judge for each worker. */
struct hd_judge;
struct hd_judge *hd_judge_new(const struct hd_court *court);
void hd_judge_free(struct hd_judge *judge);

/* Can the two events be next at the same time? FEASIBLE comes with a witness, which has passed the
 * checker; false only if one did not, and *error says what is wrong with it. */
bool hd_judge_pair(struct hd_judge *judge, uint32_t a, uint32_t b, enum hd_verdict *verdict,
                   struct hd_error *error);
/* The witness of the last FEASIBLE; valid until the next question. */
const struct hd_witness *hd_judge_witness(const struct hd_judge *judge);
/* Adds what this judge did. */
void hd_judge_stats(const struct hd_judge *judge, struct hd_predict_stats *stats);

#endif
