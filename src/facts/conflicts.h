/* Pairs of accesses that might race: conflicting (one location, at least one write, not both
 * atomic), of different threads, under locks that do not exclude each other, not ordered by forks
 * and joins. That is what the paper takes from a lockset analysis and decides (its column r-p).
 * Grouped by pair of sites. Pairs of events are never listed: accesses of one location by one
 * thread at one site under the same locks are one list, a group has pairs of lists ("bundles"), and
 * whoever needs event pairs walks over two lists. Bundles are not kept either: a variable that many
 * threads access at many sites has thousands of times more of them than lists. They are made again
 * from the lists of a group's two sites when the group's turn comes. */
#ifndef HEDDLE_FACTS_CONFLICTS_H
#define HEDDLE_FACTS_CONFLICTS_H

#include "base/vector.h"
#include "facts/clocks.h"
#include "facts/segments.h"

/* Events of one thread at one site under one lock set that touch one location, in trace order. */
struct hd_access_list {
    uint32_t start, count; /* of hd_conflicts.event */
    uint32_t site;         /* number (hd_site_number), within these conflicts */
    uint32_t location, lockset;
    uint32_t extent; /* of hd_conflicts.extent */
    uint16_t thread;
    uint8_t mode; /* enum hd_access_mode */
};

/* A site with the locations that an access touches there: all accesses of an extent overlap all
 * accesses of another extent in the same locations. */
struct hd_access_extent {
    uint32_t site;
    uint32_t first; /* location; HD_NONE if it is the only one */
    uint32_t event; /* any event there */
};

enum hd_access_mode { HD_PLAIN_READ, HD_PLAIN_WRITE, HD_ATOMIC_READ, HD_ATOMIC_WRITE };
static inline enum hd_access_mode hd_access_mode(const struct hd_model *model, uint32_t event) {
    switch (model->kind[event]) {
    case HD_EV_READ:
        return HD_PLAIN_READ;
    case HD_EV_ATOMIC_READ:
        return HD_ATOMIC_READ;
    case HD_EV_ATOMIC_WRITE:
    case HD_EV_ATOMIC_UPDATE:
        return HD_ATOMIC_WRITE;
    default:
        return HD_PLAIN_WRITE;
    }
}
/* At least one writes, and at least one is not atomic. */
static inline bool hd_modes_race(enum hd_access_mode a, enum hd_access_mode b) {
    return ((a | b) & 1) != 0 && ((a & b) & 2) == 0;
}

/* Two lists with at least one pair that forks and joins do not order. */
struct hd_conflict_bundle {
    uint32_t location;
    uint32_t list[2];  /* of the group's first and second site */
    uint32_t event[2]; /* such a pair, the earliest */
};
struct hd_conflict_bundles {
    HD_VECTOR(struct hd_conflict_bundle) list;
};

struct hd_conflict_group {
    uint32_t site[2];
    struct hd_conflict_bundle first; /* the one with the earliest pair */
};

struct hd_conflicts {
    const struct hd_model *model;
    const struct hd_segments *segments;
    const struct hd_clocks *clocks, *fork_clocks; /* of must-order; of forks and joins */
    HD_VECTOR(uint32_t) event;
    HD_VECTOR(struct hd_access_list) list; /* by location */
    HD_VECTOR(struct hd_access_extent) extent;
    HD_VECTOR(struct hd_conflict_group) group;
    uint32_t *site_start, *site_list; /* the lists of a site, by location */
    /* Of variables with too many groups (hd_analysis.most_candidates), those that are not here: a
     * bound, pairs of sites that nothing tells from candidates. */
    uint64_t left;
};

/* `reading` is that of the segments. */
const struct hd_conflicts *hd_conflicts(struct hd_analysis *analysis, enum hd_reading reading);

/* The bundles of a group in place of what the vector has, the earliest first. */
void hd_conflicts_bundles(const struct hd_conflicts *conflicts, uint32_t group,
                          struct hd_conflict_bundles *bundles);

/* Event pairs of a group that forks and joins do not order. */
uint64_t hd_conflicts_instances(const struct hd_conflicts *conflicts, uint32_t group);

#endif
