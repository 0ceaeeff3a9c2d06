/* What each access of the program is an access of: a shared variable (a global, or a field for all
 * objects of its struct), or a place of the function's own.
 *
 * Two things make fields more exact. The field of a struct that is a member by value, and whose
 * address nobody takes, is a variable of its own: `problem.best.length` is not
 * `problem.open[i].length`. And what a pointer of the function points to is followed as far as
 * assignments and calls show it: `*out` of a caller's local variable is no shared variable. */
#ifndef HEDDLE_LINT_SHARED_H
#define HEDDLE_LINT_SHARED_H

#include "base/bitset.h"
#include "lint/calls.h"

struct hd_shared_variable {
    uint32_t member;   /* the struct by value that it is in, if that tells it apart; NONE */
    uint32_t variable; /* of the program */
};

/* What a pointer variable may point to; `unknown`: to other things, too. */
#define HD_POINTEES 8u
struct hd_pointees {
    uint32_t variable[HD_POINTEES];
    uint8_t count;
    bool unknown;
};

struct hd_shared {
    const struct hd_source *source;
    HD_VECTOR(struct hd_shared_variable) list;
    struct hd_map by_parts;
    uint32_t *first, *count; /* by step: shared variables of an access, in `of` */
    HD_VECTOR(uint32_t) of;
    struct hd_pointees *pointees; /* by variable of the program */
    struct hd_bitset escaped;     /* locals whose address others keep */
};

void hd_shared_build(const struct hd_source *source, const struct hd_calls *calls,
                     struct hd_shared *shared);
void hd_shared_free(struct hd_shared *shared);

/* `struct::field`, `counter`. */
const char *hd_shared_name(const struct hd_shared *shared, uint32_t variable);

static inline bool hd_shared_has(const struct hd_shared *shared, uint32_t step, uint32_t variable) {
    for (uint32_t i = 0; i < shared->count[step]; i++)
        if (shared->of.data[shared->first[step] + i] == variable) return true;
    return false;
}

/* A place of the function's own that an access names: a local variable, one of its fields, or what
 * a pointer points to. */
enum { HD_PLACE_ALL = 0, HD_PLACE_CONTENT = 1, HD_PLACE_FIELD = 2 };
struct hd_own_place {
    uint32_t variable; /* NONE: no place of its own */
    uint32_t part;     /* HD_PLACE_...; a field is HD_PLACE_FIELD + its number */
};
struct hd_own_place hd_shared_place(const struct hd_shared *shared, uint32_t step);

#endif
