/* Facts checked by slower, simpler means: by definition, by search, by listing everything. Debug
 * builds check every fact of a model that is small enough as soon as it is found; release builds
 * have none of this. */
#ifndef HEDDLE_FACTS_SANE_H
#define HEDDLE_FACTS_SANE_H

#ifdef HEDDLE_DEBUG

#include "facts/conflicts.h"
#include "facts/triples.h"

/* An assertion fails if a fact is wrong. Large models pass unseen. */
void hd_check_clocks(const struct hd_model *model, const struct hd_clocks *clocks);
void hd_check_segments(struct hd_analysis *analysis, const struct hd_segments *segments,
                       enum hd_reading reading);
void hd_check_conflicts(const struct hd_conflicts *conflicts);
void hd_check_triples(const struct hd_triples *triples, bool all_patterns);

#endif
#endif
