/* Interleaving coverage of an exploration: every traced run, forced or not, adds what it covered.
 */
#include "explore/explorer.h"

#include <stdio.h>
#include <string.h>

#define MOST_EVENTS 2000000u /* of a run that is looked at: more would take longer than the run */

void explore_cover(struct explorer *x, const struct hd_result *run) {
    struct hd_cover *cover = x->options->cover;
    struct hd_error ignored;
    struct hd_model model;
    struct hd_trace_options read = explore_reading(x);
    if (read.most_events > MOST_EVENTS) read.most_events = MOST_EVENTS;
    if (cover == NULL || run->trace_path[0] == '\0' ||
        !hd_model_load(run->trace_path, &read, &(struct hd_model_options){.lenient = true}, &model,
                       &ignored))
        return;
    struct hd_analysis analysis = {.model = &model, .describe = hd_describe_open(&model)};
    char name[64];
    snprintf(name, sizeof name, "run %zu", cover->run.size + 1);
    hd_cover_add(cover, &analysis, name, true);
    hd_analysis_free(&analysis);
    hd_describe_close(analysis.describe);
    hd_model_free(&model);
}

bool explore_is_covered(const struct explorer *x) {
    const struct hd_cover *cover = x->options->cover;
    if (!x->options->until_covered || cover == NULL || cover->run.size == 0) return false;
    for (unsigned c = HD_COVER_KEPT; c < HD_CRITERION_COUNT; c++) {
        if (c != HD_COVER_DEF_USE && c != HD_COVER_LR_INV) continue;
        struct hd_cover_count count = hd_cover_count(cover, c);
        if (count.covered + count.infeasible < count.properties) return false;
    }
    return true;
}

bool explore_is_target(const struct explorer *x, const struct hd_interleaving *it) {
    const struct hd_cover *targets = x->options->targets_cover;
    if (targets == NULL) return true;
    for (size_t i = 0; i < targets->kept[HD_COVER_PINV].list.size; i++) {
        const struct hd_property *p = &targets->kept[HD_COVER_PINV].list.data[i];
        if (p->runs > 0 || p->infeasible || !p->unserializable) continue;
        uint32_t part[] = {it->p, it->c, it->r};
        bool same = true;
        for (int k = 0; k < 3 && same; k++) {
            /* a candidate knows its lines, a property the columns and operations too */
            const char *where = hd_site(&x->profile.places, part[k])->where;
            const char *words = hd_cover_site(targets, p->site[k]);
            size_t length = strlen(where);
            same = length > 0 && strncmp(words, where, length) == 0 &&
                   (words[length] == ':' || words[length] == ' ');
        }
        if (same) return true;
    }
    return false;
}
