/* What a run that deadlocked says about itself: who waits for what, and who holds it. */
#ifndef HEDDLE_REPORT_DEADLOCK_H
#define HEDDLE_REPORT_DEADLOCK_H

#include "model/describe.h"

#include <stdio.h>

/* A line for each thread that was blocked when the run ended, and one for each holder. */
void hd_report_blocked(FILE *out, const struct hd_model *model, struct hd_describe *describe);

#endif
