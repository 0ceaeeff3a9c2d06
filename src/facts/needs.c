/* What other threads need: see needs.h. */
#include "facts/needs.h"

#include "base/alloc.h"

static void add_writes(const struct hd_model *model, uint32_t read, struct hd_bitset *needed) {
    const uint32_t *write;
    uint32_t writes = hd_model_reads_from(model, read, &write);
    for (uint32_t i = 0; i < writes; i++)
        if (write[i] != HD_NONE && model->thread[write[i]] != model->thread[read])
            hd_bitset_add(needed, write[i]);
}

static void *build(struct hd_analysis *analysis, unsigned reading) {
    const struct hd_model *model = analysis->model;
    struct hd_bitset *needed = hd_zalloc(1, sizeof *needed);
    hd_bitset_reserve(needed, model->events);
    for (uint32_t i = 0; i < model->edges; i++) hd_bitset_add(needed, model->edge[i].from);
    for (uint32_t e = 0; e < model->events; e++) {
        if (model->kind[e] == HD_EV_TRY_FAILED) {
            uint32_t section = hd_model_failed_by(model, e);
            if (section != HD_NONE) hd_bitset_add(needed, model->section[section].acquire);
        } else if (reading != HD_CSR && hd_model_is_read(model, e))
            add_writes(model, e, needed);
    }
    return needed;
}

static void free_needed(void *fact) {
    hd_bitset_free(fact);
    free(fact);
}

static const struct hd_fact_kind kind = {build, free_needed, false};

const struct hd_bitset *hd_needed(struct hd_analysis *analysis, enum hd_reading reading) {
    return hd_analysis_fact(analysis, &kind, reading == HD_CSR ? HD_CSR : HD_CDSR);
}
