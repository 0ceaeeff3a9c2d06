/* A baseline: the findings of an earlier report. What it has is not shown again; what it has and
 * nobody finds any more is counted. Findings are told apart by their fingerprints, which survive
 * edits elsewhere in the file. */
#ifndef HEDDLE_FINDING_BASELINE_H
#define HEDDLE_FINDING_BASELINE_H

#include "finding/read.h"

/* A zeroed one is none. */
struct hd_baseline {
    const char *path; /* NULL: there is none */
    struct hd_findings_file file;
    uint32_t hidden;                /* findings that it hid, and no suppression */
    const struct hd_finding **gone; /* findings of it that were looked for and not found */
    uint32_t gones;
};

/* The path must live as long. On failure there is none. */
bool hd_baseline_read(struct hd_baseline *baseline, const char *path, struct hd_error *error);
/* Sets `known` of all findings that it has, and counts anew. */
void hd_baseline_mark(struct hd_baseline *baseline, struct hd_findings *findings);
void hd_baseline_free(struct hd_baseline *baseline);

#endif
