/* What every command that reports findings has in common: the options that say how and which, and
 * the reports themselves.
 *
 *     struct hd_findings_options wanted = HD_FINDINGS_DEFAULTS(COMMAND, 100);
 *     ... HD_FINDINGS_OPTIONS(&wanted, "100") among the rows, hd_options_parse ...
 *     if (!hd_findings_options_use(&wanted)) return HD_EXIT_FAILED;   before the long work
 *     ... the analysis fills `findings` and sets fingerprints ...
 *     hd_findings_hide(&findings, &wanted.hiding);
 *     status = hd_findings_status(&wanted, &findings);
 *     status = hd_findings_report(&wanted, &findings, &input, status, print_text, context);
 *     hd_findings_options_free(&wanted);
 */
#ifndef HEDDLE_CLI_FINDINGS_OUTPUT_H
#define HEDDLE_CLI_FINDINGS_OUTPUT_H

#include "cli/options.h"
#include "cli/store_option.h"
#include "report/report.h"

/* in the order of --format's choices */
enum hd_findings_format {
    HD_FINDINGS_TEXT,
    HD_FINDINGS_JSON,
    HD_FINDINGS_SARIF,
    HD_FINDINGS_JUNIT,
    HD_FINDINGS_HTML
};
#define HD_FINDINGS_FORMATS "text|json|sarif|junit|html"

struct hd_findings_options {
    const char *command;
    unsigned format;              /* of standard output */
    struct hd_option_list report; /* files that get the report too */
    struct hd_option_list suppressions;
    const char *baseline;
    unsigned fail_on; /* enum hd_fail_on */
    bool (*fails)(const struct hd_finding *finding, enum hd_fail_on what);
    unsigned color; /* enum hd_color_mode */
    uint64_t most;  /* findings that are shown; 0: all */
    bool turns;     /* see struct hd_report_size */
    bool printed;   /* standard output has its report */
    bool quiet;     /* it gets none */
    struct hd_hiding hiding;
    struct hd_store_option store;
    bool keeps_no_run; /* the command looks into the store, and is no run itself */
};

#define HD_FINDINGS_DEFAULTS(name, shown)                                              \
    {                                                                                  \
        .command = (name), .fail_on = HD_FAIL_ON_PREDICTED, .fails = hd_finding_fails, \
        .most = (shown)                                                                \
    }

/* The rows; `shown` is the default of --max, as a string. */
#define HD_FINDINGS_OPTIONS(o, shown)                                                            \
    HD_CHOICE("format", 0, "F", &(o)->format, HD_FINDINGS_FORMATS,                               \
              "what is printed: a report to read, or for programs"),                             \
        HD_LIST("report", 0, "FILE", &(o)->report,                                               \
                "write the report to FILE too (.html, .txt, .json, .sarif, .xml for JUnit); as " \
                "often as wanted"),                                                              \
        HD_LIST("suppressions", 0, "FILE", &(o)->suppressions,                                   \
                "hide the findings that FILE names; as often as wanted"),                        \
        HD_TEXT("baseline", 0, "FILE", &(o)->baseline,                                           \
                "hide the findings of FILE: a report in JSON, or a store (what was accepted)"),  \
        HD_NUMBER("max", 0, "N", &(o)->most, 0, UINT32_MAX,                                      \
                  "show at most N findings and count the rest, 0 for all (default " shown ")"),  \
        HD_CHOICE("fail-on", 0, "WHAT", &(o)->fail_on, HD_FAIL_ON_WORDS,                         \
                  "exit with status 1 for findings that a run did; for all that are harmful or " \
                  "likely (default); for every one that is shown"),                              \
        HD_STORE_OPTIONS(&(o)->store, "the store that remembers runs and their findings"),       \
        HD_CHOICE("color", 0, "WHEN", &(o)->color, "auto|always|never",                          \
                  "colour: on a terminal (default), always, never")

/* Reads suppressions and baseline. Complains and returns false if one can't be used. */
bool hd_findings_options_use(struct hd_findings_options *options);
/* An empty list that will have what the formats that are wanted need. */
struct hd_findings hd_findings_begin(const struct hd_findings_options *options);
/* HD_EXIT_FINDINGS if something of the list is what --fail-on speaks of, else HD_EXIT_CLEAN. */
int hd_findings_status(const struct hd_findings_options *options,
                       const struct hd_findings *findings);

/* Prints the text report. */
typedef void hd_findings_text(FILE *out, const struct hd_report_style *style, const void *context);
/* Writes all reports that are wanted. `input` need not have tool, status and hiding. Returns
 * `status`, or HD_EXIT_FAILED after a complaint. */
int hd_findings_report(struct hd_findings_options *options, const struct hd_findings *findings,
                       const struct hd_report_input *input, int status, hd_findings_text *text,
                       const void *context);
/* Of a command that could not do its job: whoever wanted another format than text on standard
 * output gets one that says so. */
int hd_findings_failed(const struct hd_findings_options *options, int status);
void hd_findings_options_free(struct hd_findings_options *options);

#endif
