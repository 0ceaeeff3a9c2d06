/* Reads with the write they saw, and the writes of each location by thread: what both models of
 * nondeterminism walk over. Reads of several locations ("wide") have lists of their own. */
#ifndef HEDDLE_PREDICT_NONDET_COUPLES_H
#define HEDDLE_PREDICT_NONDET_COUPLES_H

#include "base/vector.h"
#include "engine/engine_base.h"

/* Writes of one location by one thread, in program order: hd_couples.write[first .. first + count).
 */
struct hd_chain {
    uint32_t thread, first, count;
};

struct hd_read {
    uint32_t event;    /* HD_NONE: the final read of its location */
    uint32_t location; /* the first shared one that it touches */
    uint32_t seen;     /* write, there; HD_NONE: the initial value */
    bool wide;         /* it touches several locations */
};

struct hd_couples {
    const struct hd_model *model;
    HD_VECTOR(struct hd_read) read; /* of shared locations, in trace order, then the final ones */
    uint32_t *chain_first;          /* locations + 1 */
    HD_VECTOR(struct hd_chain) chain;
    uint32_t *write;          /* events */
    uint32_t *write_position; /* in its thread */
    /* per write: the clock of what every reordering with it must have before it, NULL: nothing of
     * other threads; all reads keep their writes in it */
    const uint32_t **write_clock;
    uint32_t writes;
    /* Writes of a location that a wide read touches, shared or not, in trace order: written[
     * written_first[l] .. written_first[l + 1]). Those that do not touch the location before it, by
     * number, are in `begun` as well. NULL if there is no wide read. */
    uint32_t *written_first, *begun_first; /* locations + 1 */
    uint32_t *written, *begun;
};

/* Which reads are wanted: all if `keep` is NULL. */
struct hd_read_filter {
    bool (*keep)(void *context, uint32_t event);
    void *context;
};
void hd_couples_build(const struct hd_model *model, const struct hd_engine_base *base,
                      bool final_state, const struct hd_read_filter *filter,
                      struct hd_couples *couples);
void hd_couples_free(struct hd_couples *couples);

/* How many writes of a location there are, the initial one not counted. */
uint32_t hd_couples_writes(const struct hd_couples *couples, uint32_t location);

/* A write (HD_NONE: the initial value) that a wide read did not see in every location that both
 * touch, the first location where it saw another, and that one. */
struct hd_challenger {
    uint32_t write, location, seen;
};
struct hd_challengers {
    HD_VECTOR(struct hd_challenger) list; /* each write once, ascending, the initial value last */
    HD_VECTOR(uint32_t) seen;             /* per location of the read: what it saw there */
};
/* Takes time for each location of the read and for each challenger, not
 * for the locations that a challenger touches. */
void hd_couples_challengers(const struct hd_couples *couples, const struct hd_read *read,
                            struct hd_challengers *challengers);
void hd_challengers_free(struct hd_challengers *challengers);

#endif
