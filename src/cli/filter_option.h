/* --filter, the same in the commands that show traces: what analyses load of a full recording. */
#ifndef HEDDLE_CLI_FILTER_OPTION_H
#define HEDDLE_CLI_FILTER_OPTION_H

#include "cli/options.h"
#include "trace/trace.h"

/* What `heddle predict` loads, and so whose events its findings number. */
#define HD_KEEP_TO_PREDICT HD_KEEP_SHARED

#define HD_FILTER_OPTION(pointer) \
    HD_FLAG("filter", 0, (pointer), "of a full recording only the events that heddle predict loads")

static inline enum hd_trace_keep hd_filter_option_keep(bool filter) {
    return filter ? HD_KEEP_TO_PREDICT : HD_KEEP_ALL;
}

#endif
