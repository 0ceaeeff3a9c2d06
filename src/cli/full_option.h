/* --full, the same in the commands that load traces: all events, where usually those of the filter
 * are enough (trace/trace.h). */
#ifndef HEDDLE_CLI_FULL_OPTION_H
#define HEDDLE_CLI_FULL_OPTION_H

#include "cli/options.h"
#include "cli/output.h"
#include "trace/trace.h"

#include <string.h>

#define HD_FULL_OPTION(pointer) \
    HD_FLAG("full", 0, (pointer), "load every event, also those that the filter leaves out")

static inline enum hd_trace_keep hd_full_option_keep(bool full) {
    return full ? HD_KEEP_ALL : HD_KEEP_STEPS;
}

/* For commands that show a trace: more steps than this are not loaded, but those of memory on which
 * threads can conflict (HD_KEEP_CONCURRENT). A program that works on its own memory between atomic
 * operations has as many as it has accesses, and each takes some 60 bytes. */
#define HD_STEPS_SHOWN 10000000u
static inline struct hd_trace_options hd_full_option_show(const char *path, bool full) {
    bool twice = !full && strcmp(path, "-") != 0;
    return (struct hd_trace_options){.keep = hd_full_option_keep(full),
                                     .most_events = twice ? HD_STEPS_SHOWN : 0};
}
/* It failed: is it worth another try, with fewer events? Then that is said. */
static inline bool hd_full_option_again(const char *command, struct hd_trace_options *options,
                                        const struct hd_error *error) {
    if (options->most_events == 0 || error->code != HD_ERR_LIMIT) return false;
    options->most_events = 0;
    options->keep = HD_KEEP_CONCURRENT;
    hd_warn(
        command,
        "more than %u million steps: shown are only those of memory that threads share and that "
        "forks, joins and barriers do not order (--full: everything)",
        HD_STEPS_SHOWN / 1000000);
    return true;
}

#endif
