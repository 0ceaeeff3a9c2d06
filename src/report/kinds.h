/* What each kind of finding is, for readers who see one for the first time. */
#ifndef HEDDLE_REPORT_KINDS_H
#define HEDDLE_REPORT_KINDS_H

#include "finding/finding.h"

struct hd_kind_help {
    const char *what;  /* one sentence */
    const char *wrong; /* what goes wrong, and how it is to be read; a few sentences */
};
/* Every kind has both: tests/unit/test_report_formats.c checks it. */
const struct hd_kind_help *hd_kind_help(enum hd_finding_kind kind);

#endif
