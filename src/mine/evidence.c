/* Evidence for and against a broken rule: see evidence.h. */
#include "mine/evidence.h"

#include "source/source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- what a function does ---------------------------------------------------------------------
 */

/* Ways to write, as bits. */
enum { CONSTANT = 1, VALUE = 2, UPDATE = 4 };

static bool is_own(const struct hd_source_step *step) {
    return step->kind == HD_STEP_ACCESS && !(step->flags & HD_STEP_MACRO);
}

static unsigned way_of(const struct hd_source_step *step) {
    if (step->mode == HD_ACCESS_READ_WRITE) return UPDATE;
    if (step->mode != HD_ACCESS_WRITE) return 0;
    return step->from.count == 0 ? CONSTANT : VALUE;
}

static struct hd_source_range steps_of(const struct hd_source *source,
                                       const struct hd_access_sets *sets, uint32_t function) {
    return source->function.data[sets->function.data[function]].steps;
}

/* All ways in which a function writes a variable. */
static unsigned ways_of(const struct hd_source *source, struct hd_source_range steps,
                        uint32_t variable) {
    unsigned ways = 0;
    for (uint32_t s = steps.first; s < steps.first + steps.count; s++) {
        const struct hd_source_step *step = &source->step.data[s];
        if (is_own(step) && step->variable == variable) ways |= way_of(step);
    }
    return ways;
}

/* What a field is a field of, as a path; HD_SOURCE_NONE for other variables. */
static uint32_t object_of(const struct hd_source *source, const struct hd_source_step *step) {
    for (uint32_t at = step->path; at != HD_SOURCE_NONE; at = source->path.data[at].parent) {
        const struct hd_source_path *path = &source->path.data[at];
        if (path->kind == HD_PATH_FIELD && path->of == step->variable) return path->parent;
    }
    return HD_SOURCE_NONE;
}

static bool is_part_of(const struct hd_source *source, uint32_t part, uint32_t whole) {
    for (; part != HD_SOURCE_NONE; part = source->path.data[part].parent)
        if (part == whole) return true;
    return false;
}

/* The same object, or one is a part of the other or is reached through it. Variables that are no
 * fields have no object to differ in. */
static bool are_of_one_object(const struct hd_source *source, const struct hd_source_step *a,
                              const struct hd_source_step *b) {
    uint32_t x = object_of(source, a), y = object_of(source, b);
    if (x == HD_SOURCE_NONE && y == HD_SOURCE_NONE) return true;
    if (x == HD_SOURCE_NONE || y == HD_SOURCE_NONE) return false;
    return is_part_of(source, x, y) || is_part_of(source, y, x);
}

static bool are_near(const struct hd_source_step *a, const struct hd_source_step *b,
                     uint32_t max_distance) {
    return (a->line > b->line ? a->line - b->line : b->line - a->line) < max_distance;
}

/* Is it a field of a local variable, not of what a pointer points to? */
static bool is_of_local(const struct hd_source *source, const struct hd_source_step *step) {
    uint32_t at = object_of(source, step);
    for (; at != HD_SOURCE_NONE; at = source->path.data[at].parent) {
        const struct hd_source_path *path = &source->path.data[at];
        if (path->kind == HD_PATH_DEREF) return false;
        if (path->kind == HD_PATH_VARIABLE)
            return source->variable.data[path->of].kind == HD_VARIABLE_LOCAL;
    }
    return false;
}

/* Are all objects whose x a function writes its own local variables? */
static bool writes_locals(const struct hd_source *source, struct hd_source_range steps,
                          uint32_t x) {
    bool any = false;
    for (uint32_t s = steps.first; s < steps.first + steps.count; s++) {
        const struct hd_source_step *step = &source->step.data[s];
        if (!is_own(step) || step->variable != x || way_of(step) == 0) continue;
        if (!is_of_local(source, step)) return false;
        any = true;
    }
    return any;
}

/* ---- a rule -----------------------------------------------------------------------------------
 */

static void look_at(const struct hd_source *source, struct hd_source_range steps, uint32_t x,
                    uint32_t y, uint32_t max_distance, unsigned ways,
                    struct hd_evidence *evidence) {
    bool same = false, written = false;
    for (uint32_t i = steps.first; i < steps.first + steps.count; i++) {
        const struct hd_source_step *one = &source->step.data[i];
        if (!is_own(one) || one->variable != x || way_of(one) == 0) continue;
        for (uint32_t k = steps.first; k < steps.first + steps.count; k++) {
            const struct hd_source_step *other = &source->step.data[k];
            if (!is_own(other) || other->variable != y || !are_near(one, other, max_distance))
                continue;
            same = same || are_of_one_object(source, one, other);
            written = written || way_of(other) != 0;
        }
    }
    evidence->supporters++;
    evidence->same_object += same;
    evidence->written += written;
    evidence->same_way += (ways_of(source, steps, x) & ways) != 0;
    evidence->local += writes_locals(source, steps, x);
}

