/* The report for CI systems: JUnit's XML. A test suite for each kind that was looked for, a test
 * case for each finding; what counts for the exit status fails, what is hidden is skipped. */
#define _GNU_SOURCE /* open_memstream */
#include "base/alloc.h"
#include "base/utf8.h"
#include "report/hunt.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

/* ---- XML ------------------------------------------------------------------------------------ */

/* May it be in XML 1.0 at all? */
static bool is_character(uint32_t code) {
    if (code < 0x20) return code == '\t' || code == '\n';
    return code != 0x7f && !(code >= 0x80 && code < 0xa0) && (code & 0xfffe) != 0xfffe;
}

/* Text that is valid wherever it stands: what XML can't say becomes U+FFFD. */
static void put(FILE *out, const char *text) {
    while (*text != '\0') {
        uint32_t code = 0;
        size_t length = hd_utf8_length(text, &code);
        if (length == 0 || !is_character(code))
            fputs("\xef\xbf\xbd", out);
        else if (code == '&')
            fputs("&amp;", out);
        else if (code == '<')
            fputs("&lt;", out);
        else if (code == '>')
            fputs("&gt;", out);
        else if (code == '"')
            fputs("&quot;", out);
        else if (code == '\n' || code == '\t')
            fprintf(out, code == '\n' ? "&#10;" : "&#9;");
        else
            fwrite(text, 1, length, out);
        text += length > 0 ? length : 1;
    }
}

static void attribute(FILE *out, const char *name, const char *value) {
    fprintf(out, " %s=\"", name);
    put(out, value);
    fputc('"', out);
}

/* The text of an element: line ends stay as they are. */
static void put_lines(FILE *out, const char *text) {
    for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        char *line = hd_strndup(text, (size_t)(end - text));
        put(out, line);
        fputc('\n', out);
        free(line);
    }
    put(out, text);
}

static void element(FILE *out, const char *name, const char *text) {
    fprintf(out, "      <%s>", name);
    put_lines(out, text);
    fprintf(out, "</%s>\n", name);
}

/* ---- cases ---------------------------------------------------------------------------------- */

struct suite {
    FILE *out;
    const struct hd_findings *findings;
    const struct hd_report_input *input;
    size_t shown; /* of the list */
};

static bool fails(const struct suite *suite, const struct hd_finding *finding) {
    return suite->input->fails(finding, suite->input->fail_on);
}

/* The page that a person would read. */
static char *page_of(const struct hd_finding *finding, time_t newest) {
    char *text = NULL;
    size_t bytes = 0;
    struct hd_excerpts excerpts = {.newest = newest};
    struct hd_report_style style = {.excerpts = &excerpts};
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) hd_out_of_memory();
    if (finding->forced != NULL)
        hd_report_hunted(out, finding, &style);
    else
        hd_report_text_finding(out, finding, &style);
    hd_excerpts_free(&excerpts);
    if (fclose(out) != 0) hd_out_of_memory();
    return text;
}

/* "race on y at a.c:3, a.c:9 (a5d6d3e55b81db45)" */
static char *name_of(const struct hd_finding *finding) {
    char *name = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&name, &bytes);
    if (out == NULL) hd_out_of_memory();
    fprintf(out, "%s%s%s", hd_finding_kind_name(finding->kind),
            *finding->variable != '\0' ? " on " : "", finding->variable);
    for (uint32_t i = 0; i < finding->events; i++)
        if (hd_finding_in_words(i, finding->events) && *finding->event[i].site != '\0')
            fprintf(out, "%s%s", i == 0 ? " at " : ", ",
                    hd_finding_short_site(finding->event[i].site));
    fprintf(out, " (%s)", finding->fingerprint);
    if (fclose(out) != 0) hd_out_of_memory();
    return name;
}

static void open_case(const struct suite *suite, const char *kind, const char *name) {
    char class[64];
    snprintf(class, sizeof class, "heddle.%s.%s", suite->input->tool, kind);
    fputs("    <testcase", suite->out);
    attribute(suite->out, "classname", class);
    attribute(suite->out, "name", name);
    attribute(suite->out, "time", "0");
}

static void open_finding(const struct suite *suite, const struct hd_finding *finding) {
    char *name = name_of(finding);
    open_case(suite, hd_finding_kind_name(finding->kind), name);
    free(name);
    const struct hd_finding_event *event = finding->event;
    if (finding->events == 0 || event->file == NULL) return;
    attribute(suite->out, "file", event->file);
    if (event->line > 0) fprintf(suite->out, " line=\"%u\"", event->line);
}

static void write_finding(const struct suite *suite, const struct hd_finding *finding) {
    FILE *out = suite->out;
    char *page = page_of(finding, suite->input->newest);
    open_finding(suite, finding);
    fputs(">\n", out);
    if (fails(suite, finding)) {
        fputs("      <failure", out);
        attribute(out, "type", hd_finding_kind_name(finding->kind));
        attribute(out, "message",
                  *finding->conclusion != '\0' ? finding->conclusion
                                               : hd_finding_title(finding->kind));
        fputs(">", out);
        put_lines(out, page);
        fputs("</failure>\n", out);
    } else {
        element(out, "system-out", page);
    }
    fputs("    </testcase>\n", out);
    free(page);
}

