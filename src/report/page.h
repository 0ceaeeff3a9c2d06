/* What the reports have in common: colours, words broken into lines, names of things. */
#ifndef HEDDLE_REPORT_PAGE_H
#define HEDDLE_REPORT_PAGE_H

#include "base/json.h"
#include "model/describe.h"
#include "report/report.h"

struct hd_page {
    FILE *out;
    const char *bold, *dim, *red, *green, *off; /* "" without colour */
    unsigned width;
    struct hd_excerpts *excerpts; /* NULL: no source lines */
};
struct hd_page hd_page_for(FILE *out, const struct hd_report_style *style);

/* "s" for all numbers but 1. */
const char *hd_page_plural(uint64_t number);
/* "3 more findings are not shown (--max 0 shows all)" and an empty line. */
void hd_page_not_shown(FILE *out, size_t count);
/* A time with as many digits as it deserves: "12.3 ms". */
const char *hd_page_duration(double seconds, char text[32]);
/* Where an event is: its site, `short_site` without directories; "event 7" if it has none. */
void hd_page_place(struct hd_describe *describe, uint32_t event, bool short_site, char *text,
                   size_t room);
/* "binary", "text", "RapidBin" */
const char *hd_report_format_name(enum hd_trace_format format);
/* An event's operation; the text format has no line of its own for some. */
const char *hd_report_operation(enum hd_event_kind kind);
const char *hd_report_event(const struct hd_model *model, uint32_t event);
/* A finding as an object of `heddle-findings/1`. */
json_t *hd_report_finding_json(const struct hd_finding *finding);
/* Writes a value and a line's end, and gives the value back. */
void hd_report_json_value(FILE *out, json_t *value);

/* Columns a UTF-8 text takes, as far as one character is one column. */
unsigned hd_page_columns(const char *text);
/* "no lock"; "a, b (for reading)" */
void hd_page_locks(const struct hd_page *page, const struct hd_finding_event *event);
/* The source line of an event, if it can be read. */
void hd_page_excerpt(const struct hd_page *page, unsigned indent,
                     const struct hd_finding_event *event);
/* Calls `print` for each event; of very many, for the first and the last ones. */
void hd_page_events(const struct hd_page *page, unsigned indent, const struct hd_finding *finding,
                    void (*print)(const struct hd_page *page,
                                  const struct hd_finding_event *event));
/* Words, broken into lines that start in column `indent`. */
void hd_page_paragraph(const struct hd_page *page, unsigned indent, const char *text);

#endif
