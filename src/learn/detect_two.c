/* Detection over two variables: see detect_two.h. */
#include "learn/detect_two.h"

#include "base/alloc.h"
#include "facts/patterns.h"
#include "finding/words.h"
#include "learn/broken.h"

#include <stdlib.h>
#include <string.h>

/* A pair of accesses of one thread, and the list that it is of. */
struct unit {
    struct hd_correlated_pair pair;
    const struct hd_correlated_list *list;
};

struct detector {
    const struct hd_model *model;
    struct hd_correlated_pairs pairs;
    HD_VECTOR(struct unit) unit; /* of two locations, in the order of their second access */
    struct hd_map executed, group;
    HD_VECTOR(uint32_t) last;          /* of each violation: the latest A2 that was counted */
    HD_VECTOR(uint32_t) last_violated; /* of each executed pair */
    struct hd_detected_pairs *out;
};

static int by_end(const void *left, const void *right) {
    const struct unit *a = left, *b = right;
    if (a->pair.second != b->pair.second) return a->pair.second < b->pair.second ? -1 : 1;
    return a->pair.first < b->pair.first ? -1 : a->pair.first > b->pair.first;
}

static uint32_t code_of(const struct hd_correlated_list *list, unsigned which) {
    return list->site[which] * 4 + list->does[which];
}

static uint32_t executed(struct detector *d, const struct unit *unit) {
    const struct hd_correlated_list *list = unit->list;
    uint64_t key = (uint64_t)list->variable[0] << 32 | code_of(list, 1);
    uint32_t fresh = (uint32_t)d->out->executed.size;
    uint32_t index = *hd_map_slot(&d->executed, key, fresh);
    if (index == fresh) {
        struct hd_detected_pair pair = {unit->pair.first, unit->pair.second, list->variable[0], 0};
        hd_vector_push(&d->out->executed, pair);
        hd_vector_push(&d->last_violated, HD_NONE);
    }
    return index;
}

static unsigned writes_of(const struct hd_model *model, const uint32_t event[4]) {
    return ((hd_access_does(model, event[2]) & HD_DOES_WRITE) != 0) +
           ((hd_access_does(model, event[3]) & HD_DOES_WRITE) != 0);
}

/* One root cause is one report: the two accesses that belong together, and the case. Of the other
 * thread's pairs, one that writes says most. */
static void violated(struct detector *d, uint32_t index, const struct unit *one,
                     const uint32_t event[4], enum hd_two_case which) {
    uint64_t key = (uint64_t)code_of(one->list, 0) << 32 | code_of(one->list, 1);
    key = hd_mix64(hd_mix64(key) ^ ((uint64_t)index << 2 | (uint64_t)which));
    uint32_t fresh = (uint32_t)d->out->violation.size;
    uint32_t at = *hd_map_slot(&d->group, key, fresh);
    if (at == fresh) {
        struct hd_detected_two group = {
            .which = which,
            .pair = index,
            .variable = {one->list->variable[0], one->list->variable[1]}};
        memcpy(group.event, event, sizeof group.event);
        hd_vector_push(&d->out->violation, group);
        hd_vector_push(&d->last, HD_NONE);
    }
    struct hd_detected_two *group = &d->out->violation.data[at];
    if (group->event[1] == event[1] &&
        writes_of(d->model, event) > writes_of(d->model, group->event))
        memcpy(group->event, event, sizeof group->event);
    if (d->last.data[at] == event[1]) return;
    d->last.data[at] = event[1];
    group->instances++;
    if (d->last_violated.data[index] != event[1]) d->out->executed.data[index].violations++;
    d->last_violated.data[index] = event[1];
}

/* Two pairs of two threads at the same two locations. */
static void look_at(struct detector *d, uint32_t index, const struct unit *one,
                    const struct unit *other) {
    bool same_order = one->list->location[0] == other->list->location[0];
    uint32_t event[4] = {one->pair.first, one->pair.second,
                         same_order ? other->pair.first : other->pair.second,
                         same_order ? other->pair.second : other->pair.first};
    struct hd_two_accesses accesses;
    for (unsigned i = 0; i < 4; i++) {
        accesses.does[i] = hd_access_does(d->model, event[i]);
        accesses.at[i] = event[i];
    }
    enum hd_two_case which = hd_two_variable_case(&accesses);
    if (which != HD_TWO_SERIALIZABLE) violated(d, index, one, event, which);
}

