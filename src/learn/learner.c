/* Learning invariants from runs: see learner.h. */
#include "learn/learner.h"

#include <string.h>
#include <xxhash.h>

static const char *keep(struct hd_learner *learner, const char *words) {
    return hd_arena_copy(&learner->arena, words, strlen(words));
}

void hd_learner_note(struct hd_learner *learner, const struct hd_place *place, const char *with,
                     bool violated) {
    uint32_t fresh = (uint32_t)learner->note.size;
    uint32_t number = *hd_map_slot(&learner->number, hd_invariant_key(place, with), fresh);
    if (number == fresh) {
        struct hd_learner_note note = {.place = {.does = place->does,
                                                 .where = keep(learner, place->where),
                                                 .function = keep(learner, place->function),
                                                 .within = keep(learner, place->within),
                                                 .module = keep(learner, place->module)},
                                       .with = keep(learner, with)};
        hd_vector_push(&learner->note, note);
    }
    learner->note.data[number].violated |= violated;
}

void hd_learner_note_trace(struct hd_learner *learner, const struct hd_model *model,
                           struct hd_describe *describe, const struct hd_detected *detected) {
    for (size_t i = 0; i < detected->executed.size; i++) {
        const struct hd_detected_access *access = &detected->executed.data[i];
        struct hd_place place = hd_place_of_event(describe, model, access->event, &learner->arena);
        hd_learner_note(learner, &place, "", access->violations > 0);
    }
}

static void count(struct hd_learner *learner, const struct hd_learner_note *note) {
    struct hd_invariants *set = learner->invariants;
    size_t before = set->list.size;
    struct hd_invariant *invariant = hd_invariants_add(set, &note->place, note->with);
    bool fresh = set->list.size > before, held = hd_invariant_holds(set, invariant);
    invariant->executed++;
    if (note->violated) invariant->violated++;
    bool holds = hd_invariant_holds(set, invariant);
    if (fresh) learner->last.added++;
    if (held && !holds) learner->last.removed++;
}

static void forget_notes(struct hd_learner *learner) {
    learner->note.size = 0;
    hd_map_free(&learner->number);
    hd_arena_free(&learner->arena);
    memset(&learner->arena, 0, sizeof learner->arena);
}

void hd_learner_end_run(struct hd_learner *learner, bool passed) {
    if (passed) {
        learner->last = (struct hd_learned){0, 0};
        learner->invariants->runs++;
        for (size_t i = 0; i < learner->note.size; i++) count(learner, &learner->note.data[i]);
        bool changed = learner->last.added > 0 || learner->last.removed > 0;
        learner->stable = changed ? 0 : learner->stable + 1;
    }
    forget_notes(learner);
}

uint32_t hd_learner_holding(const struct hd_learner *learner) {
    const struct hd_invariants *set = learner->invariants;
    uint32_t holding = 0;
    for (size_t i = 0; i < set->list.size; i++)
        holding += hd_invariant_holds(set, &set->list.data[i]);
    return holding;
}

void hd_learner_free(struct hd_learner *learner) {
    forget_notes(learner);
    hd_vector_free(&learner->note);
    memset(learner, 0, sizeof *learner);
}
