/* The independent checker: does a witness show what a query asks? It re-reads the model's events
 * and executes them one by one, and shares no code with the engine. Every feasible verdict passes
 * it before it is printed. */
#ifndef HEDDLE_ENGINE_CHECKER_H
#define HEDDLE_ENGINE_CHECKER_H

#include "engine/engine.h"

/* True if the witness is a correct reordering that ends as the query says; otherwise *error names
 * the event and the rule that it breaks. */
bool hd_witness_check(const struct hd_model *model, enum hd_reading reading,
                      const struct hd_query *query, const struct hd_witness *witness,
                      struct hd_error *error);

/* The same for many witnesses of one model: memory is kept between checks, and a witness that
 * begins with the trace's own events 0, 1, 2, ... in their order is executed from where it leaves
 * them. That the trace is a correct reordering of itself is found out by executing it once; if it
 * is not, every witness is executed whole. One checker for each thread. */
struct hd_checker;
struct hd_checker *hd_checker_new(const struct hd_model *model);
void hd_checker_free(struct hd_checker *checker);
bool hd_checker_check(struct hd_checker *checker, enum hd_reading reading,
                      const struct hd_query *query, const struct hd_witness *witness,
                      struct hd_error *error);

#endif
