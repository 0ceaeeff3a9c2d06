/* Guards of a location: locks that every access of it holds, for writing if it writes. A cheap look
 * that keeps well protected locations out of everything else. */
#ifndef HEDDLE_FACTS_GUARDS_H
#define HEDDLE_FACTS_GUARDS_H

#include "facts/segments.h"

#define HD_MOST_GUARDS 8 /* if there are more, some are left out */

/* The guards of a list of accesses; returns how many. */
uint32_t hd_find_guards(const struct hd_model *model, const struct hd_segments *segments,
                        const uint32_t *event, uint32_t count, uint32_t guard[HD_MOST_GUARDS]);

/* Room that a caller keeps between questions. Zeroed: none. */
struct hd_lock_room {
    HD_VECTOR(uint32_t) held;
    HD_VECTOR(uint32_t) section;
};
/* The locks of the sections that two accesses of a thread are both in: a set of the segments. */
uint32_t hd_common_locks(const struct hd_model *model, struct hd_segments *segments, uint32_t first,
                         uint32_t second, struct hd_lock_room *room);
void hd_lock_room_free(struct hd_lock_room *room);

#endif
