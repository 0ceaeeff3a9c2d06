/* Events that something of another thread cannot do without: sources of must-order, writes that
 * another thread reads, acquires of sections that made another thread's try fail. A thread that
 * stops before some of its own events that nobody needs hinders nobody (see segments.h). */
#ifndef HEDDLE_FACTS_NEEDS_H
#define HEDDLE_FACTS_NEEDS_H

#include "base/bitset.h"
#include "facts/analysis.h"
#include "facts/reading.h"

/* `reading` tells whether a write that another thread reads is something that thread needs. */
const struct hd_bitset *hd_needed(struct hd_analysis *analysis, enum hd_reading reading);

#endif
