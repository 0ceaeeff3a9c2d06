/* Builds and frees what all engines of a model share, and the index of sections by lock and thread.
 */
#include "engine/engine_base.h"

#include "base/alloc.h"

#ifdef HEDDLE_DEBUG
#include "engine/sane.h"
#include <assert.h>
#endif

#include <stdlib.h>
#include <string.h>

/* Sections sorted by lock, then thread, then acquire: the model has them by lock and acquire, so
 * one stable pass by thread within each lock is enough. */
static void index_locks(struct hd_engine_base *base) {
    const struct hd_model *model = base->model;
    size_t sections = model->sections + (size_t)1;
    base->use_first = hd_zalloc(model->locks + (size_t)1, sizeof *base->use_first);
    base->contended = hd_zalloc(model->locks + (size_t)1, sizeof *base->contended);
    base->use = hd_alloc(sections, sizeof *base->use);
    base->use_section = hd_alloc(sections, sizeof *base->use_section);
    base->use_writer = hd_alloc(sections, sizeof *base->use_writer);
    /* per thread: its entry of `use` for the lock at hand */
    uint32_t *entry = hd_alloc(model->threads + (size_t)1, sizeof *entry);
    memset(entry, 0xff, (model->threads + (size_t)1) * sizeof *entry);
    uint32_t uses = 0;
    for (uint32_t l = 0; l < model->locks; l++) {
        const uint32_t *list = model->lock_section + model->lock_start[l];
        uint32_t count = model->lock_start[l + 1] - model->lock_start[l], mine = uses;
        bool writes = false;
        base->use_first[l] = uses;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t thread = model->section[list[i]].thread;
            writes |= !model->section[list[i]].read_mode;
            if (entry[thread] == HD_NONE) {
                entry[thread] = uses;
                base->use[uses++] = (struct hd_lock_sections){.thread = thread};
            }
            base->use[entry[thread]].count++;
        }
        base->contended[l] = writes && uses - mine > 1;
        for (uint32_t u = mine, at = model->lock_start[l]; u < uses; u++) {
            base->use[u].first = at;
            at += base->use[u].count;
            base->use[u].count = 0;
        }
        for (uint32_t i = 0; i < count; i++) {
            const struct hd_section *section = &model->section[list[i]];
            struct hd_lock_sections *use = &base->use[entry[section->thread]];
            uint32_t at = use->first + use->count++;
            base->use_section[at] = list[i];
            base->use_writer[at] = !section->read_mode ? at
                                   : at == use->first  ? HD_NONE
                                                       : base->use_writer[at - 1];
        }
        for (uint32_t u = mine; u < uses; u++) entry[base->use[u].thread] = HD_NONE;
    }
    base->use_first[model->locks] = uses;
    free(entry);
}

struct hd_engine_base *hd_engine_base_build(const struct hd_model *model) {
    struct hd_engine_base *base = hd_zalloc(1, sizeof *base);
    base->model = model;
    index_locks(base);
    hd_view_build(&base->sync, base, false);
    hd_view_build(&base->full, base, true);
    hd_reach_build(&base->must, model, &base->sync);
    hd_reach_build(&base->kept, model, &base->full);
#ifdef HEDDLE_DEBUG
    assert(hd_engine_base_is_sane(base));
#endif
    return base;
}

void hd_engine_base_free(struct hd_engine_base *base) {
    if (base == NULL) return;
    hd_view_free(&base->sync);
    hd_view_free(&base->full);
    hd_reach_free(&base->must);
    hd_reach_free(&base->kept);
    free(base->contended);
    free(base->use_first);
    free(base->use);
    free(base->use_section);
    free(base->use_writer);
    free(base);
}

static void *build_fact(struct hd_analysis *analysis, unsigned variant) {
    (void)variant;
    return hd_engine_base_build(analysis->model);
}

static void free_fact(void *base) { hd_engine_base_free(base); }

const struct hd_engine_base *hd_engine_base(struct hd_analysis *analysis) {
    static const struct hd_fact_kind kind = {build_fact, free_fact, false};
    return hd_analysis_fact(analysis, &kind, 0);
}
