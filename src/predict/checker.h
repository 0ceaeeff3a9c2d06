/* The independent checker: does a witness show what a query asks? It re-reads the model's events
 * and executes them one by one, and shares no code with the engine. Every feasible verdict passes
 * it before it is printed. */
#ifndef HEDDLE_PREDICT_CHECKER_H
#define HEDDLE_PREDICT_CHECKER_H

#include "predict/engine.h"

/* True if the witness is a correct reordering that ends as the query says; otherwise *error names
 * the event and the rule that it breaks. */
bool hd_witness_check(const struct hd_model *model, enum hd_reading reading,
                      const struct hd_query *query, const struct hd_witness *witness,
                      struct hd_error *error);

#endif
