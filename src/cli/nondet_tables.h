/* What heddle predict nondet says besides its findings: the verdict for the program, the columns of
 * the paper's tables, and where the models differ. */
#ifndef HEDDLE_CLI_NONDET_TABLES_H
#define HEDDLE_CLI_NONDET_TABLES_H

#include "predict/nondet.h"

#include <stdio.h>

/* "deterministic over this trace", or "N of M reads may see another write". */
void hd_print_nondet_verdict(FILE *out, const struct hd_nondet_stats *stats,
                             const struct hd_predict_options *options);
void hd_print_nondet_stats(FILE *out, const struct hd_predict *predict,
                           const struct hd_nondet_stats *stats);
void hd_print_nondet_comparison(FILE *out, const struct hd_nondet_comparison *comparison,
                                const struct hd_predict *predict);
void hd_print_nondet_comparison_json(FILE *out, const struct hd_nondet_comparison *comparison,
                                     const struct hd_predict *predict, const char *path);

#endif
