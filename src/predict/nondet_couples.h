/* Reads with the write they saw, and the writes of each location by thread: what both models of
 * nondeterminism walk over. */
#ifndef HEDDLE_PREDICT_NONDET_COUPLES_H
#define HEDDLE_PREDICT_NONDET_COUPLES_H

#include "base/vector.h"
#include "predict/ground.h"

/* Writes of one location by one thread, in program order: hd_couples.write[first .. first + count).
 */
struct hd_chain {
    uint32_t thread, first, count;
};

struct hd_read {
    uint32_t event;    /* HD_NONE: the final read of its location */
    uint32_t location; /* the first shared one that it touches */
    uint32_t seen;     /* write, HD_NONE: the initial value */
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
};

/* Which reads are wanted: all if `keep` is NULL. */
struct hd_read_filter {
    bool (*keep)(void *context, uint32_t event);
    void *context;
};
bool hd_couples_build(const struct hd_model *model, const struct hd_ground *ground,
                      bool final_state, const struct hd_read_filter *filter,
                      struct hd_couples *couples, struct hd_error *error);
void hd_couples_free(struct hd_couples *couples);

/* How many writes of a location there are, the initial one not counted. */
uint32_t hd_couples_writes(const struct hd_couples *couples, uint32_t location);
/* The writes a wide read might see, each once, ascending, into `list`; false when memory is out.
 * The write it saw everywhere is not among them, the initial value never is. */
typedef HD_VECTOR(uint32_t) hd_event_list;
bool hd_couples_challengers(const struct hd_couples *couples, const struct hd_read *read,
                            hd_event_list *list);
/* Did a wide read see this write (HD_NONE: the initial value) in every location they share? If not,
 * what did it see instead, in the first location where it did not? */
uint32_t hd_couples_seen(const struct hd_couples *couples, const struct hd_read *read,
                         uint32_t other);
bool hd_couples_sees(const struct hd_couples *couples, const struct hd_read *read, uint32_t write);

#endif
