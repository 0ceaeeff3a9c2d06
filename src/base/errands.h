/* Work that somebody else does: other threads, other processes, other machines, or a file that
 * knows what came of it (campaign/). Job out, result in, both as bytes: whoever wants something
 * done asks for all that it will want, ahead of time, and takes the results in the order in which
 * it needs them.
 *
 * Every ticket is either taken or dropped, once. All calls come from one thread. */
#ifndef HEDDLE_BASE_ERRANDS_H
#define HEDDLE_BASE_ERRANDS_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum hd_taken {
    HD_TAKEN,       /* here is the result */
    HD_TAKEN_NOT,   /* the time was over, or somebody asks to stop */
    HD_TAKEN_BROKEN /* it could not be done: *error says why */
};

struct hd_errands {
    void *context;
    uint32_t (*ask)(void *context, const void *job, size_t bytes);
    /* Waits for it, until a time by hd_seconds_now. *result is malloc'ed. */
    enum hd_taken (*take)(void *context, uint32_t ticket, double until, char **result,
                          size_t *bytes, struct hd_error *error);
    void (*drop)(void *context, uint32_t ticket);
};

#endif
