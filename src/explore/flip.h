/* A run's order with two of its events the other way round: what an experiment about the cause of a
 * failure runs. */
#ifndef HEDDLE_EXPLORE_FLIP_H
#define HEDDLE_EXPLORE_FLIP_H

#include "model/model.h"

/* Two events of a run that are to come the other way round: `first` came first. `waits` is held
 * back until `second` is done: `first`, or the acquire of a section that it is in. */
struct hd_flip {
    uint32_t first, second, waits;
};

/* The events of a run in its own order, but with all these flips; what cannot go on without an
 * event that waits, waits too: the rest of its thread, who wants a lock that it holds, who waits
 * for its signal. What reads see is not kept: the program decides what it does then. Events that
 * can never come are left out. Returns how many are in *order, which has room for all; 0 if one
 * `second` cannot be done: forks, joins, signals, barriers, locks or another flip forbid it. */
uint32_t hd_flip(const struct hd_model *model, const struct hd_flip *flip, uint32_t flips,
                 uint32_t *order);

#endif
