/* How well a rule fits a function that breaks it. The dissertation ranks by the rule alone: how
 * many functions keep it, and how many break it. This looks at how they keep it: at one object or
 * at two that have nothing to do with each other, by writing the second variable or by only reading
 * it, and whether the first one is written in the same way as here. */
#ifndef HEDDLE_MINE_EVIDENCE_H
#define HEDDLE_MINE_EVIDENCE_H

#include "finding/intent.h"
#include "mine/updates.h"

struct hd_source;

struct hd_evidence hd_evidence_find(const struct hd_source *source,
                                    const struct hd_access_sets *sets,
                                    const struct hd_correlation *rule, uint32_t function,
                                    uint32_t max_distance);

/* On the scale of finding/intent.h. */
struct hd_weighing hd_update_weigh(const struct hd_update *update,
                                   const struct hd_update_pair *pair,
                                   const struct hd_correlation *rule);

/* Finds the evidence of all updates, and puts the likeliest first. */
void hd_updates_rank(const struct hd_source *source, const struct hd_access_sets *sets,
                     const struct hd_correlations *correlations, uint32_t max_distance,
                     struct hd_updates *updates);

#endif
