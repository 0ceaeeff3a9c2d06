/* Sets of invariants: found by key, counted, merged. The file is in invariants_file.c. */
#include "learn/invariants.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

static const char *const atomic_word[] = {
#define X(name, word) word,
    HD_ATOMIC_WORDS(X)
#undef X
};
const char *hd_atomic_word(enum hd_atomic atomic) { return atomic_word[atomic]; }

void hd_invariants_free(struct hd_invariants *invariants) {
    hd_vector_free(&invariants->list);
    hd_map_free(&invariants->number);
    hd_arena_free(&invariants->arena);
    memset(invariants, 0, sizeof *invariants);
}

uint64_t hd_invariant_key(const struct hd_place *place, const char *with) {
    uint64_t key = hd_place_key(place);
    return *with == '\0' ? key : hd_mix64(key ^ XXH3_64bits(with, strlen(with)));
}

const struct hd_invariant *hd_invariants_find(const struct hd_invariants *invariants,
                                              const struct hd_place *place, const char *with) {
    uint32_t number = hd_map_get(&invariants->number, hd_invariant_key(place, with), HD_NONE);
    return number == HD_NONE ? NULL : &invariants->list.data[number];
}

static const char *keep(struct hd_invariants *invariants, const char *words) {
    return hd_arena_copy(&invariants->arena, words, strlen(words));
}

struct hd_invariant *hd_invariants_add(struct hd_invariants *invariants,
                                       const struct hd_place *place, const char *with) {
    uint32_t fresh = (uint32_t)invariants->list.size;
    uint32_t number = *hd_map_slot(&invariants->number, hd_invariant_key(place, with), fresh);
    if (number == fresh) {
        struct hd_invariant invariant = {.place = {.does = place->does,
                                                   .where = keep(invariants, place->where),
                                                   .function = keep(invariants, place->function),
                                                   .within = keep(invariants, place->within),
                                                   .module = keep(invariants, place->module)},
                                         .with = keep(invariants, with)};
        hd_vector_push(&invariants->list, invariant);
    }
    return &invariants->list.data[number];
}

bool hd_invariant_holds(const struct hd_invariants *invariants,
                        const struct hd_invariant *invariant) {
    if (invariant->atomic != HD_ATOMIC_LEARNED) return invariant->atomic == HD_ATOMIC_YES;
    return invariant->executed > 0 && invariant->violated <= invariants->threshold;
}

const struct hd_invariant *hd_invariants_holding(const struct hd_invariants *invariants,
                                                 const struct hd_place *place, const char *with) {
    if (invariants == NULL) return NULL;
    const struct hd_invariant *found = hd_invariants_find(invariants, place, with);
    return found != NULL && hd_invariant_holds(invariants, found) ? found : NULL;
}

void hd_invariant_support(const struct hd_invariant *invariant, char *text, size_t room) {
    const char *meant =
        invariant->atomic == HD_ATOMIC_YES ? "; the file of invariants says that it is atomic" : "";
    snprintf(text, room,
             "in %u of %u passing runs nothing came between these two in a harmful order%s",
             invariant->executed - invariant->violated, invariant->executed, meant);
}

static const char *program_of(const struct hd_invariants *invariants) {
    return invariants->program != NULL ? invariants->program : "";
}

bool hd_invariants_fit(const struct hd_invariants *invariants, const char *name,
                       const char *program, struct hd_error *error) {
    const char *own = program_of(invariants);
    if (strcmp(own, program) == 0 || invariants->list.size == 0) return true;
    return hd_fail(error, HD_ERR_FORMAT, "%s has the invariants of %s, not of %s", name,
                   *own != '\0' ? own : "a text trace",
                   *program != '\0' ? program : "a text trace");
}

/* Two people who do not agree. */
static bool contradicts(const struct hd_invariant *one, const struct hd_invariant *other) {
    return one != NULL && one->atomic != HD_ATOMIC_LEARNED && other->atomic != HD_ATOMIC_LEARNED &&
           one->atomic != other->atomic;
}

/* Files may have any numbers in them. */
static uint32_t sum(uint32_t a, uint32_t b) { return a > UINT32_MAX - b ? UINT32_MAX : a + b; }

bool hd_invariants_merge(struct hd_invariants *invariants, const struct hd_invariants *other,
                         const char *other_name, struct hd_error *error) {
    if (invariants->list.size == 0 && invariants->program == NULL)
        invariants->program = keep(invariants, program_of(other));
    if (other->list.size > 0 && invariants->list.size > 0 &&
        !hd_invariants_fit(other, other_name, program_of(invariants), error))
        return false;
    for (size_t i = 0; i < other->list.size; i++) {
        const struct hd_invariant *from = &other->list.data[i];
        if (contradicts(hd_invariants_find(invariants, &from->place, from->with), from))
            return hd_fail(
                error, HD_ERR_FORMAT,
                "%s says 'atomic: %s' of %s, and another file says 'atomic: %s'", other_name,
                hd_atomic_word(from->atomic), from->place.where,
                hd_atomic_word(from->atomic == HD_ATOMIC_YES ? HD_ATOMIC_NO : HD_ATOMIC_YES));
    }
    for (size_t i = 0; i < other->list.size; i++) {
        const struct hd_invariant *from = &other->list.data[i];
        struct hd_invariant *to = hd_invariants_add(invariants, &from->place, from->with);
        to->executed = sum(to->executed, from->executed);
        to->violated = sum(to->violated, from->violated);
        if (from->atomic != HD_ATOMIC_LEARNED) to->atomic = from->atomic;
    }
    invariants->runs = sum(invariants->runs, other->runs);
    if (other->threshold > invariants->threshold) invariants->threshold = other->threshold;
    return true;
}
