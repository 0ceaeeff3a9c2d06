/* --campaign of the commands whose work can be done by many machines: see campaign/campaign.h. */
#ifndef HEDDLE_CLI_CAMPAIGN_OPTION_H
#define HEDDLE_CLI_CAMPAIGN_OPTION_H

#include "campaign/campaign.h"
#include "explore/explore.h"

struct hd_campaign_option {
    const char *path; /* NULL: not given */
    uint64_t silence; /* --give-up */
};
#define HD_CAMPAIGN_OPTIONS(option)                                                           \
    HD_TEXT("campaign", 0, "FILE", &(option)->path,                                           \
            "keep results in FILE and take them from there; under mpirun, run on all ranks"), \
        HD_NUMBER("give-up", 0, "SECONDS", &(option)->silence, 2, 1000000,                    \
                  "under mpirun, end the job when a rank is not heard of for so long "        \
                  "(default 30)")

/* Is this process a rank that only does what another one wants? If so, this is all that it does:
 * the exit status. `kind`: of the jobs, NULL: runs. */
bool hd_campaign_option_is_worker(const struct hd_campaign_option *option);
int hd_campaign_option_work(const char *command, const struct hd_campaign_option *option,
                            const struct hd_errand_kind *kind, unsigned at_once, bool no_server);

/* Fills in what the option says, and opens it; NULL after a complaint. */
struct hd_campaign *hd_campaign_option_begin(const char *command,
                                             const struct hd_campaign_option *option,
                                             struct hd_campaign_options *options);
/* Ends it, with words that the file gets. False after a complaint. */
bool hd_campaign_option_end(const char *command, struct hd_campaign *campaign, const char *words);
/* The usual words of a command that has done its work, by its exit status. */
const char *hd_campaign_option_words(int status);

/* For an exploration: opens the campaign, if one was asked for, and has the exploration's runs done
 * by it. *campaign stays NULL if none was. */
bool hd_campaign_option_open(const struct hd_campaign_option *option,
                             struct hd_explore_options *wanted, struct hd_campaign **campaign,
                             struct hd_error *error);
/* Ends it; `exploration` NULL: there is none. False after a complaint. */
bool hd_campaign_option_close(const char *command, struct hd_campaign *campaign,
                              const struct hd_exploration *exploration);

#endif
