/* The report as one HTML file: what the page's script (src/report/html) draws, as JSON, and the
 * text report for browsers without JavaScript. */
#include "base/alloc.h"
#include "base/json.h"
#include "finding/words.h"
#include "report/html_page.h"
#include "report/kinds.h"
#include "report/page.h"

#include <stdlib.h>
#include <string.h>

/* Findings that browsers without JavaScript show in full; of the others a line each. */
#define TEXT_IN_FULL 1000u

/* ---- without JavaScript ---------------------------------------------------------------------- */

static void write_order(FILE *out, const char *what, const struct hd_finding_line *line,
                        uint32_t lines) {
    if (lines > 0) fprintf(out, "  %s\n", what);
    for (uint32_t i = 0; i < lines; i++)
        fprintf(out, "    %-8s %s  %s\n", line[i].thread, line[i].text, line[i].site);
}

static void write_forced(FILE *out, const struct hd_finding_forced *forced) {
    if (forced == NULL) return;
    fprintf(out, "  Forced: %s", forced->words);
    if (forced->runs > 0) fprintf(out, "; %u of %u replays", forced->reproduced, forced->runs);
    fputc('\n', out);
    write_order(out, "Order of a run that passed:", forced->good, forced->goods);
    write_order(out, "Order of the run that failed:", forced->bad, forced->bads);
    char cause[2300];
    hd_words_cause(forced, cause, sizeof cause);
    if (*cause != '\0') fprintf(out, "  %s\n", cause);
    if (*forced->command != '\0') fprintf(out, "  Replay: %s\n", forced->command);
    fputc('\n', out);
}

static bool write_text(FILE *out, const struct hd_findings *findings, size_t count,
                       const struct hd_report_input *input) {
    struct hd_excerpts excerpts = {.newest = input->newest};
    struct hd_report_style style = {.excerpts = input->no_source ? NULL : &excerpts};
    FILE *text = hd_html_stream(out);
    if (input->failed != NULL) fprintf(text, "heddle failed: %s\n", input->failed);
    for (uint32_t i = 0; i < input->warnings; i++) fprintf(text, "%s\n", input->warning[i]);
    fputc('\n', text);
    for (size_t i = 0; i < count; i++) {
        const struct hd_finding *finding = &findings->list.data[i];
        fprintf(text, "%zu. ", i + 1);
        if (i < TEXT_IN_FULL) {
            hd_report_text_finding(text, finding, &style);
            write_forced(text, finding->forced);
        } else
            fprintf(text, "%s on %s: %s  %s  %s\n", hd_finding_kind_name(finding->kind),
                    finding->variable, hd_finding_verdict_name(finding->verdict),
                    finding->events > 0 ? finding->event[0].site : "", finding->fingerprint);
    }
    if (count < findings->list.size) hd_page_not_shown(text, findings->list.size - count);
    if (input->hiding != NULL) hd_report_text_hiding(text, findings, input->hiding);
    hd_excerpts_free(&excerpts);
    return fclose(text) == 0;
}

/* ---- what the script draws ------------------------------------------------------------------- */

static json_t *json_kinds(void) {
    json_t *kinds = json_object();
    for (unsigned kind = 0; kind < HD_FINDING_KIND_COUNT; kind++)
        json_object_set_new(kinds, hd_finding_kind_name(kind),
                            hd_json_text(hd_finding_title(kind)));
    return kinds;
}

static json_t *json_texts(const char *const *text, uint32_t count) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++) json_array_append_new(list, hd_json_text(text[i]));
    return list;
}

static json_t *json_head(const struct hd_findings *findings, size_t count,
                         const struct hd_report_input *input, const char *version) {
    json_t *head = json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:I, s:I}", "version", version, "tool",
        hd_json_text(input->tool), "path", hd_json_text(input->path), "format",
        hd_json_text(input->format), "command", hd_json_text_or_null(input->command), "events",
        HD_INT(input->events), "threads", HD_INT(input->threads), "warnings",
        json_texts(input->warning, input->warnings), "notes", json_texts(input->note, input->notes),
        "kinds", json_kinds(), "not_shown", HD_INT(findings->list.size - count), "hidden",
        HD_INT(findings->hidden.size));
    if (input->failed != NULL) json_object_set_new(head, "failed", hd_json_text(input->failed));
    if (input->coverage != NULL) json_object_set(head, "coverage", input->coverage);
    json_object_set_new(head, "sources",
                        input->no_source ? json_object()
                                         : hd_html_sources(findings, count, input->newest));
    return head;
}

static void write_data(FILE *out, const struct hd_findings *findings, size_t count,
                       const struct hd_report_input *input, const char *version) {
    struct hd_intern shared = {0};
    fputs("<script type=\"application/json\" id=\"data\">{\"head\":", out);
    hd_html_json(out, json_head(findings, count, input, version));
    fputs(",\"findings\":[", out);
    for (size_t i = 0; i < count; i++) {
        if (i > 0) fputs(",\n", out);
        hd_html_json(out, hd_html_finding(&findings->list.data[i], &shared));
    }
    fputs("],\"shared\":[", out);
    for (size_t i = 0; i < shared.name.size; i++) {
        if (i > 0) fputs(",\n", out);
        hd_html_json_text(out, shared.name.data[i]);
    }
    fputs("]}</script>\n", out);
    hd_intern_free(&shared);
}

/* ---- the page -------------------------------------------------------------------------------- */

static bool write_title(FILE *out, size_t count, const struct hd_report_input *input) {
    FILE *text = hd_html_stream(out);
    fprintf(text, "%zu finding%s", count, hd_page_plural(count));
    if (*input->path != '\0') fprintf(text, " - %s", hd_finding_short_site(input->path));
    return fclose(text) == 0;
}

/* Nothing is fetched, and no script runs but the page's own, whatever a file's text holds. */
static void write_policy(FILE *out) {
    fprintf(out,
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
            "script-src '%s'; style-src '%s'; img-src data:; base-uri 'none'; form-action "
            "'none'\">\n",
            hd_html_script_hash, hd_html_style_hash);
}

bool hd_report_html(FILE *out, const struct hd_findings *findings,
                    const struct hd_report_input *input, const struct hd_report_size *size,
                    const char *version) {
    size_t count = findings->list.size;
    if (size->most > 0 && count > size->most) count = size->most;
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n", out);
    write_policy(out);
    fprintf(out,
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta name=\"generator\" content=\"heddle %s\">\n<title>",
            version);
    bool good = write_title(out, findings->list.size, input);
    fprintf(out, "</title>\n<style>%s</style>\n</head>\n<body>\n<noscript>\n<h1>", hd_html_style);
    good = write_title(out, findings->list.size, input) && good;
    fputs("</h1>\n<pre>", out);
    good = write_text(out, findings, count, input) && good;
    fputs("</pre>\n</noscript>\n<div id=\"app\"></div>\n", out);
    write_data(out, findings, count, input, version);
    fprintf(out, "<script>%s</script>\n</body>\n</html>\n", hd_html_script);
    return good && !ferror(out);
}
