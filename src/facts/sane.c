/* Slow checks of facts: see sane.h. */
#include "facts/sane.h"

#ifdef HEDDLE_DEBUG

#include "facts/needs.h"

#include <assert.h>
#include <string.h>

enum { MOST_EVENTS = 256, MOST_HELD = 16 };

static bool is_small(const struct hd_model *model) { return model->events <= MOST_EVENTS; }

/* What is wrong is in the assertion's text. */
#define expect(good, what) assert((good) && (what))

/* ---- clocks: which events can be reached ----------------------------------------------------- */

void hd_check_clocks(const struct hd_model *model, const struct hd_clocks *clocks) {
    static _Thread_local bool before[MOST_EVENTS][MOST_EVENTS]; /* [b][a]: a is before b */
    uint32_t last[MOST_EVENTS], next = 0;
    if (!is_small(model) || model->threads > MOST_EVENTS) return;
    memset(before, 0, sizeof before);
    memset(last, 0xff, sizeof last);
    for (uint32_t e = 0; e < model->events; e++) {
        uint32_t own = last[model->thread[e]];
        for (uint32_t a = 0; own != HD_NONE && a < e; a++) before[e][a] |= before[own][a];
        if (own != HD_NONE) before[e][own] = true;
        for (; next < model->edges && model->edge[next].to == e; next++) {
            uint32_t from = model->edge[next].from;
            for (uint32_t a = 0; a < from; a++) before[e][a] |= before[from][a];
            before[e][from] = true;
        }
        last[model->thread[e]] = e;
    }
    for (uint32_t b = 0; b < model->events; b++)
        for (uint32_t a = 0; a < model->events; a++)
            if (a != b) expect(hd_clocks_before(clocks, a, b) == before[b][a], "clocks");
}

/* ---- sections ---------------------------------------------------------------------------------
 */

static uint32_t held_at(const struct hd_model *model, uint32_t event, uint32_t *section) {
    uint32_t count = hd_model_held(model, event, section, MOST_HELD);
    return count < MOST_HELD ? count : MOST_HELD;
}

/* Is there a lock around both a and b, in one section, or (b HD_NONE) around a, of which j holds
 * another section in a conflicting mode? */
static bool is_excluded(const struct hd_model *model, uint32_t a, uint32_t b, uint32_t j) {
    uint32_t mine[MOST_HELD], its[MOST_HELD];
    uint32_t count = held_at(model, a, mine), others = held_at(model, j, its);
    for (uint32_t i = 0; i < count; i++) {
        const struct hd_section *one = &model->section[mine[i]];
        if (b != HD_NONE && one->release != HD_NONE && one->release < b) continue;
        for (uint32_t k = 0; k < others; k++) {
            const struct hd_section *two = &model->section[its[k]];
            if (one->lock == two->lock && !(one->read_mode && two->read_mode)) return true;
        }
    }
    return false;
}

/* ---- segments: by definition ------------------------------------------------------------------
 */

static bool same_sections(const struct hd_model *model, uint32_t a, uint32_t b) {
    uint32_t one[MOST_HELD], two[MOST_HELD], count = held_at(model, a, one);
    return held_at(model, b, two) == count && memcmp(one, two, count * sizeof *one) == 0;
}

void hd_check_segments(struct hd_analysis *analysis, const struct hd_segments *segments,
                       enum hd_reading reading) {
    const struct hd_model *model = analysis->model;
    const struct hd_bitset *needed = hd_needed(analysis, reading);
    if (!is_small(model)) return;
    for (uint32_t a = 0; a < model->events; a++) {
        bool ended = false;
        uint32_t first = segments->segment.data[segments->of[a]].first;
        expect(first <= a && segments->of[first] == segments->of[a], "a segment's first");
        for (uint32_t b = a; b < model->events; b++) {
            if (model->thread[a] != model->thread[b]) {
                expect(segments->of[a] != segments->of[b], "a segment of two threads");
                continue;
            }
            if (segments->of[a] == segments->of[b]) {
                expect(!ended, "a segment goes beyond what others need");
                expect(same_sections(model, a, b), "a segment's sections");
            }
            ended |= hd_bitset_has(needed, b);
        }
    }
}

/* ---- conflicts and triples: by listing them ----------------------------------------------------
 */

static bool have_common_location(const struct hd_model *model, uint32_t a, uint32_t b) {
    const uint32_t *left, *right;
    uint32_t lefts = hd_model_locations(model, a, &left);
    uint32_t rights = hd_model_locations(model, b, &right);
    for (uint32_t i = 0; i < lefts; i++)
        for (uint32_t k = 0; k < rights; k++)
            if (left[i] == right[k] && model->location[left[i]].shared) return true;
    return false;
}

void hd_check_conflicts(const struct hd_conflicts *conflicts) {
    const struct hd_model *model = conflicts->model;
    uint64_t found = 0, listed = 0;
    if (!is_small(model)) return;
    for (uint32_t a = 0; a < model->events; a++)
        for (uint32_t b = a + 1; hd_model_is_access(model, a) && b < model->events; b++)
            listed += hd_model_is_access(model, b) && model->thread[a] != model->thread[b] &&
                      hd_modes_race(hd_access_mode(model, a), hd_access_mode(model, b)) &&
                      have_common_location(model, a, b) && !is_excluded(model, a, HD_NONE, b) &&
                      !hd_clocks_before(conflicts->fork_clocks, a, b);
    for (uint32_t g = 0; g < conflicts->group.size; g++)
        found += hd_conflicts_instances(conflicts, g);
    expect(found == listed, "conflicts");
}

/* The thread's next access to the location after the one at `at`; HD_NONE. */
static uint32_t next_own(const struct hd_model *model, uint32_t at, uint32_t end) {
    for (uint32_t i = at + 1; i < end; i++)
        if (model->thread[model->location_event[i]] == model->thread[model->location_event[at]])
            return model->location_event[i];
    return HD_NONE;
}

void hd_check_triples(const struct hd_triples *triples, bool all_patterns) {
    const struct hd_model *model = triples->model;
    uint64_t found[HD_PATTERN_COUNT] = {0}, listed[HD_PATTERN_COUNT] = {0};
    if (!is_small(model)) return;
    for (uint32_t l = 0; l < model->locations; l++) {
        uint32_t start = model->location_start[l], end = model->location_start[l + 1];
        for (uint32_t n = start; model->location[l].shared && n < end; n++) {
            uint32_t i = model->location_event[n], k = next_own(model, n, end);
            for (uint32_t m = start; k != HD_NONE && m < end; m++) {
                uint32_t j = model->location_event[m];
                if (model->thread[j] != model->thread[i] &&
                    !hd_clocks_before(triples->clocks, j, i) &&
                    !hd_clocks_before(triples->clocks, k, j) && !is_excluded(model, i, k, j))
                    listed[hd_pattern_of(hd_access_does(model, i), hd_access_does(model, j),
                                         hd_access_does(model, k), all_patterns)]++;
            }
        }
    }
    for (uint32_t g = 0; g < triples->group.size; g++)
        found[triples->group.data[g].pattern] += hd_triples_instances(triples, g);
    for (uint32_t p = HD_PATTERN_NONE + 1; p < HD_PATTERN_COUNT; p++)
        expect(found[p] == listed[p], "triples of a pattern");
}

#else
typedef int hd_nothing_to_check; /* a file must not be empty */
#endif
