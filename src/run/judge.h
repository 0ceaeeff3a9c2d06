/* Judges a run that is over: its outcome, and whether it followed its schedule. */
#ifndef HEDDLE_RUN_JUDGE_H
#define HEDDLE_RUN_JUDGE_H

#include "run/run.h"

/* How it was ended, if it did not end by itself. */
struct hd_end {
    bool timed_out, flooded, stuck;
};

/* Fills in what result says about the program's output, its outcome and its replay. False if the
 * oracle or the reference can't be asked. */
bool hd_judge(const struct hd_job *job, const struct hd_host *host, const struct hd_end *end,
              struct hd_result *result, struct hd_error *error);

#endif
