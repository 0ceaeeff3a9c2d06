/* Builds and frees what all engines of a model share, and the index of sections by lock and thread.
 */
#include "engine/ground.h"

#include <stdlib.h>
#include <string.h>

/* Sections sorted by lock, then thread, then acquire: the model has them by lock and acquire, so
 * one stable pass by thread within each lock is enough. */
static bool index_locks(struct hd_ground *ground) {
    const struct hd_model *model = ground->model;
    size_t sections = model->sections + (size_t)1;
    ground->use_first = calloc(model->locks + (size_t)1, sizeof *ground->use_first);
    ground->contended = calloc(model->locks + (size_t)1, sizeof *ground->contended);
    ground->use = malloc(sections * sizeof *ground->use);
    ground->use_section = malloc(sections * sizeof *ground->use_section);
    ground->use_writer = malloc(sections * sizeof *ground->use_writer);
    /* per thread: its entry of `use` for the lock at hand */
    uint32_t *entry = malloc((model->threads + (size_t)1) * sizeof *entry);
    if (ground->use_first == NULL || ground->contended == NULL || ground->use == NULL ||
        ground->use_section == NULL || ground->use_writer == NULL || entry == NULL) {
        free(entry);
        return false;
    }
    memset(entry, 0xff, (model->threads + (size_t)1) * sizeof *entry);
    uint32_t uses = 0;
    for (uint32_t l = 0; l < model->locks; l++) {
        const uint32_t *list = model->lock_section + model->lock_start[l];
        uint32_t count = model->lock_start[l + 1] - model->lock_start[l], mine = uses;
        bool writes = false;
        ground->use_first[l] = uses;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t thread = model->section[list[i]].thread;
            writes |= !model->section[list[i]].read_mode;
            if (entry[thread] == HD_NONE) {
                entry[thread] = uses;
                ground->use[uses++] = (struct hd_lock_use){.thread = thread};
            }
            ground->use[entry[thread]].count++;
        }
        ground->contended[l] = writes && uses - mine > 1;
        for (uint32_t u = mine, at = model->lock_start[l]; u < uses; u++) {
            ground->use[u].first = at;
            at += ground->use[u].count;
            ground->use[u].count = 0;
        }
        for (uint32_t i = 0; i < count; i++) {
            const struct hd_section *section = &model->section[list[i]];
            struct hd_lock_use *use = &ground->use[entry[section->thread]];
            uint32_t at = use->first + use->count++;
            ground->use_section[at] = list[i];
            ground->use_writer[at] = !section->read_mode ? at
                                     : at == use->first  ? HD_NONE
                                                         : ground->use_writer[at - 1];
        }
        for (uint32_t u = mine; u < uses; u++) entry[ground->use[u].thread] = HD_NONE;
    }
    ground->use_first[model->locks] = uses;
    free(entry);
    return true;
}

struct hd_ground *hd_ground_build(const struct hd_model *model) {
    struct hd_ground *ground = calloc(1, sizeof *ground);
    if (ground == NULL) return NULL;
    ground->model = model;
    if (index_locks(ground) && hd_view_build(&ground->sync, ground, false) &&
        hd_view_build(&ground->full, ground, true) &&
        hd_reach_build(&ground->must, model, &ground->sync) &&
        hd_reach_build(&ground->kept, model, &ground->full))
        return ground;
    hd_ground_free(ground);
    return NULL;
}

void hd_ground_free(struct hd_ground *ground) {
    if (ground == NULL) return;
    hd_view_free(&ground->sync);
    hd_view_free(&ground->full);
    hd_reach_free(&ground->must);
    hd_reach_free(&ground->kept);
    free(ground->contended);
    free(ground->use_first);
    free(ground->use);
    free(ground->use_section);
    free(ground->use_writer);
    free(ground);
}
