/* Findings written as one of the formats, in memory. */
#ifndef HEDDLE_TESTS_SUPPORT_WRITTEN_H
#define HEDDLE_TESTS_SUPPORT_WRITTEN_H

#include "report/report.h"

#include <stdlib.h>

typedef bool report_writer(FILE *out, const struct hd_findings *findings,
                           const struct hd_report_input *input, const struct hd_report_size *size,
                           const char *version);

/* malloc'ed */
static inline char *written(report_writer *write, const struct hd_findings *findings) {
    struct hd_report_input input = {
        .tool = "test", .path = "t.std", .format = "text", .fails = hd_finding_fails};
    struct hd_report_size size = {.turns = true};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL || !write(out, findings, &input, &size, "1") || fclose(out) != 0) abort();
    return text;
}

#endif
