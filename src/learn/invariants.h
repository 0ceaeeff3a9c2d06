/* AI invariants (access-interleaving invariants, Lu's dissertation, 4.2.1): for an access I in the
 * code, the pair of its thread's previous access to the same memory and I is never interleaved by
 * accesses of other threads in a way that no serial order has.
 *
 * What runs that passed did is counted for each access: in how many it was the second of such a
 * pair on shared memory (executed), and in how many of them the pair was interleaved unserializably
 * (violated). An invariant holds if that were at most `threshold` runs; a person may say otherwise
 * in the file (`atomic: yes` or `atomic: no`). Accesses that no run executed have no invariant.
 *
 * The file is text, one line for each invariant: docs/learn.md. */
#ifndef HEDDLE_LEARN_INVARIANTS_H
#define HEDDLE_LEARN_INVARIANTS_H

#include "base/map.h"
#include "base/vector.h"
#include "learn/place.h"

/* name, word in the file */
#define HD_ATOMIC_WORDS(X) \
    X(LEARNED, "learned")  \
    X(YES, "yes")          \
    X(NO, "no")
enum hd_atomic {
#define X(name, word) HD_ATOMIC_##name,
    HD_ATOMIC_WORDS(X)
#undef X
        HD_ATOMIC_COUNT
};
const char *hd_atomic_word(enum hd_atomic atomic);

struct hd_invariant {
    struct hd_place place; /* of I */
    /* of an invariant over two correlated variables: the variable of the previous access; "": the
     * same memory */
    const char *with;
    uint32_t executed, violated; /* runs that passed */
    enum hd_atomic atomic;
};

/* Zeroed, and after hd_invariants_free: empty, of no program. */
struct hd_invariants {
    struct hd_arena arena; /* owner of the strings */
    const char *program;   /* file name without directory; NULL or "": not known (text traces) */
    uint32_t runs;         /* that passed and were learned from */
    uint32_t threshold;    /* an invariant that more runs than this violated does not hold */
    HD_VECTOR(struct hd_invariant) list;
    struct hd_map number; /* key -> list */
};
void hd_invariants_free(struct hd_invariants *invariants);

/* What tells invariants apart. */
uint64_t hd_invariant_key(const struct hd_place *place, const char *with);
/* The invariant with this key; NULL if there is none. */
const struct hd_invariant *hd_invariants_find(const struct hd_invariants *invariants,
                                              const struct hd_place *place, const char *with);
/* The same; added (executed and violated in no run) if there is none. Valid until the next call. */
struct hd_invariant *hd_invariants_add(struct hd_invariants *invariants,
                                       const struct hd_place *place, const char *with);
/* Is the pair meant to be atomic, as far as is known? */
bool hd_invariant_holds(const struct hd_invariants *invariants,
                        const struct hd_invariant *invariant);
/* The invariant with this key if it holds; NULL: there is none, or `invariants` is NULL. */
const struct hd_invariant *hd_invariants_holding(const struct hd_invariants *invariants,
                                                 const struct hd_place *place, const char *with);
/* Of a holding one, in words: "in 20 of 20 passing runs that came here, nothing ...". At most
 * `room` bytes. */
void hd_invariant_support(const struct hd_invariant *invariant, char *text, size_t room);

/* Fails if the invariants are about another program than this one (its file name without
 * directory); `name` is the file, for the message. */
bool hd_invariants_fit(const struct hd_invariants *invariants, const char *name,
                       const char *program, struct hd_error *error);
/* Adds the runs of another file (of another machine, say). Fails if the two are about different
 * programs, or a person said yes in one and no in the other; then nothing was added. Counts do not
 * depend on the order. */
bool hd_invariants_merge(struct hd_invariants *invariants, const struct hd_invariants *other,
                         const char *other_name, struct hd_error *error);

/* ---- the file (invariants_file.c) ---- */

/* Untrusted bytes; `name` is for messages: "app.inv:7: ...". On failure nothing is held. */
bool hd_invariants_read(const char *bytes, size_t length, const char *name,
                        struct hd_invariants *invariants, struct hd_error *error);
bool hd_invariants_load(const char *path, struct hd_invariants *invariants, struct hd_error *error);
/* The text, sorted by place; malloc'ed. */
char *hd_invariants_write(const struct hd_invariants *invariants);
bool hd_invariants_save(const char *path, const struct hd_invariants *invariants,
                        struct hd_error *error);

#endif
