/* Finds the accesses that a failure turns on. See critical.h. */
#include "explore/critical.h"

#include <string.h>

#define MOST_PAIRS 64u

/* The unserializable interleavings (AVIO): local, remote, local. */
static const char *pattern_of(const struct hd_model *model, uint32_t first, uint32_t remote,
                              uint32_t second) {
    bool a = hd_model_is_write(model, first), r = hd_model_is_write(model, remote),
         b = hd_model_is_write(model, second);
    if (!a && r && !b) return "R-W-R";
    if (a && r && !b) return "W-W-R";
    if (a && !r && b) return "W-R-W";
    if (!a && r && b) return "R-W-W";
    return NULL;
}

/* The next access (or the one before) of a thread to a location, HD_NONE if there is none. */
static uint32_t access_beside(const struct hd_model *model, uint32_t location, uint32_t event,
                              uint32_t thread, bool after) {
    uint32_t found = HD_NONE;
    for (uint32_t i = model->location_start[location]; i < model->location_start[location + 1];
         i++) {
        uint32_t other = model->location_event[i];
        if (model->thread[other] != thread) continue;
        if (!after && other < event) found = other;
        if (after && other > event) return other;
    }
    return found;
}

static bool is_triple(const struct hd_model *model, const struct hd_new_pair *pair,
                      struct hd_critical *critical) {
    uint32_t before =
        access_beside(model, pair->location, pair->first, model->thread[pair->second], false);
    uint32_t after =
        access_beside(model, pair->location, pair->second, model->thread[pair->first], true);
    uint32_t triple[2][3] = {{before, pair->first, pair->second},
                             {pair->first, pair->second, after}};
    for (int i = 0; i < 2; i++) {
        const uint32_t *t = triple[i];
        if (t[0] == HD_NONE || t[2] == HD_NONE) continue;
        const char *pattern = pattern_of(model, t[0], t[1], t[2]);
        if (pattern == NULL) continue;
        memcpy(critical->event, t, sizeof triple[i]);
        *critical = (struct hd_critical){.event = {t[0], t[1], t[2]},
                                         .events = 3,
                                         .location = pair->location,
                                         .pattern = pattern};
        return true;
    }
    return false;
}

bool hd_critical_find(const struct hd_seen *passing, const struct hd_model *failing,
                      struct hd_critical *critical) {
    struct hd_new_pair pair[MOST_PAIRS];
    memset(critical, 0, sizeof *critical);
    uint32_t pairs = hd_seen_new_pairs(passing, failing, pair, MOST_PAIRS);
    if (pairs == HD_NONE) return false;
    for (uint32_t i = 0; i < pairs; i++)
        if (is_triple(failing, &pair[i], critical)) return true;
    for (uint32_t i = 0; i < pairs; i++) {
        if (!hd_model_is_write(failing, pair[i].first) &&
            !hd_model_is_write(failing, pair[i].second))
            continue;
        *critical = (struct hd_critical){
            .event = {pair[i].first, pair[i].second}, .events = 2, .location = pair[i].location};
        return true;
    }
    return true;
}
