/* What other threads need: see needs.h. */
#include "facts/needs.h"

static bool mark_writes(const struct hd_model *model, uint32_t read, struct hd_bitset *needed) {
    const uint32_t *write;
    uint32_t writes = hd_model_reads_from(model, read, &write);
    for (uint32_t i = 0; i < writes; i++)
        if (write[i] != HD_NONE && model->thread[write[i]] != model->thread[read] &&
            !hd_bitset_add(needed, write[i]))
            return false;
    return true;
}

bool hd_needs_mark(const struct hd_model *model, enum hd_reading reading,
                   struct hd_bitset *needed) {
    if (!hd_bitset_reserve(needed, model->events)) return false;
    for (uint32_t i = 0; i < model->edges; i++)
        if (!hd_bitset_add(needed, model->edge[i].from)) return false;
    for (uint32_t e = 0; e < model->events; e++) {
        if (model->kind[e] == HD_EV_TRY_FAILED) {
            uint32_t section = hd_model_failed_by(model, e);
            if (section != HD_NONE && !hd_bitset_add(needed, model->section[section].acquire))
                return false;
        } else if (reading != HD_CSR && hd_model_is_read(model, e) &&
                   !mark_writes(model, e, needed))
            return false;
    }
    return true;
}
