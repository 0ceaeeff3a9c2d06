/* Findings to read and findings to parse: the same struct as text for a person and as JSON
 * (`heddle-findings/1`). Writes to a stream that the caller opened. */
#ifndef HEDDLE_REPORT_REPORT_H
#define HEDDLE_REPORT_REPORT_H

#include "finding/finding.h"

#include <stdio.h>

/* Something that was counted: "forced", 7. */
struct hd_report_number {
    const char *name;
    uint64_t value;
};

/* What the findings are findings of. */
struct hd_report_input {
    const char *path;
    const char *format;  /* "text", "binary", "RapidBin" */
    const char *command; /* that was recorded; NULL if unknown */
    uint32_t events, threads;
    const char *const *warning; /* what a reader should know about the input */
    uint32_t warnings;
    const struct hd_report_number *effort; /* what it took: runs of each sort */
    uint32_t efforts;
    /* nondeterminism: "deterministic", "nondeterministic" or "undecided", and its reads; NULL */
    const char *determinism;
    const struct hd_report_number *read;
    uint32_t reads;
};

struct hd_report_style {
    bool color;
    unsigned width; /* columns of a line; 0: 100 */
};

/* All findings of the list, a page each. */
void hd_report_text(FILE *out, const struct hd_findings *findings,
                    const struct hd_report_style *style);
/* The lines at the end of a text report, one for each kind that was looked for: "2 candidate pairs
 * of sites: ...". `instances`: candidates are events, not sites. */
void hd_report_text_summary(FILE *out, const struct hd_findings *findings, bool instances,
                            const struct hd_report_style *style);
/* False when the stream takes no more. */
bool hd_report_json(FILE *out, const struct hd_findings *findings,
                    const struct hd_report_input *input, const char *version);

#endif
