/* Events that something of another thread cannot do without: sources of must-order, writes that
 * another thread reads, acquires of sections that made another thread's try fail. A thread that
 * stops before some of its own events that nobody needs hinders nobody (see segments.h). */
#ifndef HEDDLE_FACTS_NEEDS_H
#define HEDDLE_FACTS_NEEDS_H

#include "base/bitset.h"
#include "facts/reading.h"
#include "model/model.h"

/* Adds them to an empty set; false when memory is out. */
bool hd_needs_mark(const struct hd_model *model, enum hd_reading reading, struct hd_bitset *needed);

#endif
