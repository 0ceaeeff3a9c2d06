/* The universal causality graph as the paper describes it (section 3.3): must-order, the edges of
 * the error condition, and Rule 1 applied to single edges until nothing changes. A cycle is a proof
 * that no interleaving exists; none means `possible`, since for more than two threads Rule 1 does
 * not see everything, and reads may read anything (CSR). */
#ifndef HEDDLE_PREDICT_UCG_H
#define HEDDLE_PREDICT_UCG_H

#include "engine/engine.h"

/* What is computed once; shared by the workers, read-only. */
struct hd_ucg_base;
struct hd_ucg_base *hd_ucg_base_build(const struct hd_ground *ground);
void hd_ucg_base_free(struct hd_ucg_base *base);

/* One for each worker. */
struct hd_ucg;
struct hd_ucg *hd_ucg_new(const struct hd_ucg_base *base);
void hd_ucg_free(struct hd_ucg *ucg);
/* HD_INFEASIBLE or HD_POSSIBLE; HD_UNDECIDED when memory is out. Understands queries whose stops
 * are not executed. */
enum hd_verdict hd_ucg_decide(struct hd_ucg *ucg, const struct hd_query *query);

#endif
