/* Learning invariants from runs (Lu's dissertation, 4.3.2, Figure 4.6). Each run is noted access by
 * access: was it the second of a local pair, and was the pair violated? When the run has ended and
 * passed, its notes are counted; those of a run that failed are dropped. Learning is over when
 * nothing has changed for some runs. */
#ifndef HEDDLE_LEARN_LEARNER_H
#define HEDDLE_LEARN_LEARNER_H

#include "learn/detect.h"
#include "learn/invariants.h"

struct hd_learner_note {
    struct hd_place place;
    const char *with;
    bool violated;
};

/* What a run did to the set of invariants that hold. */
struct hd_learned {
    uint32_t added, removed; /* accesses that were not there before; invariants that broke */
};

/* With `invariants` set and the rest zeroed, ready for the first run. */
struct hd_learner {
    struct hd_invariants *invariants;
    uint32_t stable;        /* runs that passed since one changed something */
    struct hd_learned last; /* of the last run that passed */
    struct hd_arena arena;  /* of the notes of this run */
    HD_VECTOR(struct hd_learner_note) note;
    struct hd_map number; /* key -> note */
};

/* An access was executed in this run, and perhaps violated. Strings may go away afterwards. */
void hd_learner_note(struct hd_learner *learner, const struct hd_place *place, const char *with,
                     bool violated);
/* All that was detected in a trace. */
void hd_learner_note_trace(struct hd_learner *learner, const struct hd_model *model,
                           struct hd_describe *describe, const struct hd_detected *detected);
/* The run has ended. */
void hd_learner_end_run(struct hd_learner *learner, bool passed);
/* How many invariants hold. */
uint32_t hd_learner_holding(const struct hd_learner *learner);
void hd_learner_free(struct hd_learner *learner);

#endif
