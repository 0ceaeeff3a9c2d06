/* Where a critical section around an access begins. */
#include "explore/potential.h"

#define MOST_HELD 64

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
