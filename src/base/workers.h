/* Work on many independent items with all cores: each worker has a state of its own and takes the
 * next few items. Or with many machines: whoever can have items done elsewhere (campaign/share.h)
 * is asked to; then what an item left is written down where it was done, and read back. */
#ifndef HEDDLE_BASE_WORKERS_H
#define HEDDLE_BASE_WORKERS_H

#include "base/packed.h"
#include "base/progress.h"
#include "base/status.h"

struct hd_sharing;

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
    /* Who may have the items done elsewhere; NULL: nobody. What an item depends on must be the same
     * in every process that does the same analysis. */
    const struct hd_sharing *sharing;
    /* After `work`, with the same state: writes down all that the item left, and takes it away from
     * there. */
    void (*save)(void *context, void *own, uint32_t item, struct hd_packed *to);
    /* In the caller's thread, item by item: what `save` wrote, perhaps in another process. It may
     * come from anywhere: false if it can't be. */
    bool (*restore)(void *context, uint32_t item, struct hd_unpack *from);
};

struct hd_sharing {
    void *context;
    bool (*run)(void *context, const struct hd_workers *workers, struct hd_error *error);
};

/* False if an item failed. *started, if given, becomes the number of threads. */
bool hd_workers_run(const struct hd_workers *workers, unsigned *started, struct hd_error *error);

#endif
