/* How the commands that explore have their runs made: --follow-fork, --no-fork-server,
 * --snapshot-at. */
#ifndef HEDDLE_CLI_RUNS_OPTION_H
#define HEDDLE_CLI_RUNS_OPTION_H

#include "cli/campaign_option.h"

struct hd_runs_option {
    bool follow_fork, no_server;
    const char *snapshot_at; /* NULL: not given */
};
#define HD_RUNS_OPTIONS(option)                                                 \
    HD_FLAG("follow-fork", 0, &(option)->follow_fork,                           \
            "look at the processes that the program forks or executes too"),    \
        HD_FLAG("no-fork-server", 0, &(option)->no_server,                      \
                "execute the program for every run, not once for all"),         \
        HD_TEXT("snapshot-at", 0, "FUNCTION", &(option)->snapshot_at,           \
                "runs begin where FUNCTION is first called: what comes before " \
                "is executed once")

/* Do they go together? False after a complaint. */
bool hd_runs_option_use(const char *command, const struct hd_runs_option *option,
                        const struct hd_campaign_option *campaign);

#endif
