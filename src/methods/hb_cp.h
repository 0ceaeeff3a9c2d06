/* Clocks of happens-before and causally-precedes, which a race must escape. Computed by passes over
 * the whole trace; kept for the events that are asked about. */
#ifndef HEDDLE_METHODS_HB_CP_H
#define HEDDLE_METHODS_HB_CP_H

#include "base/bitset.h"
#include "model/model.h"

enum hd_hb_cp_type {
    HD_CLOCKS_HB, /* program order, must-order, every release before every later acquire */
    HD_CLOCKS_CP  /* causally-precedes [Smaragdakis et al., POPL 2012], and must-order */
};

struct hd_hb_cp;
/* `asked`: the events that hd_hb_cp_before will be asked about. */
struct hd_hb_cp *hd_hb_cp_build(const struct hd_model *model, enum hd_hb_cp_type type,
                                const struct hd_bitset *asked);
void hd_hb_cp_free(struct hd_hb_cp *clocks);
/* Is a, the earlier one in the trace, ordered before b? */
bool hd_hb_cp_before(const struct hd_hb_cp *clocks, uint32_t a, uint32_t b);

#endif
