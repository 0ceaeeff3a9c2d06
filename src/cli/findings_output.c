/* See findings_output.h. */
#include "cli/findings_output.h"

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/output_file.h"
#include "report/safe_stream.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* ---- options -------------------------------------------------------------------------------- */

/* The format of a file by its ending; false if that says nothing. */
static bool format_of(const char *path, unsigned *format) {
    static const struct {
        const char *ending;
        enum hd_findings_format format;
    } known[] = {{".txt", HD_FINDINGS_TEXT},    {".json", HD_FINDINGS_JSON},
                 {".sarif", HD_FINDINGS_SARIF}, {".xml", HD_FINDINGS_JUNIT},
                 {".html", HD_FINDINGS_HTML},   {".htm", HD_FINDINGS_HTML}};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot != NULL && i < sizeof known / sizeof *known; i++)
        if (strcasecmp(dot, known[i].ending) == 0) {
            *format = known[i].format;
            return true;
        }
    return false;
}

/* What was accepted in a store. */
static bool baseline_of_store(struct hd_findings_options *options) {
    struct hd_store_option store = {options->baseline, options->store.project, false};
    struct hd_store *opened = hd_store_option_open(options->command, &store, HD_STORE_LOOK);
    if (opened == NULL) return false;
    struct hd_error error;
    struct hd_baseline *baseline = &options->hiding.baseline;
    char *text = hd_store_accepted(opened, hd_store_option_project(&store), &error);
    bool good = text != NULL &&
                hd_findings_parse(options->baseline, text, strlen(text), &baseline->file, &error);
    if (good)
        baseline->path = options->baseline;
    else
        hd_complain_error(options->command, &error);
    free(text);
    hd_store_close(opened);
    return good;
}

static bool read_baseline(struct hd_findings_options *options) {
    struct hd_error error;
    if (hd_store_looks_like_one(options->baseline)) return baseline_of_store(options);
    if (hd_baseline_read(&options->hiding.baseline, options->baseline, &error)) return true;
    hd_complain_error(options->command, &error);
    return false;
}

bool hd_findings_options_use(struct hd_findings_options *options) {
    struct hd_error error;
    unsigned format;
    hd_color_choose((enum hd_color_mode)options->color);
    for (unsigned i = 0; i < options->report.count; i++)
        if (!format_of(options->report.item[i], &format)) {
            hd_complain(options->command,
                        "--report %s: the ending says what to write: .html, .txt, .json, .sarif, "
                        "or .xml for JUnit",
                        options->report.item[i]);
            return false;
        }
    for (unsigned i = 0; i < options->suppressions.count; i++)
        if (!hd_suppressions_read(&options->hiding.suppressions, options->suppressions.item[i],
                                  &error)) {
            hd_complain_error(options->command, &error);
            return false;
        }
    if (options->baseline != NULL && !read_baseline(options)) return false;
    return options->keeps_no_run || hd_store_option_check(options->command, &options->store);
}

void hd_findings_options_free(struct hd_findings_options *options) {
    hd_hiding_free(&options->hiding);
    free(options->report.item);
    free(options->suppressions.item);
}

/* Is a format wanted, on standard output or in a file? */
static bool is_wanted(const struct hd_findings_options *options, enum hd_findings_format format) {
    bool wanted = options->format == format;
    unsigned other;
    for (unsigned i = 0; i < options->report.count; i++)
        wanted |= format_of(options->report.item[i], &other) && other == format;
    return wanted;
}

struct hd_findings hd_findings_begin(const struct hd_findings_options *options) {
    bool json = is_wanted(options, HD_FINDINGS_JSON), html = is_wanted(options, HD_FINDINGS_HTML);
    return (struct hd_findings){.want_pictures = json || html,
                                .want_witnesses = json,
                                .want_turns = html || (json && options->turns)};
}

int hd_findings_status(const struct hd_findings_options *options,
                       const struct hd_findings *findings) {
    for (size_t i = 0; i < findings->list.size; i++)
        if (options->fails(&findings->list.data[i], (enum hd_fail_on)options->fail_on))
            return HD_EXIT_FINDINGS;
    return HD_EXIT_CLEAN;
}

/* ---- reports -------------------------------------------------------------------------------- */

struct reports {
    const struct hd_findings_options *options;
    const struct hd_findings *findings;
    struct hd_report_input input;
    hd_findings_text *text;
    const void *context;
};

