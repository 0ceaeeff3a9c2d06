/* heddle report --store: what became of findings over the runs that a store remembers. */
#ifndef HEDDLE_CLI_REPORT_STORE_H
#define HEDDLE_CLI_REPORT_STORE_H

#include "cli/findings_output.h"

struct hd_report_store_wanted {
    const char *since;
    bool runs, trends, accept;
};

#define HD_REPORT_STORE_OPTIONS(w)                                                                 \
    HD_TEXT("since", 0, "WHEN", &(w)->since,                                                       \
            "with --store: what changed since the run before the last ('last'), a run, or a day"), \
        HD_FLAG("runs", 0, &(w)->runs, "with --store: list the runs"),                             \
        HD_FLAG("trends", 0, &(w)->trends, "with --store: how the number of findings went"),       \
        HD_FLAG("accept", 0, &(w)->accept,                                                         \
                "with --store: accept what is there, for --baseline FILE of later runs")

int hd_report_from_store(const char *command, const struct hd_report_store_wanted *wanted,
                         struct hd_findings_options *output);

#endif
