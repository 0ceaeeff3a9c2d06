/* Two threads and two variables that belong together: what may go wrong, and where.
 *
 * A quad is a pair of one thread (first, second: correlated_pairs.h) and a pair of another thread
 * to the same two locations, such that the interleaving of Fig. 5.4 is not serializable in which
 * the other thread accesses the first one's location (`inner`) after `first`, and its `other`
 * location before `second`. Quads that must-order (or a read's write) or a common critical section
 * rule out are not listed.
 *
 * With `remotes`, also every access of another thread to one of the two locations that conflicts
 * with the pair's own: the race detectors of the dissertation's section 5.4.1 ask about these.
 *
 * A group has what happens in the same functions to the same variables: one report. */
#ifndef HEDDLE_FACTS_CORRELATED_GROUPS_H
#define HEDDLE_FACTS_CORRELATED_GROUPS_H

#include "facts/clocks.h"
#include "facts/correlated_pairs.h"

struct hd_correlated_quad {
    uint32_t first, second; /* one thread */
    uint32_t inner, other;  /* the other: to the location of first, and to that of second */
    uint32_t location[2];
};

/* Accesses of one thread, site and sort to one location under the same locks, in trace order. */
struct hd_correlated_remotes {
    uint32_t start, count; /* of hd_correlated_groups.remote */
    uint32_t location, site, place, lockset;
    uint16_t thread;
    uint8_t does;
};

/* A list of pairs with accesses of another thread to the location of its first (0) or second (1).
 */
struct hd_correlated_bundle {
    uint32_t group, pairs, remotes;
    uint32_t at;
};

struct hd_correlated_group {
    uint32_t variable[2];  /* of first and second */
    uint32_t start, count; /* of `quad`: to be asked about, in this order */
    bool cut;              /* there are more quads than are listed */
    bool observed;         /* the run itself did the first one */
    uint64_t instances;    /* quads in all */
    uint32_t bundle_start, bundles;
};

struct hd_correlated_groups {
    const struct hd_model *model;
    struct hd_correlated_pairs pairs;
    const struct hd_clocks *forks;
    HD_VECTOR(struct hd_correlated_quad) quad;
    HD_VECTOR(struct hd_correlated_group) group;
    HD_VECTOR(uint32_t) remote;
    HD_VECTOR(struct hd_correlated_remotes) remotes; /* by location */
    HD_VECTOR(struct hd_correlated_bundle) bundle;   /* by group */
};

struct hd_correlated_wanted {
    const struct hd_correlated_rules *rules;
    enum hd_reading reading;
    bool relaxed; /* quads that are possible only if some reads see other writes are listed too */
    bool remotes;
};
void hd_correlated_groups_find(struct hd_analysis *analysis,
                               const struct hd_correlated_wanted *wanted,
                               struct hd_correlated_groups *groups);
void hd_correlated_groups_free(struct hd_correlated_groups *groups);

/* Of the other thread's two accesses, the later one. */
static inline uint32_t hd_quad_last(const struct hd_correlated_quad *quad) {
    return quad->inner > quad->other ? quad->inner : quad->other;
}

#endif
