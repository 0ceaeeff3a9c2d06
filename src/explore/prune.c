/* Which interleavings cannot happen (CTrigger, step 2): order synchronisation and mutual exclusion.
 * Recycled memory is no question here: freed and allocated again, it is another location. */
#include "explore/potential.h"

#define MOST_HELD 64

bool hd_prune_exclusion(const struct hd_model *model, uint32_t p, uint32_t c, uint32_t r) {
    uint32_t mine[MOST_HELD], theirs[MOST_HELD];
    uint32_t held = hd_model_held(model, c, mine, MOST_HELD);
    uint32_t others = hd_model_held(model, r, theirs, MOST_HELD);
    if (held > MOST_HELD) held = MOST_HELD;
    if (others > MOST_HELD) others = MOST_HELD;
    for (uint32_t i = 0; i < held; i++) {
        const struct hd_section *both = &model->section[mine[i]];
        if (both->acquire > p) continue; /* begins after P: not the one dynamic section of both */
        for (uint32_t k = 0; k < others; k++) {
            const struct hd_section *other = &model->section[theirs[k]];
            if (other->lock == both->lock && !(other->read_mode && both->read_mode)) return true;
        }
    }
    return false;
}

enum hd_pruned hd_prune_triple(const struct hd_model *model, const struct hd_clocks *clocks,
                               uint32_t p, uint32_t c, uint32_t r) {
    if (hd_clocks_before(clocks, r, p) || hd_clocks_before(clocks, c, r)) return HD_PRUNED_ORDER;
    return hd_prune_exclusion(model, p, c, r) ? HD_PRUNED_EXCLUSION : HD_PRUNED_NOT;
}

uint32_t hd_outermost_acquire(const struct hd_model *model, uint32_t event, uint32_t other,
                              uint32_t *release) {
    uint32_t section[MOST_HELD];
    uint32_t held = hd_model_held(model, event, section, MOST_HELD);
    *release = HD_NONE;
    if (held > MOST_HELD) held = MOST_HELD;
    uint32_t found = HD_NONE;
    for (uint32_t i = 0; i < held; i++) { /* innermost first */
        const struct hd_section *s = &model->section[section[i]];
        bool contains =
            other != HD_NONE && s->acquire < other && (s->release == HD_NONE || s->release > other);
        if (contains) continue;
        found = s->acquire;
        *release = s->release;
    }
    return found;
}
