/* Work on many independent items with all cores: each worker has a state of its own and takes the
 * next few items. */
#ifndef HEDDLE_ENGINE_CREW_H
#define HEDDLE_ENGINE_CREW_H

#include "base/progress.h"
#include "base/status.h"

struct hd_crew {
    uint32_t items;
    unsigned jobs;                /* threads; 0: one for each core */
    const char *what;             /* for the progress bar */
    struct hd_progress *progress; /* may be NULL */
    void *context;                /* handed to the functions */
    /* A worker's own state; NULL when memory is out. */
    void *(*begin)(void *context);
    bool (*work)(void *context, void *own, uint32_t item, struct hd_error *error);
    /* In the caller's thread, one after another, also after a failure. */
    void (*end)(void *context, void *own);
};

/* False if memory is out or an item failed. *started, if given, becomes the number of threads. */
bool hd_crew_run(const struct hd_crew *crew, unsigned *started, struct hd_error *error);

#endif
