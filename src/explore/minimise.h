/* Minimises a failing schedule: the fewest changes of thread that still give the same failure
 * (delta debugging over turns). It asks whoever can run the program, and knows nothing of programs
 * itself. */
#ifndef HEDDLE_EXPLORE_MINIMISE_H
#define HEDDLE_EXPLORE_MINIMISE_H

#include "run/schedule.h"

struct hd_minimise {
    /* Is this schedule followed, and does it give the failure that is looked for? */
    bool (*fails)(void *context, const struct hd_schedule *schedule);
    /* Asked before each question; true: take what there is. May be NULL. */
    bool (*enough)(void *context);
    void *context;
    uint32_t most; /* questions; 0: 400 */
    /* what came of it */
    uint32_t asked;
    uint32_t switches_before, switches_after;
};

/* Leaves the smallest failing schedule that was found in *schedule. What comes next at its end
 * (`then`) stays. */
void hd_minimise(struct hd_schedule *schedule, struct hd_minimise *how);

#endif