static void write_hidden(const struct suite *suite, const struct hd_finding *finding) {
    char *reason = finding->suppressed != NULL
                       ? hd_format("suppressed: %s", finding->suppressed)
                       : hd_format("in the baseline %s", suite->input->hiding->baseline.path);
    open_finding(suite, finding);
    fputs(">\n      <skipped", suite->out);
    attribute(suite->out, "message", reason);
    fputs("/>\n    </testcase>\n", suite->out);
    free(reason);
}

/* ---- suites --------------------------------------------------------------------------------- */

struct counts {
    unsigned long long tests, failures, skipped, of_list;
};

static struct counts count_kind(const struct suite *suite, unsigned kind) {
    struct counts counts = {0};
    for (size_t i = 0; i < suite->shown; i++) {
        const struct hd_finding *finding = &suite->findings->list.data[i];
        if (finding->kind != kind) continue;
        counts.of_list++;
        counts.failures += fails(suite, finding);
    }
    for (size_t i = 0; i < suite->findings->hidden.size; i++)
        counts.skipped += suite->findings->hidden.data[i].kind == kind;
    counts.tests = counts.of_list + counts.skipped;
    /* A kind of which nothing was found is a test that passes. */
    if (counts.tests == 0 && suite->findings->looked_for[kind]) counts.tests = 1;
    return counts;
}

static void write_kind(const struct suite *suite, unsigned kind) {
    FILE *out = suite->out;
    const struct hd_findings *findings = suite->findings;
    const char *name = hd_finding_kind_name(kind);
    struct counts counts = count_kind(suite, kind);
    if (counts.tests == 0) return;
    fputs("  <testsuite", out);
    attribute(out, "name", name);
    fprintf(out, " tests=\"%llu\" failures=\"%llu\" errors=\"0\" skipped=\"%llu\" time=\"0\">\n",
            counts.tests, counts.failures, counts.skipped);
    if (counts.of_list + counts.skipped == 0) {
        open_case(suite, name, "nothing was found");
        fputs("/>\n", out);
    }
    for (size_t i = 0; i < suite->shown; i++)
        if (findings->list.data[i].kind == kind) write_finding(suite, &findings->list.data[i]);
    for (size_t i = 0; i < findings->hidden.size; i++)
        if (findings->hidden.data[i].kind == kind) write_hidden(suite, &findings->hidden.data[i]);
    uint64_t open = findings->of_kind[kind].verdict[HD_VERDICT_UNDECIDED];
    if (open > 0)
        fprintf(out,
                "    <system-out>not decided within the budget: %llu of %llu "
                "candidates</system-out>\n",
                (unsigned long long)open, (unsigned long long)findings->of_kind[kind].candidates);
    fputs("  </testsuite>\n", out);
}

/* The command itself: it failed, or it found nothing at all and has no kinds to name; and what it
 * did not look at. */
static void write_command(const struct suite *suite, bool alone) {
    FILE *out = suite->out;
    const struct hd_report_input *input = suite->input;
    bool failed = input->failed != NULL;
    if (!failed && !alone && input->warnings + input->notes == 0) return;
    fputs("  <testsuite", out);
    attribute(out, "name", input->tool);
    fprintf(out, " tests=\"1\" failures=\"0\" errors=\"%d\" skipped=\"0\" time=\"0\">\n", failed);
    open_case(suite, "command",
              failed  ? "the command"
              : alone ? "nothing was found"
                      : "the command");
    if (failed) {
        fputs(">\n      <error type=\"error\"", out);
        attribute(out, "message", input->failed);
        fputs("/>\n    </testcase>\n", out);
    } else {
        fputs("/>\n", out);
    }
    if (input->warnings + input->notes > 0) {
        fputs("    <system-err>", out);
        for (uint32_t i = 0; i < input->warnings; i++) {
            put(out, input->warning[i]);
            fputc('\n', out);
        }
        for (uint32_t i = 0; i < input->notes; i++) {
            put(out, input->note[i]);
            fputc('\n', out);
        }
        fputs("</system-err>\n", out);
    }
    fputs("  </testsuite>\n", out);
}

bool hd_report_junit(FILE *out, const struct hd_findings *findings,
                     const struct hd_report_input *input, const struct hd_report_size *size,
                     const char *version) {
    struct suite suite = {out, findings, input, findings->list.size};
    if (size->most > 0 && suite.shown > size->most) suite.shown = size->most;
    struct counts all = {0};
    for (unsigned kind = 0; kind < HD_FINDING_KIND_COUNT; kind++) {
        struct counts counts = count_kind(&suite, kind);
        all.tests += counts.tests;
        all.failures += counts.failures;
        all.skipped += counts.skipped;
    }
    bool alone = all.tests == 0, said = alone || input->warnings + input->notes > 0;
    fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"heddle %s %s\"",
            input->tool, version);
    fprintf(out, " tests=\"%llu\" failures=\"%llu\" errors=\"%d\" skipped=\"%llu\" time=\"0\">\n",
            all.tests + said, all.failures, input->failed != NULL, all.skipped);
    for (unsigned kind = 0; kind < HD_FINDING_KIND_COUNT; kind++) write_kind(&suite, kind);
    write_command(&suite, alone);
    fputs("</testsuites>\n", out);
    return !ferror(out);
}
