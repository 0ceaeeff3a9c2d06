/* A trace in figures: a page to read, and JSON (`heddle-stats/1`). */
#ifndef HEDDLE_REPORT_STATS_H
#define HEDDLE_REPORT_STATS_H

#include "base/json.h"
#include "model/describe.h"
#include "model/summary.h"

#include <stdio.h>

struct hd_stats {
    const char *path;
    const struct hd_model *model;
    const struct hd_summary *summary;
    struct hd_describe *describe;
    double read_seconds, model_seconds; /* that loading took */
};

void hd_stats_text(FILE *out, const struct hd_stats *stats);
json_t *hd_stats_json(const struct hd_stats *stats);

#endif
