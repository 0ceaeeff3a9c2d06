/* What a store remembers, to read: what is new, fixed and still there; its runs; how the number of
 * findings went. */
#ifndef HEDDLE_REPORT_CHANGES_H
#define HEDDLE_REPORT_CHANGES_H

#include "report/report.h"
#include "store/changes.h"

struct hd_report_store {
    const struct hd_changes *changes;
    const char *path, *project;
    bool since; /* of what came before a run is said that it is still there */
};

void hd_report_changes(FILE *out, const struct hd_report_store *store,
                       const struct hd_report_style *style);
void hd_report_runs(FILE *out, const struct hd_report_store *store,
                    const struct hd_report_style *style);
/* A line for each run that changed something, with a bar. */
void hd_report_trends(FILE *out, const struct hd_report_store *store,
                      const struct hd_report_style *style);
/* The same two for programs: `heddle-store/1`. */
struct json_t *hd_report_runs_json(const struct hd_report_store *store);
/* What became of each finding, as the member "changes" of heddle-findings/1. */
struct json_t *hd_report_changes_json(const struct hd_report_store *store);

#endif
