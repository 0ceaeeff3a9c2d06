/* What counts as the same memory: cells. Byte-exact they are the model's locations. With a coarser
 * granularity they are words of eight bytes or cache lines of 64, so that accesses to neighbours
 * meet too (false sharing). */
#ifndef HEDDLE_LEARN_CELLS_H
#define HEDDLE_LEARN_CELLS_H

#include "base/map.h"
#include "base/vector.h"
#include "model/model.h"

/* With model and granularity set and the rest zeroed, ready for questions. */
struct hd_cells {
    const struct hd_model *model;
    enum hd_granularity granularity;
    struct hd_map number; /* coarse: address divided by the size -> cell */
    HD_VECTOR(uint32_t) list;
    uint32_t count; /* cells are numbered below this; grows with the questions if coarse */
};

/* The cells that an access touches. */
uint32_t hd_cells_of(struct hd_cells *cells, uint32_t event, const uint32_t **list);
/* The cells that lose their history when memory is allocated or freed by this event; none of other
 * events. */
uint32_t hd_cells_reborn(struct hd_cells *cells, uint32_t event, const uint32_t **list);
void hd_cells_free(struct hd_cells *cells);

#endif