struct hd_evidence hd_evidence_find(const struct hd_source *source,
                                    const struct hd_access_sets *sets,
                                    const struct hd_correlation *rule, uint32_t function,
                                    uint32_t max_distance) {
    uint32_t x = sets->variable.data[rule->x], y = sets->variable.data[rule->y];
    uint32_t in_source = sets->function.data[function];
    unsigned ways = ways_of(source, steps_of(source, sets, function), x);
    unsigned mask = hd_mine_mask(HD_MINE_WRITE, HD_MINE_ANY);
    struct hd_evidence evidence = {
        .is_local = writes_locals(source, steps_of(source, sets, function), x),
        .unknown_callers =
            (source->function.data[in_source].flags & HD_FUNCTION_ADDRESS_TAKEN) != 0 &&
            sets->caller_start.data[function] == sets->caller_start.data[function + 1]};
    for (uint32_t f = 0; f < sets->functions; f++) {
        uint32_t first;
        if (f == function || hd_access_sets_find(sets, f, rule->x, &first) == 0) continue;
        if (!(hd_mine_together(sets, f, rule->x, rule->y, max_distance) >> 4 & mask)) continue;
        look_at(source, steps_of(source, sets, f), x, y, max_distance, ways, &evidence);
    }
    return evidence;
}

/* ---- the weight -------------------------------------------------------------------------------
 */

/* The share that holds for the program with a certainty of 95 %, if `of` functions show it (the
 * lower end of Wilson's interval, one-sided): 10 of 11 functions say less than 100 of 110. */
static double certain_share(uint32_t support, uint32_t of) {
    if (of == 0) return 0;
    const double z = 1.645;
    double n = of, share = support / n;
    return (share + z * z / (2 * n) - z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))) /
           (1 + z * z / n);
}

static void weigh_violations(struct hd_weighing *weighing, uint32_t violations) {
    char words[64];
    if (violations == 1) {
        hd_weigh(weighing, 20, "the only function that does so");
        return;
    }
    snprintf(words, sizeof words, "one of %u functions that do so", violations);
    hd_weigh(weighing,
             violations == 2   ? 10
             : violations == 3 ? 0
             : violations < 8  ? -10
                               : -20,
             words);
}

/* A way is rare if fewer than one in five supporters have it. */
static bool is_rare(uint32_t count, const struct hd_evidence *evidence) {
    return evidence->supporters > 0 && count * 5 < evidence->supporters;
}

struct hd_weighing hd_update_weigh(const struct hd_update *update,
                                   const struct hd_update_pair *pair,
                                   const struct hd_correlation *rule) {
    const struct hd_evidence *evidence = &update->evidence;
    struct hd_weighing weighing = {.score = HD_SCORE_REPORTED};
    weigh_violations(&weighing, pair->violations);
    if (update->both_written) weighing.score += 10;
    if (certain_share(rule->support, rule->functions) >= 0.8) weighing.score += 5;
    if (is_rare(evidence->same_object, evidence))
        hd_weigh(&weighing, -35, "the two are hardly ever of one object where they are together");
    if (is_rare(evidence->written, evidence))
        hd_weigh(&weighing, -25, "the second one is hardly ever written there, only read");
    if (is_rare(evidence->same_way, evidence))
        hd_weigh(&weighing, -20, "the first one is hardly ever written in this way there");
    if (evidence->is_local && is_rare(evidence->local, evidence))
        hd_weigh(&weighing, -25, "here the object is a local variable, there it is not");
    if (evidence->unknown_callers)
        hd_weigh(&weighing, -10, "it is called through pointers, so its callers are not known");
    if (update->special)
        hd_weigh(&weighing, -50,
                 "its name is that of a function that makes, ends or copies an object");
    return weighing;
}

/* ---- order ------------------------------------------------------------------------------------
 */

struct ranked {
    struct hd_update update;
    int score;
    size_t before;
};

static int compare_ranked(const void *left, const void *right) {
    const struct ranked *a = left, *b = right;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    return a->before < b->before ? -1 : a->before > b->before;
}

void hd_updates_rank(const struct hd_source *source, const struct hd_access_sets *sets,
                     const struct hd_correlations *correlations, uint32_t max_distance,
                     struct hd_updates *updates) {
    HD_VECTOR(struct ranked) list = {0};
    for (size_t i = 0; i < updates->list.size; i++) {
        struct hd_update *update = &updates->list.data[i];
        const struct hd_update_pair *pair = &updates->pair.data[update->first];
        const struct hd_correlation *rule = &correlations->list.data[pair->correlation];
        update->evidence = hd_evidence_find(source, sets, rule, update->function, max_distance);
        struct ranked ranked = {*update, hd_update_weigh(update, pair, rule).score, i};
        hd_vector_push(&list, ranked);
    }
    if (list.size > 1) qsort(list.data, list.size, sizeof *list.data, compare_ranked);
    for (size_t i = 0; i < list.size; i++) updates->list.data[i] = list.data[i].update;
    hd_vector_free(&list);
}
