/* heddle predict atomicity --compare. */
#ifndef HEDDLE_CLI_ATOMICITY_TABLES_H
#define HEDDLE_CLI_ATOMICITY_TABLES_H

#include "predict/atomicity_compare.h"

void hd_print_atomicity_comparison(const struct hd_atomicity_comparison *comparison,
                                   const struct hd_predict *predict, const char *path);
void hd_print_atomicity_comparison_json(const struct hd_atomicity_comparison *comparison,
                                        const struct hd_predict *predict, const char *path);

#endif
