/* Tables of heddle predict: what each method says about the same candidates, where the work went,
 * and what nondeterminism says besides its findings. Written to a stream that is given. */
#ifndef HEDDLE_REPORT_TABLES_H
#define HEDDLE_REPORT_TABLES_H

#include "methods/atomicity_compare.h"
#include "methods/correlated_compare.h"
#include "methods/nondet_compare.h"
#include "methods/race_compare.h"

#include <stdio.h>

void hd_table_races(FILE *out, const struct hd_comparison *comparison,
                    const struct hd_predict *predict, const char *path);
void hd_table_races_json(FILE *out, const struct hd_comparison *comparison,
                         const struct hd_predict *predict, const char *path);
void hd_table_atomicity(FILE *out, const struct hd_atomicity_comparison *comparison,
                        const struct hd_predict *predict, const char *path);
void hd_table_atomicity_json(FILE *out, const struct hd_atomicity_comparison *comparison,
                             const struct hd_predict *predict, const char *path);
void hd_table_correlated(FILE *out, const struct hd_correlated_comparison *comparison,
                         const struct hd_predict *predict, const char *path);
void hd_table_correlated_json(FILE *out, const struct hd_correlated_comparison *comparison,
                              const struct hd_predict *predict, const char *path);
void hd_table_nondet(FILE *out, const struct hd_nondet_comparison *comparison,
                     const struct hd_predict *predict);
void hd_table_nondet_json(FILE *out, const struct hd_nondet_comparison *comparison,
                          const struct hd_predict *predict, const char *path);

/* Which step of the method decided how much. */
void hd_table_stats(FILE *out, enum hd_finding_kind kind, const struct hd_predict_stats *stats);
/* The columns of the nondeterminism paper's tables. */
void hd_table_nondet_stats(FILE *out, const struct hd_predict *predict,
                           const struct hd_nondet_stats *stats);
/* "deterministic over this trace", or "N of M reads may see another write". */
void hd_report_determinism(FILE *out, const struct hd_nondet_stats *stats,
                           const struct hd_predict_options *options);

#endif
