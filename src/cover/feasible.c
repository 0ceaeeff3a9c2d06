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

/* Not if it is ordered after the read, if the read's own write must come after it, or if the write
 * that the read saw in this run must come between the two. */
bool hd_cover_sees(const struct hd_cover_orders *orders, const struct hd_cover_read *read,
                   uint32_t write) {
    const struct hd_clocks *clocks = orders->clocks;
    if (hd_clocks_before(clocks, read->read, write)) return false;
    if (read->seen != HD_NONE && read->seen != write &&
        hd_clocks_before(clocks, write, read->seen) &&
        hd_clocks_before(clocks, read->seen, read->read))
        return false;
    return read->own_write == HD_NONE ||
           hd_cover_between(orders, read->own_write, write, read->read);
}

/* Not if the write that it saw is another thread's and must come between. */
bool hd_cover_sees_local(const struct hd_cover_orders *orders, const struct hd_cover_read *read) {
    const struct hd_model *model = orders->model;
    if (read->seen == HD_NONE || model->thread[read->seen] == model->thread[read->read])
        return true;
    return !hd_clocks_before(orders->clocks, read->seen, read->read) ||
           (read->own_write != HD_NONE &&
            !hd_clocks_before(orders->clocks, read->own_write, read->seen));
}
