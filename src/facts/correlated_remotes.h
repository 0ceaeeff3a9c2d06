/* For correlated_groups.c: the number of a group, and the accesses of other threads to the
 * variables of a pair, whether or not these belong to a pair of their own. */
#ifndef HEDDLE_FACTS_CORRELATED_REMOTES_H
#define HEDDLE_FACTS_CORRELATED_REMOTES_H

#include "facts/correlated_groups.h"

struct hd_correlated_grouping {
    struct hd_map places, variables, both, number; /* two by two */
};

/* The group of a list's pairs and accesses in a function; made if it is new. */
uint32_t hd_correlated_group_of(struct hd_correlated_grouping *grouping,
                                struct hd_correlated_groups *groups,
                                const struct hd_correlated_list *local, uint32_t place);
void hd_correlated_grouping_free(struct hd_correlated_grouping *grouping);

/* Fills remote, remotes and bundle, and adds the groups that are new. */
void hd_correlated_remotes_find(struct hd_correlated_grouping *grouping,
                                struct hd_describe *describe, struct hd_correlated_groups *groups);

#endif
