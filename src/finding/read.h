/* Findings that were written before: a reader of `heddle-findings/1`, which every command writes
 * with --format json (docs/findings.schema.json). The file is untrusted input: whatever it holds,
 * what is read is a list of findings as hd_finding_add makes them, or an error. */
#ifndef HEDDLE_FINDING_READ_H
#define HEDDLE_FINDING_READ_H

#include "base/status.h"
#include "finding/finding.h"

struct hd_findings_file {
    struct hd_findings findings; /* list, summary, of_kind, looked_for */
    /* what they are findings of; strings are never NULL unless it says so */
    const char *version; /* of heddle */
    const char *path, *format;
    const char *command; /* that was recorded; NULL if unknown */
    uint32_t events, threads;
    const char **warning;
    uint32_t warnings;
    uint64_t not_shown; /* findings beyond --max, which the file does not have */
};

/* "-" is standard input. A file of a command that could not do its job is an error too. */
bool hd_findings_read(const char *path, struct hd_findings_file *file, struct hd_error *error);
/* The same from memory; `name` is for error lines. */
bool hd_findings_parse(const char *name, const char *text, size_t bytes,
                       struct hd_findings_file *file, struct hd_error *error);
void hd_findings_file_free(struct hd_findings_file *file);

#endif
