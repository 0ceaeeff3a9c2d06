/* The steps of MUVI one after the other, and the correlations as a file. */
#include "mine/mine.h"

#include "base/alloc.h"
#include "mine/evidence.h"
#include "source/source.h"

#include <stdio.h>
#include <string.h>

static bool *special_functions(const struct hd_source *source, const struct hd_access_sets *sets) {
    bool *special = hd_zalloc((size_t)sets->functions + 1, sizeof *special);
    for (uint32_t f = 0; f < sets->functions; f++) {
        uint32_t name = source->function.data[sets->function.data[f]].name;
        special[f] = hd_mine_special_name(hd_source_text(source, name));
    }
    return special;
}

void hd_mine_run(const struct hd_source *source, const struct hd_mine_options *options,
                 struct hd_mine *mine) {
    *mine = (struct hd_mine){.source = source, .options = *options};
    hd_access_sets_build(source, &mine->sets);
    hd_mine_names_make(source, &mine->sets, &mine->names);
    hd_correlate(&mine->sets, options, &mine->correlations);
    bool *special = special_functions(source, &mine->sets);
    hd_updates_find(&mine->sets, &mine->correlations, special, &mine->updates);
    hd_updates_rank(source, &mine->sets, &mine->correlations, options->max_distance,
                    &mine->updates);
    free(special);
}

void hd_mine_free(struct hd_mine *mine) {
    hd_updates_free(&mine->updates);
    hd_correlations_free(&mine->correlations);
    hd_mine_names_free(&mine->names);
    hd_access_sets_free(&mine->sets);
}

static const char *about(const struct hd_mine *mine, struct hd_arena *arena) {
    const struct hd_mine_options *options = &mine->options;
    char text[512];
    snprintf(text, sizeof text,
             "Variables that belong together, best first: made by heddle mine, to be read and "
             "edited.\n"
             "A1 X => A2 Y : functions with both less than %u lines apart, of those with A1 X\n"
             "least support %u, directly %u, least confidence %.2f; variables of more than %u "
             "functions are left out",
             options->max_distance, options->min_support, options->min_direct,
             options->min_confidence, hd_mine_max_functions(options, mine->sets.functions));
    return hd_arena_copy(arena, text, strlen(text));
}

void hd_mine_corr(const struct hd_mine *mine, struct hd_corr_file *file) {
    *file = (struct hd_corr_file){.about = NULL};
    file->about = about(mine, &file->arena);
    for (size_t i = 0; i < mine->correlations.list.size; i++) {
        const struct hd_correlation *from = &mine->correlations.list.data[i];
        struct hd_corr_rule rule = {from->a1,
                                    from->a2,
                                    mine->names.name[from->x],
                                    mine->names.name[from->y],
                                    from->support,
                                    from->functions,
                                    from->direct};
        hd_vector_push(&file->rule, rule);
    }
    for (size_t i = 0; i < mine->correlations.set.size; i++) {
        const struct hd_correlated_set *from = &mine->correlations.set.data[i];
        struct hd_corr_set set = {from->mode, (uint32_t)file->member.size, from->count,
                                  from->support, from->functions};
        for (uint32_t k = 0; k < from->count; k++)
            hd_vector_push(&file->member,
                           mine->names.name[mine->correlations.member.data[from->first + k]]);
        hd_vector_push(&file->set, set);
    }
}
