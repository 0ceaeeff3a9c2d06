/* See reversible.h. */
#include "facts/reversible.h"

#include "base/alloc.h"
#include "base/search.h"
#include "base/vector.h"
#include "facts/waits.h"

#include <string.h>

/* What a thread did last at the location at hand. */
struct latest {
    uint32_t location, event;
};

static bool look_at_location(const struct hd_model *model, uint32_t location, uint32_t ahead,
                             struct latest *latest, hd_reversible_found found, void *context) {
    uint32_t end = model->location_start[location + 1];
    for (uint32_t i = model->location_start[location]; i < end; i++) {
        struct hd_reversible pair = {.first = model->location_event[i],
                                     .about = location,
                                     .before = HD_NONE,
                                     .wait = HD_NONE};
        uint32_t thread = model->thread[pair.first];
        if (latest[thread].location == location) pair.before = latest[thread].event;
        latest[thread] = (struct latest){location, pair.first};
        bool writes = hd_model_is_write(model, pair.first);
        for (uint32_t k = i + 1; k < end && k - i < ahead; k++) {
            pair.second = model->location_event[k];
            if (model->thread[pair.second] == thread ||
                (!writes && !hd_model_is_write(model, pair.second)))
                continue;
            if (!found(context, &pair)) return false;
        }
    }
    return true;
}

void hd_reversible_accesses(const struct hd_model *model, uint32_t ahead, hd_reversible_found found,
                            void *context) {
    struct latest *latest = hd_alloc(model->threads, sizeof *latest);
    bool more = true;
    for (uint32_t t = 0; t < model->threads; t++) latest[t].location = HD_NONE;
    for (uint32_t l = 0; more && l < model->locations; l++)
        if (model->location[l].shared)
            more = look_at_location(model, l, ahead, latest, found, context);
    free(latest);
}

void hd_reversible_waits(const struct hd_model *model, uint32_t most, hd_reversible_found found,
                         void *context) {
    HD_VECTOR(uint32_t) signal = {0};
    bool more = true;
    for (uint32_t e = 0; e < model->events; e++)
        if (model->kind[e] == HD_EV_SIGNAL || model->kind[e] == HD_EV_BROADCAST)
            hd_vector_push(&signal, e);
    for (uint32_t wait = 0; more && wait < model->events; wait++) {
        if (model->kind[wait] != HD_EV_WAIT) continue;
        struct hd_reversible pair = {.first = hd_wait_begins(model, wait),
                                     .about = model->object[wait],
                                     .before = HD_NONE,
                                     .wait = wait};
        if (pair.first == HD_NONE) continue;
        uint32_t found_signals = 0,
                 i = hd_lower_bound(signal.data, (uint32_t)signal.size, pair.first);
        for (; more && i < signal.size && found_signals < most; i++) {
            pair.second = signal.data[i];
            if (model->object[pair.second] != pair.about ||
                model->thread[pair.second] == model->thread[wait])
                continue;
            found_signals++;
            more = found(context, &pair);
        }
    }
    hd_vector_free(&signal);
}

void hd_reversible_sections(const struct hd_model *model, uint32_t ahead, hd_reversible_found found,
                            void *context) {
    struct hd_reversible pair = {.before = HD_NONE, .wait = HD_NONE};
    for (; pair.about < model->locks; pair.about++) {
        uint32_t end = model->lock_start[pair.about + 1];
        for (uint32_t i = model->lock_start[pair.about]; i < end; i++) {
            const struct hd_section *first = &model->section[model->lock_section[i]];
            pair.first = first->acquire;
            for (uint32_t k = i + 1; k < end && k - i < ahead; k++) {
                const struct hd_section *second = &model->section[model->lock_section[k]];
                if (first->thread == second->thread || (first->read_mode && second->read_mode))
                    continue;
                pair.second = second->acquire;
                if (!found(context, &pair)) return;
            }
        }
    }
}
