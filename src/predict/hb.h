/* Happens-before races in one pass over the trace, in the manner of FastTrack: an epoch for each
 * location as long as it has no race, the accesses of each thread and site once it has. */
#ifndef HEDDLE_PREDICT_HB_H
#define HEDDLE_PREDICT_HB_H

#include "base/vector.h"
#include "engine/engine.h"

/* A pair of sites that races. */
struct hd_hb_race {
    uint32_t event[2]; /* the first such events, in trace order */
    uint32_t location;
    uint64_t instances; /* accesses that raced with the latest of the other site in some thread */
};

struct hd_hb_races {
    HD_VECTOR(struct hd_hb_race) list;
};

bool hd_hb_stream(const struct hd_model *model, struct hd_progress *progress,
                  struct hd_hb_races *races, struct hd_error *error);
void hd_hb_races_free(struct hd_hb_races *races);

#endif
