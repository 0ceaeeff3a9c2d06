/* Findings to read and findings to parse: the same struct as text for a person, as JSON
 * (`heddle-findings/1`, docs/findings.schema.json), as SARIF 2.1.0, as JUnit XML and as a page for
 * a browser. Writes to a
 * stream that the caller opened. */
#ifndef HEDDLE_REPORT_REPORT_H
#define HEDDLE_REPORT_REPORT_H

#include "finding/hide.h"
#include "report/excerpt.h"

#include <stdio.h>

/* Something that was counted: "forced", 7. */
struct hd_report_number {
    const char *name;
    uint64_t value;
};

/* What the findings are findings of. */
struct hd_report_input {
    const char *tool;   /* heddle's command: "predict" */
    int status;         /* that it exits with */
    const char *failed; /* why the job could not be done; NULL: it was done */
    /* what counts for the exit status */
    enum hd_fail_on fail_on;
    bool (*fails)(const struct hd_finding *finding, enum hd_fail_on what);
    const char *path;
    bool trace;          /* the path is that of a trace */
    const char *build;   /* of the program that ran: see hd_trace_build; NULL: unknown */
    bool partial;        /* it ended before everything was looked at */
    time_t newest;       /* source that changed later is not that of the input; 0: unknown */
    const char *format;  /* "text", "binary", "RapidBin" */
    const char *command; /* that was recorded; NULL if unknown */
    uint64_t events;
    uint32_t threads;
    uint32_t loaded; /* events, by which the findings number theirs; 0, or as many: all */
    const char *const *warning; /* what a reader should know about the input */
    uint32_t warnings;
    const struct hd_report_number *effort; /* what it took: runs of each sort */
    uint32_t efforts;
    /* nondeterminism: "deterministic", "nondeterministic" or "undecided", and its reads; NULL */
    const char *determinism;
    const struct hd_report_number *read;
    uint32_t reads;
    const char *const *note; /* what was not looked at, in sentences */
    uint32_t notes;
    const struct hd_hiding *hiding; /* NULL: nothing was to be hidden */
    const char *more_name;          /* a member of JSON that only one command has; NULL */
    struct json_t *more;            /* its value, which stays the caller's */
    struct json_t *coverage;        /* how it grew over runs (hd_cover_json), for HTML; NULL */
    bool no_source;                 /* HTML gets no lines of source files */
};

/* How much of the findings is written; zeroed: everything. */
struct hd_report_size {
    size_t most; /* findings; 0: all. The rest is counted */
    bool turns;  /* witnesses of more than HD_LONG_WITNESS events as turns */
};

struct hd_report_style {
    bool color;
    unsigned width;       /* columns of a line; 0: 100 */
    bool standard_output; /* it goes there, not to a file */
    /* where source lines are read from; NULL: none are shown */
    struct hd_excerpts *excerpts;
};

/* The findings of the list, a page each; `most` of them at most (0: all). */
void hd_report_text(FILE *out, const struct hd_findings *findings, size_t most,
                    const struct hd_report_style *style);
void hd_report_text_finding(FILE *out, const struct hd_finding *finding,
                            const struct hd_report_style *style);
/* The lines at the end of a text report, one for each kind that was looked for: "2 candidate pairs
 * of sites: ...". `instances`: candidates are events, not sites. */
void hd_report_text_summary(FILE *out, const struct hd_findings *findings, bool instances,
                            const struct hd_report_style *style);
/* False when the stream takes no more. */
bool hd_report_json(FILE *out, const struct hd_findings *findings,
                    const struct hd_report_input *input, const struct hd_report_size *size,
                    const char *version);
/* SARIF 2.1.0, https://docs.oasis-open.org/sarif/sarif/v2.1.0. */
bool hd_report_sarif(FILE *out, const struct hd_findings *findings,
                     const struct hd_report_input *input, const struct hd_report_size *size,
                     const char *version);
/* JUnit's XML, as CI systems read it: a test suite for each kind that was looked for. */
bool hd_report_junit(FILE *out, const struct hd_findings *findings,
                     const struct hd_report_input *input, const struct hd_report_size *size,
                     const char *version);
/* One HTML file that needs nothing else: the list, a picture of each finding, source, and the text
 * report for browsers without JavaScript. */
bool hd_report_html(FILE *out, const struct hd_findings *findings,
                    const struct hd_report_input *input, const struct hd_report_size *size,
                    const char *version);
/* Lines at the end of a text report: what suppressions and the baseline hid; nothing if neither was
 * given. */
void hd_report_text_hiding(FILE *out, const struct hd_findings *findings,
                           const struct hd_hiding *hiding);
/* What a command that could not do its job says to whoever wanted JSON; SARIF and JUnit say it with
 * input->failed. */
void hd_report_json_error(FILE *out, const char *message, const char *version);

#endif
