/* Work on many independent items with all cores: each worker has a state of its own and takes the
 * next few items. */
#ifndef HEDDLE_BASE_WORKERS_H
#define HEDDLE_BASE_WORKERS_H

#include "base/progress.h"
#include "base/status.h"

struct hd_workers {
    uint32_t items;
    unsigned jobs;                 /* threads; 0: one for each core */
    const char *what;              /* for the progress bar */
    struct hd_progress *progress;  /* may be NULL */
    void *context;                 /* handed to the functions */
    void *(*begin)(void *context); /* makes a worker's own state */
    /* False ends the work of all. */
    bool (*work)(void *context, void *own, uint32_t item, struct hd_error *error);
    /* In the caller's thread, one after another, also after a failure. */
    void (*end)(void *context, void *own);
};

/* False if an item failed. *started, if given, becomes the number of threads. */
bool hd_workers_run(const struct hd_workers *workers, unsigned *started, struct hd_error *error);

#endif
