/* Orders between the events of a model, as vector clocks. Each leaves out more or less of what
 * keeps events in their order:
 * forks: forks and joins alone, which a lockset analysis knows;
 * must: everything that orders threads whatever the schedule (model/model.h, must-order);
 * kept: must-order and, if reads keep their writes, each read after the writes that it saw. That is
 * what has to be executed before an event can be. */
#ifndef HEDDLE_FACTS_CLOCKS_H
#define HEDDLE_FACTS_CLOCKS_H

#include "facts/analysis.h"
#include "facts/reading.h"

const struct hd_clocks *hd_fork_clocks(struct hd_analysis *analysis);
const struct hd_clocks *hd_must_clocks(struct hd_analysis *analysis);
const struct hd_clocks *hd_kept_clocks(struct hd_analysis *analysis, enum hd_reading reading);

#endif
