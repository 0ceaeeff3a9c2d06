/* Who does the jobs of a campaign: a pool of threads, or ranks. */
#ifndef HEDDLE_CAMPAIGN_WORKERS_H
#define HEDDLE_CAMPAIGN_WORKERS_H

#include "campaign/campaign.h"
#include "campaign/pool.h"
#include "campaign/programs.h"

struct campaign_workers {
    void *context;
    /* A program that tasks will name by this number. */
    void (*program)(void *context, uint32_t number, const struct campaign_program *program);
    void (*put)(void *context, const struct campaign_task *task, bool now);
    bool (*cancel)(void *context, uint32_t number); /* false: it was begun */
    void (*stop)(void *context, int number);
    void (*tell)(void *context, const char *bytes, size_t count); /* NULL: nobody to tell */
    void (*free)(void *context);
};

/* Told by the workers, from any thread. *result is freed. */
void campaign_done(struct hd_campaign *campaign, uint32_t task, int64_t machine,
                   enum campaign_end end, struct campaign_result *result,
                   const struct hd_error *error);
/* The row of a machine; 0 after an error, which is kept. */
int64_t campaign_machine(struct hd_campaign *campaign, const char *name);
/* Writes what has come. Called often; `now`: also if the last time is not long ago. */
void campaign_tick(struct hd_campaign *campaign, bool now);
/* Nothing more can be run: whoever waits is told. */
void campaign_break(struct hd_campaign *campaign, const struct hd_error *error);

/* Starts the ranks' part in rank 0; NULL on failure. */
bool campaign_ranks_begin(struct hd_campaign *campaign, const struct hd_campaign_options *options,
                          struct campaign_workers *workers, struct hd_error *error);

#endif
