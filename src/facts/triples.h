/* Triples of accesses that may break atomicity (ALGORITHMS section 2, OA): i and k are consecutive
 * accesses of one thread to a location, j is another thread's access to it, no serial order of the
 * three does the same as i j k, and neither must-order (j before i, or k before j) nor a common
 * section (i and k inside one section of a lock, j inside another of it, in conflicting modes)
 * forbids j between i and k. Grouped by the three sites and the pattern.
 *
 * Triples of events are never listed: their number is quadratic. Consecutive pairs of one location,
 * thread and two sites are one list, accesses of one location, thread and site another, and a group
 * has pairs of such lists ("bundles"). Within a bundle, the accesses j that must-order leaves open
 * for a pair are a run, and the runs of later pairs only move forward.
 *
 * A free makes no triple: an access after it is a use after free, which is found as such. */
#ifndef HEDDLE_FACTS_TRIPLES_H
#define HEDDLE_FACTS_TRIPLES_H

#include "facts/clocks.h"
#include "facts/triple_lists.h"

struct hd_triple {
    uint32_t first, remote, second; /* i, j, k */
    uint32_t location;
};

/* Two lists with at least one triple. There may be millions. */
struct hd_triple_bundle {
    uint32_t pairs, remotes; /* lists */
};

struct hd_triple_group {
    uint32_t site[3]; /* i, j, k */
    enum hd_pattern pattern;
    uint32_t start, count; /* of hd_triples.bundle */
};

struct hd_triples {
    const struct hd_model *model;
    const struct hd_segments *segments;
    const struct hd_clocks *clocks; /* of must-order */
    struct hd_triple_lists lists;
    HD_VECTOR(struct hd_triple_bundle) bundle; /* by group, within it by location */
    HD_VECTOR(struct hd_triple_group) group;
    /* Of variables with too many groups (hd_analysis.most_candidates), those that are not here: a
     * bound, triples of sites that nothing tells from candidates. */
    uint64_t left;
};

/* Segments and locks are those of CDSR. */
const struct hd_triples *hd_triples(struct hd_analysis *analysis, bool all_patterns);

/* The triple of a bundle with the earliest pair. */
struct hd_triple hd_bundle_first(const struct hd_triples *triples, uint32_t bundle);

/* The lists of a bundle, at hand. */
struct hd_bundle_lists {
    const struct hd_local_pair *pair;
    const uint32_t *remote;
    uint32_t pairs, remotes, location;
    const struct hd_pair_list *pair_list;
    const struct hd_remote_list *remote_list;
};
struct hd_bundle_lists hd_bundle_lists(const struct hd_triples *triples, uint32_t bundle);

/* What can keep j from being between i and k, as far as orders go: `before_first` that j is before
 * i in any case, `before_remote` that k is before j. Both monotone: they hold for everything before
 * the earlier and after the later one too. */
struct hd_triple_limits {
    bool (*before_first)(const void *context, uint32_t remote, uint32_t first);
    bool (*before_remote)(const void *context, uint32_t second, uint32_t remote);
    const void *context;
};
/* Those of the candidates: must-order. The context is the triples. */
struct hd_triple_limits hd_must_limits(const struct hd_triples *triples);

/* The run of a bundle's remote accesses that the limits leave to one of its pairs: from `from` up
 * to before `to`, which are those of an earlier pair (or 0) before and only move forward. */
void hd_triple_window(const struct hd_triple_limits *limits, const struct hd_bundle_lists *lists,
                      uint32_t pair, uint32_t *from, uint32_t *to);

/* Triples of events in a group, each at every location that it is found at. */
uint64_t hd_triples_instances(const struct hd_triples *triples, uint32_t group);

/* The triple of a group that the trace itself has (i < j < k), the one that ends first; false if
 * there is none. */
bool hd_triples_observed(const struct hd_triples *triples, uint32_t group,
                         struct hd_triple *triple);

#endif
