/* --campaign: see campaign_option.h. */
#include "cli/campaign_option.h"

#include "cli/commands.h"
#include "cli/output.h"
#include "toolchain/compiler.h"

#include <stdlib.h>

static void complain(const char *words) { hd_complain("campaign", "%s", words); }

bool hd_campaign_option_is_worker(const struct hd_campaign_option *option) {
    return option->path != NULL && hd_campaign_is_worker();
}

int hd_campaign_option_work(const char *command, const struct hd_campaign_option *option,
                            const struct hd_errand_kind *kind, unsigned at_once, bool no_server) {
    struct hd_error error;
    bool runs = kind == NULL || kind->runs;
    char *library = runs ? hd_runtime_directory(&error) : NULL;
    if (runs && library == NULL) return hd_complain_error(command, &error);
    struct hd_host host = {.library_directory = library};
    struct hd_campaign_options options = {.host = &host,
                                          .kind = kind,
                                          .at_once = at_once,
                                          .no_server = no_server,
                                          .silence = (unsigned)option->silence,
                                          .lost = complain};
    int status = HD_EXIT_CLEAN;
    if (!hd_campaign_work(&options, &error)) status = hd_complain_error(command, &error);
    free(library);
    return status;
}

struct hd_campaign *hd_campaign_option_begin(const char *command,
                                             const struct hd_campaign_option *option,
                                             struct hd_campaign_options *options) {
    struct hd_error error;
    options->path = option->path;
    options->silence = (unsigned)option->silence;
    options->lost = complain;
    struct hd_campaign *campaign = hd_campaign_open(options, &error);
    if (campaign == NULL) hd_complain_error(command, &error);
    return campaign;
}

bool hd_campaign_option_end(const char *command, struct hd_campaign *campaign, const char *words) {
    struct hd_error error;
    if (hd_campaign_close(campaign, words, 0, &error)) return true;
    hd_complain_error(command, &error);
    return false;
}

const char *hd_campaign_option_words(int status) {
    return status == HD_EXIT_FAILED ? "ended: it could not be done" : "complete: nothing is left";
}

bool hd_campaign_option_open(const struct hd_campaign_option *option,
                             struct hd_explore_options *wanted, struct hd_campaign **campaign,
                             struct hd_error *error) {
    *campaign = NULL;
    if (option->path == NULL) return true;
    struct hd_campaign_options options = {.path = option->path,
                                          .program = &wanted->program,
                                          .host = wanted->host,
                                          .at_once = wanted->at_once,
                                          .no_server = wanted->no_server,
                                          .silence = (unsigned)option->silence,
                                          .lost = complain};
    *campaign = hd_campaign_open(&options, error);
    if (*campaign == NULL) return false;
    wanted->elsewhere = hd_campaign_runs(*campaign);
    return true;
}

static const char *ending_of(const struct hd_exploration *exploration) {
    static const char *const words[] = {[HD_END_FAILURE] = "ended at the first failure",
                                        [HD_END_RUNS] = "ended: no more runs were allowed",
                                        [HD_END_TIME] = "ended: the time was up",
                                        [HD_END_EXHAUSTED] = "ended: nothing is left to try",
                                        [HD_END_COVERED] = "ended: nothing feasible is open",
                                        [HD_END_STOPPED] = "ended by a signal"};
    if (exploration == NULL) return "ended: it could not be done";
    if (exploration->closed.complete) return "complete: nothing is left";
    return words[exploration->end];
}

bool hd_campaign_option_close(const char *command, struct hd_campaign *campaign,
                              const struct hd_exploration *exploration) {
    struct hd_error error;
    uint64_t left = 0;
    if (campaign == NULL) return true;
    if (exploration != NULL) {
        hd_campaign_note(campaign, exploration->failures, "");
        left = exploration->left + exploration->closed.left;
    }
    if (hd_campaign_close(campaign, ending_of(exploration), left, &error)) return true;
    hd_complain_error(command, &error);
    return false;
}
