/* See runs_option.h. */
#include "cli/runs_option.h"

#include "cli/output.h"

bool hd_runs_option_use(const char *command, const struct hd_runs_option *option,
                        const struct hd_campaign_option *campaign) {
    if (option->snapshot_at == NULL) return true;
    if (option->no_server)
        hd_complain(command, "--snapshot-at needs the fork server");
    else if (campaign->path != NULL)
        hd_complain(command, "--snapshot-at can't be used with --campaign");
    else if (option->follow_fork)
        hd_complain(command, "--snapshot-at can't be used with --follow-fork");
    else
        return true;
    return false;
}
