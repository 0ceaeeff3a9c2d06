/* --full, the same in the commands that load traces: all events, where usually those of the filter
 * are enough (trace/trace.h). */
#ifndef HEDDLE_CLI_FULL_OPTION_H
#define HEDDLE_CLI_FULL_OPTION_H

#include "cli/options.h"
#include "trace/trace.h"

#define HD_FULL_OPTION(pointer) \
    HD_FLAG("full", 0, (pointer), "load every event, also those that the filter leaves out")

static inline enum hd_trace_keep hd_full_option_keep(bool full) {
    return full ? HD_KEEP_ALL : HD_KEEP_STEPS;
}

#endif