/* In all three cases the other pair ends between A1 and A2. */
static void look_at_all(struct detector *d) {
    qsort(d->unit.data, d->unit.size, sizeof *d->unit.data, by_end);
    bool several = false;
    for (size_t i = 1; i < d->unit.size; i++)
        several |= d->unit.data[i].list->thread != d->unit.data[0].list->thread;
    for (size_t i = 0; several && i < d->unit.size; i++) {
        const struct unit *one = &d->unit.data[i];
        if (!one->list->fits) continue;
        uint32_t index = executed(d, one);
        for (size_t k = i; k-- > 0 && d->unit.data[k].pair.second > one->pair.first;)
            if (d->unit.data[k].list->thread != one->list->thread)
                look_at(d, index, one, &d->unit.data[k]);
    }
}

void hd_detect_two(struct hd_analysis *analysis, const struct hd_correlated_rules *rules,
                   struct hd_detected_pairs *detected) {
    struct detector d = {.model = analysis->model, .out = detected};
    memset(detected, 0, sizeof *detected);
    hd_correlated_pairs_find(analysis, rules, HD_CDSR, &d.pairs);
    for (size_t l = 0; l < d.pairs.list.size; l++) {
        const struct hd_correlated_list *list = &d.pairs.list.data[l];
        for (uint32_t i = 0; i < list->count; i++) {
            struct unit unit = {d.pairs.pair.data[list->start + i], list};
            hd_vector_push(&d.unit, unit);
        }
        bool last = l + 1 == d.pairs.list.size ||
                    hd_correlated_locations(list + 1) != hd_correlated_locations(list);
        if (!last) continue;
        look_at_all(&d);
        d.unit.size = 0;
    }
    hd_correlated_pairs_free(&d.pairs);
    hd_vector_free(&d.unit);
    hd_map_free(&d.executed);
    hd_map_free(&d.group);
    hd_vector_free(&d.last);
    hd_vector_free(&d.last_violated);
}

void hd_detected_pairs_free(struct hd_detected_pairs *detected) {
    hd_vector_free(&detected->executed);
    hd_vector_free(&detected->violation);
}

void hd_learner_note_pairs(struct hd_learner *learner, struct hd_analysis *analysis,
                           const struct hd_correlated_rules *rules,
                           const struct hd_detected_pairs *detected) {
    for (size_t i = 0; i < detected->executed.size; i++) {
        const struct hd_detected_pair *pair = &detected->executed.data[i];
        struct hd_place place =
            hd_place_of_event(analysis->describe, analysis->model, pair->second, &learner->arena);
        hd_learner_note(learner, &place, rules->variable.name.data[pair->variable],
                        pair->violations > 0);
    }
}

/* ---- findings ---------------------------------------------------------------------------------
 */

static bool knows_pairs(const struct hd_invariants *invariants) {
    for (size_t i = 0; invariants != NULL && i < invariants->list.size; i++)
        if (*invariants->list.data[i].with != '\0') return true;
    return false;
}

static void add_finding(struct hd_findings *findings, struct hd_analysis *analysis,
                        const struct hd_correlated_rules *rules, const struct hd_detected_two *v,
                        const struct hd_invariant *invariant, bool likely) {
    struct hd_finding draft = {.instances = v->instances};
    uint32_t event[4] = {v->event[0], v->event[2], v->event[3], v->event[1]};
    if (event[2] < event[1]) {
        event[1] = v->event[3];
        event[2] = v->event[2];
    }
    hd_finding_set_events(findings, &draft, analysis->describe, analysis->model, event, 4);
    const char **name = hd_arena_zalloc(&findings->arena, 2, sizeof *name);
    for (int i = 0; i < 2; i++)
        name[i] = hd_finding_text(findings, "%s", rules->variable.name.data[v->variable[i]]);
    draft.variables = name;
    draft.variable_count = 2;
    hd_broken_pair_finding(findings, &draft, v->which, invariant, likely);
    hd_finding_add(findings, &draft);
}

void hd_broken_pairs_in_trace(struct hd_findings *findings, struct hd_analysis *analysis,
                              const struct hd_correlated_rules *rules,
                              const struct hd_invariants *invariants,
                              const struct hd_detected_pairs *detected, bool all) {
    struct hd_arena scratch = {0};
    bool by_rule = !knows_pairs(invariants);
    for (size_t i = 0; i < detected->violation.size; i++) {
        const struct hd_detected_two *v = &detected->violation.data[i];
        struct hd_place place =
            hd_place_of_event(analysis->describe, analysis->model, v->event[1], &scratch);
        const struct hd_invariant *invariant =
            hd_invariants_holding(invariants, &place, rules->variable.name.data[v->variable[0]]);
        findings->summary.candidates++;
        if (invariant == NULL && !by_rule && !all) {
            findings->summary.hidden++;
            continue;
        }
        findings->summary.verdict[HD_VERDICT_CONFIRMED]++;
        add_finding(findings, analysis, rules, v, invariant, by_rule || invariant != NULL);
    }
    hd_arena_free(&scratch);
}
