/* Accesses of a thread that belong together by a rule: `first` is to one variable, `second`, after
 * it, to another. Both happen in one call of a function, or in calls that this function makes, and
 * in the order of the code: what another round of a loop or another call does is no part of it. Nor
 * is what comes after a wait for other threads. `first` is the thread's last access of its sort
 * (read, write or both) to its location before `second`, and `second` the first of its sort after
 * `first`. */
#ifndef HEDDLE_FACTS_CORRELATED_PAIRS_H
#define HEDDLE_FACTS_CORRELATED_PAIRS_H

#include "facts/correlated.h"
#include "facts/segments.h"

struct hd_correlated_pair {
    uint32_t first, second; /* events */
};

/* Pairs that are alike, in trace order. What has two parts is of `first` and of `second`. */
struct hd_correlated_list {
    uint32_t start, count; /* of hd_correlated_pairs.pair */
    uint32_t variable[2], location[2];
    uint32_t site[2];    /* numbers of hd_site_number */
    uint32_t place[2];   /* the functions; sites where these are not known */
    uint32_t lockset[2]; /* of the segments */
    uint32_t held;       /* locks of which one section has both */
    uint16_t thread;
    uint8_t does[2];
    bool fits; /* the modes are those of a rule; else only the variables are */
};

struct hd_correlated_pairs {
    const struct hd_model *model;
    struct hd_segments *segments;
    HD_VECTOR(struct hd_correlated_pair) pair;
    HD_VECTOR(struct hd_correlated_list) list; /* by their two locations, whatever their order */
    struct hd_map site, place;                 /* numbers */
};

void hd_correlated_pairs_find(struct hd_analysis *analysis, const struct hd_correlated_rules *rules,
                              enum hd_reading reading, struct hd_correlated_pairs *pairs);
void hd_correlated_pairs_free(struct hd_correlated_pairs *pairs);

/* The function that an event is in, as a number. */
uint32_t hd_correlated_place(struct hd_correlated_pairs *pairs, struct hd_describe *describe,
                             uint32_t event, uint32_t location);
/* The two locations of a list, the smaller one first, as one number. */
uint64_t hd_correlated_locations(const struct hd_correlated_list *list);

#endif
