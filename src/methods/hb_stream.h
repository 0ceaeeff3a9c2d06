/* Happens-before races in one pass over the trace, in the manner of FastTrack: an epoch for each
 * location as long as it has no race, the accesses of each thread and site once it has. */
#ifndef HEDDLE_METHODS_HB_STREAM_H
#define HEDDLE_METHODS_HB_STREAM_H

#include "predict/method.h"

void hd_hb_stream(const struct hd_model *model, struct hd_progress *progress,
                  struct hd_streamed_races *races);

#endif
