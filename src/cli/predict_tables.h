/* Tables of heddle predict: what each engine says, and where the work went. */
#ifndef HEDDLE_CLI_PREDICT_TABLES_H
#define HEDDLE_CLI_PREDICT_TABLES_H

#include "predict/compare.h"

#include <stdio.h>

void hd_print_comparison(const struct hd_comparison *comparison, const struct hd_predict *predict,
                         const char *path);
void hd_print_comparison_json(const struct hd_comparison *comparison,
                              const struct hd_predict *predict, const char *path);
void hd_print_predict_stats(FILE *out, enum hd_finding_kind kind,
                            const struct hd_predict_stats *stats);

#endif
