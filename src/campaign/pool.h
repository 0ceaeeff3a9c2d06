/* Jobs done in threads of this process, runs of the program or others: the whole of a campaign
 * without MPI, and what each worker of one with it has. */
#ifndef HEDDLE_CAMPAIGN_POOL_H
#define HEDDLE_CAMPAIGN_POOL_H

#include "campaign/errand.h"
#include "campaign/file.h"

/* A job that is wanted. */
struct campaign_task {
    uint32_t number;  /* whoever wants it knows it by this */
    uint32_t program; /* number of its program */
    uint64_t limit_ms;
    uint32_t patience_ms; /* of a replay (struct hd_steering); 0: the usual */
    char *text;           /* the job: run/job.h, or a kind's; malloc'ed, with a NUL behind it */
    size_t text_bytes;
};

/* What came of it. */
enum campaign_end {
    CAMPAIGN_RAN,
    CAMPAIGN_BROKEN, /* it could not be run */
    CAMPAIGN_STOPPED /* it was asked to stop */
};

struct campaign_pool_options {
    unsigned at_once;
    unsigned crowd; /* times as long as alone a run may take */
    bool no_server;
    const struct hd_host *host;
    const struct hd_errand_kind *kind; /* NULL: runs */
    /* In the threads of the pool; *result is the callee's. */
    void (*done)(void *context, uint32_t number, enum campaign_end end,
                 struct campaign_result *result, const struct hd_error *error);
    void *context;
};

struct campaign_pool;
struct campaign_pool *campaign_pool_new(const struct campaign_pool_options *options);
/* Its strings must live as long as the pool. Numbers are small. */
void campaign_pool_program(struct campaign_pool *pool, uint32_t number,
                           const struct hd_program *program);
/* Takes the task; `now`: before the others. */
void campaign_pool_put(struct campaign_pool *pool, const struct campaign_task *task, bool now);
/* Forgets a task; false: it was begun already. */
bool campaign_pool_cancel(struct campaign_pool *pool, uint32_t number);
/* Asks all runs to stop. */
void campaign_pool_stop(struct campaign_pool *pool, int number);
/* Stops all, forgets what was not begun, and waits for the threads. */
void campaign_pool_free(struct campaign_pool *pool);

#endif
