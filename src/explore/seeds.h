/* Which schedules to record passing runs under, and when that is enough: a run that brings no new
 * site, no new pair of accesses of two threads that followed each other, and no new pair of a
 * write and a read of it, has nothing new to predict from. */
#ifndef HEDDLE_EXPLORE_SEEDS_H
#define HEDDLE_EXPLORE_SEEDS_H

#include "base/map.h"
#include "model/model.h"
#include "run/run.h"

/* The n-th control to record under, from 0: first without preemption, as regular as can be, then
 * random ones with turns of ever other lengths; not too short ones for a run of so many hook calls.
 * `seed` shifts the random ones. */
struct hd_steering hd_seed_steering(uint32_t n, uint64_t seed, uint64_t calls);

/* What runs have shown so far. A zeroed one has seen nothing. */
struct hd_seen {
    struct hd_map map;
    uint32_t sites, pairs, uses;
};

/* Adds what a run shows. False when memory is out; *news is how much was new. */
bool hd_seen_add(struct hd_seen *seen, const struct hd_model *model, uint32_t *news);
/* Accesses of two threads that follow each other on one location, and did so in no run that was
 * added; in the order in which they happened. */
struct hd_new_pair {
    uint32_t location, first, second; /* events */
};
/* Writes at most `room` of them and returns how many; HD_NONE when memory is out. */
uint32_t hd_seen_new_pairs(const struct hd_seen *seen, const struct hd_model *model,
                           struct hd_new_pair *pair, uint32_t room);
void hd_seen_free(struct hd_seen *seen);

#endif
