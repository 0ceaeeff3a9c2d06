/* Orders on the events of a trace that a race must escape: happens-before and causally-precedes.
 * Computed by passes over the whole trace; kept for the events that are asked about. */
#ifndef HEDDLE_PREDICT_ORDER_H
#define HEDDLE_PREDICT_ORDER_H

#include "base/bitset.h"
#include "engine/engine.h"

enum hd_order_type {
    HD_ORDER_HB, /* program order, must-order, every release before every later acquire */
    HD_ORDER_CP  /* causally-precedes [Smaragdakis et al., POPL 2012], and must-order */
};

struct hd_order;
/* `asked`: the events that hd_order_before will be asked about. */
struct hd_order *hd_order_build(const struct hd_model *model, enum hd_order_type type,
                                const struct hd_bitset *asked, struct hd_error *error);
void hd_order_free(struct hd_order *order);
/* Is a, the earlier one in the trace, ordered before b? */
bool hd_order_before(const struct hd_order *order, uint32_t a, uint32_t b);

#endif