static bool write_text(const struct reports *reports, FILE *out) {
    bool standard = out == stdout;
    struct hd_excerpts excerpts = {.newest = reports->input.newest};
    struct hd_report_style style = {
        .color = standard && hd_color(stdout), .standard_output = standard, .excerpts = &excerpts};
    FILE *safe = hd_safe_stream(out, style.color);
    reports->text(safe, &style, reports->context);
    if (strcmp(reports->input.format, "store") != 0) /* it has said what is hidden, and why */
        hd_report_text_hiding(safe, reports->findings, &reports->options->hiding);
    hd_excerpts_free(&excerpts);
    return fclose(safe) == 0;
}

static bool write_report(const struct reports *reports, FILE *out, unsigned format) {
    const struct hd_findings_options *options = reports->options;
    struct hd_report_size size = {.most = (size_t)options->most, .turns = options->turns};
    switch (format) {
    case HD_FINDINGS_JSON:
        return hd_report_json(out, reports->findings, &reports->input, &size, HEDDLE_VERSION);
    case HD_FINDINGS_SARIF:
        return hd_report_sarif(out, reports->findings, &reports->input, &size, HEDDLE_VERSION);
    case HD_FINDINGS_JUNIT:
        return hd_report_junit(out, reports->findings, &reports->input, &size, HEDDLE_VERSION);
    case HD_FINDINGS_HTML:
        return hd_report_html(out, reports->findings, &reports->input, &size, HEDDLE_VERSION);
    default:
        return write_text(reports, out);
    }
}

/* A file that is written, and the reports that it is one of. */
struct report_file {
    const struct reports *reports;
    unsigned format;
};

static bool fill_file(FILE *out, const void *context) {
    const struct report_file *file = context;
    return write_report(file->reports, out, file->format);
}

static bool write_file(const struct reports *reports, const char *path) {
    struct report_file file = {reports, HD_FINDINGS_TEXT};
    struct hd_error error;
    format_of(path, &file.format);
    if (hd_output_file_write(path, fill_file, &file, &error)) return true;
    hd_complain_error(reports->options->command, &error);
    return false;
}

/* When the input was made: source that was edited later has other lines. Source itself has no such
 * time. */
static time_t newest_source(const struct hd_report_input *input) {
    struct stat status;
    if (strcmp(input->format, "source") == 0 || stat(input->path, &status) != 0) return 0;
    return status.st_mtime;
}

int hd_findings_report(struct hd_findings_options *options, const struct hd_findings *findings,
                       const struct hd_report_input *input, int status, hd_findings_text *text,
                       const void *context) {
    struct reports reports = {options, findings, *input, text, context};
    reports.input.tool = options->command;
    reports.input.status = status;
    reports.input.hiding = &options->hiding;
    if (reports.input.newest == 0) reports.input.newest = newest_source(input);
    reports.input.fail_on = (enum hd_fail_on)options->fail_on;
    reports.input.fails = options->fails;
    options->printed = true;
    bool kept = options->store.path == NULL || options->keeps_no_run ||
                hd_store_option_add(options->command, &options->store, &reports.input, findings);
    bool good = options->quiet || write_report(&reports, stdout, options->format);
    for (unsigned i = 0; i < options->report.count; i++)
        good = write_file(&reports, options->report.item[i]) && good;
    return good && kept ? status : HD_EXIT_FAILED;
}

int hd_findings_failed(const struct hd_findings_options *options, int status) {
    if (status != HD_EXIT_FAILED || options->printed) return status;
    struct hd_findings none = {.looked_for = {false}};
    struct hd_report_input input = {.tool = options->command,
                                    .status = status,
                                    .failed = hd_last_complaint(),
                                    .path = "",
                                    .format = "",
                                    .fails = options->fails};
    struct hd_report_size size = {0};
    if (options->format == HD_FINDINGS_JSON)
        hd_report_json_error(stdout, input.failed, HEDDLE_VERSION);
    else if (options->format == HD_FINDINGS_SARIF)
        hd_report_sarif(stdout, &none, &input, &size, HEDDLE_VERSION);
    else if (options->format == HD_FINDINGS_JUNIT)
        hd_report_junit(stdout, &none, &input, &size, HEDDLE_VERSION);
    else if (options->format == HD_FINDINGS_HTML)
        hd_report_html(stdout, &none, &input, &size, HEDDLE_VERSION);
    return status;
}
