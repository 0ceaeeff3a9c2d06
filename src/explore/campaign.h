/* A campaign: runs of one program under one strategy until it fails, with everything around it:
 * plain runs first, so that what fails anyway is not called exposed; a profile where the strategy
 * needs one; and after a failure how often the same control leads to it again, and the schedule of
 * the failing run, which does so more surely. */
#ifndef HEDDLE_EXPLORE_CAMPAIGN_H
#define HEDDLE_EXPLORE_CAMPAIGN_H

#include "explore/potential.h"
#include "run/run.h"
#include "run/schedule.h"

enum hd_context { HD_CONTEXT_NONE, HD_CONTEXT_CALLER, HD_CONTEXT_THREAD };

/* Where a campaign is; told after every run. */
struct hd_campaign_status {
    const char *doing;     /* "plain runs", "profiling", "forcing", "reproducing" */
    uint64_t runs;         /* so far, of all kinds */
    uint64_t most_runs;    /* 0: no limit */
    uint32_t tried, total; /* interleavings (pairs, for race); total 0: the strategy has none */
    double seconds;
    const char *best; /* the candidate that is tried now, or failed; "" */
};

struct hd_campaign_options {
    struct hd_program program; /* limit_ms 0: from the plain runs */
    const struct hd_host *host;
    enum hd_strategy strategy;
    uint64_t seed;
    uint64_t most_runs; /* 0: no limit */
    uint64_t most_ms;   /* 0: no limit */
    uint32_t plain_runs;
    uint32_t tries;        /* to reproduce */
    uint32_t profile_runs; /* at most */
    uint32_t depth;        /* pct */
    enum hd_pruning pruning;
    enum hd_context context;
    uint32_t timeout_ms; /* of a suspension, for the first attempt */
    uint32_t targets;    /* of a run */
    bool same_output;    /* standard output has to be that of the first plain run */
    bool no_schedule;    /* a control is enough */
    void (*report)(void *context, const struct hd_campaign_status *status);
    void *report_context;
    /* Told every candidate in the order of its rank, and then nothing is forced. May be NULL. */
    void (*list)(void *context, uint32_t rank, const struct hd_interleaving *it, const char *words);
};

enum hd_campaign_verdict {
    HD_CAMPAIGN_NOTHING, /* no run failed */
    HD_CAMPAIGN_EXPOSED, /* a run failed, and plain runs do not fail as often */
    HD_CAMPAIGN_FLAKY,   /* a run failed, but so do plain runs */
    HD_CAMPAIGN_STOPPED  /* a signal asked for it */
};

/* How it ended, why without a failure. */
enum hd_campaign_end { HD_END_FAILURE, HD_END_RUNS, HD_END_TIME, HD_END_EXHAUSTED };

struct hd_campaign_result {
    enum hd_campaign_verdict verdict;
    enum hd_campaign_end end;
    int interrupted; /* the signal */
    struct hd_outcome outcome;
    uint64_t runs;                     /* until the failure, plain and profile runs included */
    uint64_t plain, profiled, steered; /* of them */
    double seconds;                    /* until the failure */
    uint32_t tries, reproduced;        /* the control again, and how often it failed the same way */
    uint32_t plain_tries, plain_failed;
    struct hd_profile_counts counts; /* ctrigger */
    uint64_t accesses;               /* places of shared accesses in the profile */
    uint32_t candidates, tried, forced,
        rank;        /* ctrigger, race: how many there are, were tried, were
                        brought about; rank of the one that failed, from 1 */
    char what[1536]; /* two sentences: what ran between what, and what came of it */
    char variable[96];
    struct hd_interleaving critical; /* if has_critical; its places are of reproducer.places */
    bool has_critical;
    struct hd_schedule reproducer; /* of an exposed failure: its control */
    /* The failing run as a schedule, minimised, if it fails at least as often as the control. */
    bool has_schedule;
    struct hd_schedule schedule;
    uint32_t schedule_tries, schedule_reproduced;
    uint32_t switches, switches_before;
};

/* False if the program can't be run at all. */
bool hd_campaign_run(const struct hd_campaign_options *options, struct hd_campaign_result *result,
                     struct hd_error *error);
void hd_campaign_result_free(struct hd_campaign_result *result);

#endif
