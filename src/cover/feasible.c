/* What can't happen, as far as must-order and critical sections tell (CTrigger's pruning, section
 * 7.4.2): sound, not complete. What is left may still be impossible. */
#include "cover/cover.h"

#include <string.h>

#define DEEPEST 64u /* nested sections that are looked at */

/* Are a and b inside one section of a lock of which other is inside another, in conflicting
 * modes? Then nothing of the other section comes between a and b. */
static bool excluded(const struct hd_model *model, uint32_t a, uint32_t b, uint32_t other) {
    uint32_t mine[DEEPEST], its[DEEPEST];
    uint32_t held = hd_model_held(model, b, mine, DEEPEST);
    uint32_t others = held > 0 ? hd_model_held(model, other, its, DEEPEST) : 0;
    for (uint32_t i = 0; i < held && i < DEEPEST; i++) {
        const struct hd_section *section = &model->section[mine[i]];
        if (section->acquire > a) continue; /* it began after a */
        for (uint32_t k = 0; k < others && k < DEEPEST; k++) {
            const struct hd_section *theirs = &model->section[its[k]];
            if (theirs->lock == section->lock && !(theirs->read_mode && section->read_mode))
                return true;
        }
    }
    return false;
}

bool hd_cover_between(const struct hd_cover_orders *orders, uint32_t i, uint32_t j, uint32_t k) {
    return !hd_clocks_before(orders->clocks, j, i) && !hd_clocks_before(orders->clocks, k, j) &&
           !excluded(orders->model, i, k, j);
}

/* The read's own write before it (if any) must not come after the other thread's. */
bool hd_cover_sees(const struct hd_cover_orders *orders, uint32_t write, uint32_t read,
                   uint32_t own_write) {
    if (hd_clocks_before(orders->clocks, read, write)) return false;
    return own_write == HD_NONE || hd_cover_between(orders, own_write, write, read);
}
