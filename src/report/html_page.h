/* The parts that the HTML report is put together from. */
#ifndef HEDDLE_REPORT_HTML_PAGE_H
#define HEDDLE_REPORT_HTML_PAGE_H

#include "base/intern.h"
#include "report/report.h"

#include <jansson.h>

/* From src/report/html, by cmake/HeddleEmbed.cmake: the page's script and style, and what its
 * Content-Security-Policy calls them ("sha256-..."). */
extern const char hd_html_script[], hd_html_script_hash[];
extern const char hd_html_style[], hd_html_style_hash[];

/* Writes a value, which is given away, so that it can stand in an element of the page: ASCII, and
 * nothing in it ends the element or begins a comment. */
void hd_html_json(FILE *out, json_t *value);
/* A stream for text of a page: what HTML would obey is escaped, characters that it can't have are
 * shown as numbers. To be closed with fclose, which returns nonzero if something could not be
 * written; `to` stays open. */
FILE *hd_html_stream(FILE *to);

/* A finding with its events, stacks, steps, arrows and sections as numbers of what is shared, which
 * is JSON each. */
json_t *hd_html_finding(const struct hd_finding *finding, struct hd_intern *shared);
/* Writes JSON as hd_html_json does. */
void hd_html_json_text(FILE *out, const char *text);

/* The lines of source that a page shows, by file: {"a.c": {"lines": [[12, ["x = 1;", ...]]]}};
 * "changed" in place of "lines" for a file that was edited after the run. */
json_t *hd_html_sources(const struct hd_findings *findings, size_t count, time_t newest);

#endif
