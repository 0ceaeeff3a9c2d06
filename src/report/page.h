/* What the text reports have in common: colours, and words broken into lines. */
#ifndef HEDDLE_REPORT_PAGE_H
#define HEDDLE_REPORT_PAGE_H

#include "report/report.h"

struct hd_page {
    FILE *out;
    const char *bold, *dim, *red, *green, *off; /* "" without colour */
    unsigned width;
};
struct hd_page hd_page_for(FILE *out, const struct hd_report_style *style);

/* Columns a UTF-8 text takes, as far as one character is one column. */
unsigned hd_page_columns(const char *text);
/* Calls `print` for each event; of very many, for the first and the last ones. */
void hd_page_events(const struct hd_page *page, unsigned indent, const struct hd_finding *finding,
                    void (*print)(const struct hd_page *page,
                                  const struct hd_finding_event *event));
/* Words, broken into lines that start in column `indent`. */
void hd_page_paragraph(const struct hd_page *page, unsigned indent, const char *text);

#endif
