/* Where a wait for a condition variable begins. A wait is an event when it is over; it begins when
 * its lock is released, which is an event of its own. What a signal must not come before is that
 * release. */
#ifndef HEDDLE_FACTS_WAITS_H
#define HEDDLE_FACTS_WAITS_H

#include "model/model.h"

/* The release that begins a wait; HD_NONE if the trace does not have it. A recording marks it, and
 * a signal handler may have run in between. In a text trace it is the event of the thread right
 * before the wait. */
uint32_t hd_wait_begins(const struct hd_model *model, uint32_t wait);
/* The wait (or wait that timed out) that a release begins; HD_NONE if it begins none. */
uint32_t hd_wait_begun_by(const struct hd_model *model, uint32_t release);

/* Is an event the end of a wait for other threads, other than for a lock? */
bool hd_waits_for_others(const struct hd_model *model, uint32_t event);

#endif
