/* What a failing run did, set beside a run that passed; not for others than the hunt. */
#ifndef HEDDLE_EXPLORE_HUNT_ORDERS_H
#define HEDDLE_EXPLORE_HUNT_ORDERS_H

#include "explore/critical.h"
#include "explore/hunt_work.h"

struct hunt_failing {
    struct hd_model model;
    struct hd_describe *describe;
    uint64_t *count; /* hook calls, by event */
    bool there;
};

/* Nothing is there if the trace can't be read. */
void hunt_failing_load(struct hunt_failing *failing, const char *path);
void hunt_failing_free(struct hunt_failing *failing);

/* Is a finding's list of events the order in which it goes wrong? */
bool hunt_is_listed(const struct hd_finding *finding);
/* Good and bad order of a prediction's events. *holds becomes false if the failing run did not have
 * them, or not in the order that was predicted. */
void hunt_set_orders(struct hunt_work *work, const struct hunt_target *target,
                     const struct hunt_failing *failing, struct hd_finding_forced *forced,
                     struct hunt_order *order, bool *holds);
/* The same for the accesses that only the failing run has. */
void hunt_set_found_orders(struct hunt_work *work, const struct hd_critical *critical,
                           const struct hunt_failing *failing, struct hd_finding_forced *forced,
                           struct hunt_order *order);
bool hunt_same_orders(const struct hd_finding_forced *forced);
/* Does a failing run have the accesses in this order, and no recorded run that passed? */
bool hunt_order_tells(struct hunt_work *work, const struct hunt_order *order,
                      const struct hunt_failing *failing);

#endif
