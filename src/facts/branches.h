/* Branches that threads took between their events. A branch that comes after a read may have been
 * decided by what it read. */
#ifndef HEDDLE_FACTS_BRANCHES_H
#define HEDDLE_FACTS_BRANCHES_H

#include "facts/analysis.h"

enum hd_branch_source {
    HD_BRANCHES_RECORDED, /* as the trace has them; everywhere if it has none */
    HD_BRANCHES_NONE      /* the user says that there are none */
};

struct hd_branches {
    /* per event: 1 + how many branches its thread has taken when it comes to the event, saturating;
     * so two events of one thread have a branch between them if their numbers differ */
    uint32_t *before;
    bool known; /* the trace has them, or the user said so */
};

const struct hd_branches *hd_branches(struct hd_analysis *analysis, enum hd_branch_source source);

/* Does the thread of both take a branch after one event and before the other, which is later? */
static inline bool hd_branch_between(const struct hd_branches *branches, uint32_t earlier,
                                     uint32_t later) {
    return branches->before[earlier] != branches->before[later];
}

#endif
