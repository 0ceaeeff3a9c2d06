/* The accesses of a location as material for triples i, j, k: pairs of consecutive accesses of one
 * thread (i and k), and accesses that may be another thread's between them (j). Alike ones are one
 * list, so that what follows looks at a few lists and not at every event. */
#ifndef HEDDLE_FACTS_TRIPLE_LISTS_H
#define HEDDLE_FACTS_TRIPLE_LISTS_H

#include "facts/guards.h"
#include "facts/patterns.h"
#include "facts/scratch_table.h"
#include "facts/segments.h"

/* Consecutive accesses. */
struct hd_local_pair {
    uint32_t first, second;
};

/* Pairs of one location, thread, two sites and what they do, inside the same sections of the same
 * locks; in trace order. */
struct hd_pair_list {
    uint32_t start, count; /* of hd_triple_lists.pair */
    uint32_t location;
    uint32_t site[2];
    uint32_t held; /* locks of which one section has both: a set of the segments' locksets */
    uint16_t thread;
    uint8_t does[2];
};

/* Accesses of one location, thread and site, all or some of them, in trace order. */
struct hd_remote_list {
    uint32_t start, count; /* of hd_triple_lists.remote */
    uint32_t site;
    uint16_t thread;
    uint8_t does;
    bool frees;
};

struct hd_triple_lists {
    HD_VECTOR(struct hd_local_pair) pair;
    HD_VECTOR(uint32_t) remote;
    HD_VECTOR(struct hd_pair_list) pairs;
    HD_VECTOR(struct hd_remote_list) remotes;
};
void hd_triple_lists_free(struct hd_triple_lists *lists);

#define HD_NO_SITE UINT32_MAX

/* What is needed to make lists. Set the first part; the rest is zeroed. */
struct hd_lister {
    const struct hd_model *model;
    struct hd_segments *segments;
    struct hd_triple_lists *lists; /* that are added to */
    /* The number of a site; an access with HD_NO_SITE is in no list and parts a pair. */
    uint32_t (*site)(void *context, uint32_t event, uint32_t location);
    void *context;
    bool guarded; /* also pairs that a lock guards, whose triples are all impossible */
    bool frees;   /* a free is listed as a remote write; else it is in no list */

    uint32_t location;                   /* the latest */
    uint32_t first_pairs, first_remotes; /* its lists */
    struct {
        uint32_t round, index; /* the thread's last access of the location */
    } * last;                  /* per thread */
    uint32_t round;
    struct hd_scratch_table pair_table, remote_table;
    HD_VECTOR(struct hd_local_pair) pair; /* in the order of the second */
    HD_VECTOR(uint32_t) pair_list;        /* of each of them */
    HD_VECTOR(uint32_t) remote_list;      /* of each access, HD_NONE */
    HD_VECTOR(uint32_t) number;           /* site of each access */
    struct hd_lock_room room;
    uint32_t guard[HD_MOST_GUARDS], guards;
};

/* Adds the lists of a location. False if it has no pair: then nothing is added. */
bool hd_lister_add(struct hd_lister *lister, uint32_t location);
void hd_lister_free(struct hd_lister *lister);

#endif
