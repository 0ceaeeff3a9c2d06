/* A whole trace for a timeline viewer (ui.perfetto.dev, chrome://tracing), in the Chrome trace
 * event format: threads as tracks, critical sections and waits as slices, accesses as short slices
 * or folded, arrows for reads-from and synchronisation. Written event by event: it holds nothing
 * but the model, and a few words for each thread and section. */
#ifndef HEDDLE_REPORT_TIMELINE_H
#define HEDDLE_REPORT_TIMELINE_H

#include "model/describe.h"

#include <stdio.h>

struct hd_timeline_options {
    uint32_t most; /* shared accesses that are shown one by one; with more, all are folded */
};
#define HD_TIMELINE_MOST 200000u

/* False when the stream takes no more. */
bool hd_timeline_write(FILE *out, const struct hd_model *model, struct hd_describe *describe,
                       const struct hd_timeline_options *options);

#endif
