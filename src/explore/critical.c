/* Finds the accesses that a failure depends on. See critical.h. */
#include "explore/critical.h"

#include "facts/clocks.h"

#include <string.h>

#define MOST_PAIRS 64u
#define MOST_READERS 16u /* of a value */

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
        enum hd_pattern pattern = hd_pattern_of_events(model, t[0], t[1], t[2]);
        if (pattern == HD_PATTERN_NONE) continue;
        *critical = (struct hd_critical){.event = {t[0], t[1], t[2]},
                                         .events = 3,
                                         .location = pair->location,
                                         .pattern = hd_pattern_name(pattern)};
        return true;
    }
    return false;
}

/* What must-order orders can't come the other way: it is no cause. */
static uint32_t drop_ordered(const struct hd_model *model, struct hd_new_pair *pair,
                             uint32_t pairs) {
    struct hd_analysis analysis = {.model = model};
    const struct hd_clocks *clocks = hd_must_clocks(&analysis);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < pairs; i++)
        if (hd_model_is_atomic(model, pair[i].first) ||
            !hd_clocks_before(clocks, pair[i].first, pair[i].second))
            pair[kept++] = pair[i];
    hd_analysis_free(&analysis);
    return kept;
}

static bool is_listed(const struct hd_critical *list, uint32_t count,
                      const struct hd_critical *critical) {
    for (uint32_t i = 0; i < count; i++)
        if (list[i].events == critical->events &&
            memcmp(list[i].event, critical->event, sizeof critical->event) == 0)
            return true;
    return false;
}

/* Pairs of neighbours are not all: between a read and a write that makes it stale there may be
 * other reads. Of each thread the last read since the write before counts. */
static uint32_t add_far_pairs(const struct hd_model *model, struct hd_new_pair *pair,
                              uint32_t pairs) {
    for (uint32_t l = 0; l < model->locations; l++) {
        uint32_t start = model->location_start[l], end = model->location_start[l + 1];
        if (!model->location[l].shared) continue;
        for (uint32_t i = start; i < end; i++) {
            uint32_t write = model->location_event[i], seen[MOST_READERS], readers = 0;
            if (!hd_model_is_write(model, write)) continue;
            for (uint32_t k = i; k-- > start && readers < MOST_READERS;) {
                uint32_t read = model->location_event[k], t = model->thread[read], n = 0;
                if (hd_model_is_write(model, read)) break;
                while (n < readers && seen[n] != t) n++;
                if (n < readers) continue;
                seen[readers++] = t;
                if (t == model->thread[write] || k + 1 == i) continue; /* its own; a neighbour */
                if (pairs == MOST_PAIRS) return pairs;
                pair[pairs++] = (struct hd_new_pair){l, read, write};
            }
        }
    }
    return pairs;
}

uint32_t hd_critical_find(const struct hd_history *passing, const struct hd_model *failing,
                          struct hd_critical *list, uint32_t room) {
    struct hd_new_pair pair[MOST_PAIRS];
    struct hd_critical critical = {0};
    uint32_t pairs = hd_history_new_pairs(passing, failing, pair, MOST_PAIRS), count = 0;
    if (passing->pairs == 0) pairs = add_far_pairs(failing, pair, pairs);
    pairs = drop_ordered(failing, pair, pairs);
    for (uint32_t i = 0; i < pairs && count < room; i++)
        if (is_triple(failing, &pair[i], &critical) && !is_listed(list, count, &critical))
            list[count++] = critical;
    for (uint32_t i = 0; i < pairs && count < room; i++)
        if (hd_model_is_write(failing, pair[i].first) || hd_model_is_write(failing, pair[i].second))
            list[count++] = (struct hd_critical){.event = {pair[i].first, pair[i].second},
                                                 .events = 2,
                                                 .location = pair[i].location};
    return count;
}

uint32_t hd_critical_tries(const struct hd_model *failing, struct hd_critical *list,
                           uint32_t room) {
    uint32_t count = 0;
    for (uint32_t e = 0; e < failing->events && count < room; e++) {
        uint32_t section = hd_model_failed_by(failing, e);
        if (section == HD_NONE) continue;
        list[count++] = (struct hd_critical){
            .event = {failing->section[section].acquire, e}, .events = 2, .location = HD_NONE};
    }
    return count;
}
