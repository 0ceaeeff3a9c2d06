/* The sound model's worker, shared by its three parts: what decides (nondet_sound.c), the schedules
 * that need no search (nondet_straight.c), and all reads together (nondet_sums.c). */
#ifndef HEDDLE_PREDICT_NONDET_SOUND_H
#define HEDDLE_PREDICT_NONDET_SOUND_H

#include "engine/questions.h"
#include "predict/nondet.h"

struct hd_sound_shared {
    struct hd_predict *predict;
    struct hd_nondet *nondet;
    const struct hd_couples *couples;
    const struct hd_engine_base *base;
    uint32_t most; /* writes of one thread that are looked at for one read */
};

/* Are the sections that the past leaves open each the last of its lock there? */
enum hd_past_open { HD_PAST_UNKNOWN, HD_PAST_IN_ORDER, HD_PAST_OUT_OF_ORDER };

struct hd_sound_worker {
    struct hd_engine *engine;
    struct hd_question question;
    uint32_t *past; /* per thread: events that come before the read */
    struct hd_nondet_stats stats;
    HD_VECTOR(struct hd_triplet) found;
    HD_VECTOR(struct hd_triplet) waiting; /* for the engine */
    uint64_t length[32];                  /* stretches of 2^i to 2^(i + 1) - 1 writes */
    HD_VECTOR(uint32_t) last;             /* per chain: writes of it in the past */
    HD_VECTOR(uint32_t) held;             /* sections open at the read */
    struct hd_challengers challengers;
    enum hd_past_open past_open;
    HD_VECTOR(uint32_t) open;         /* sections that are open now */
    HD_VECTOR(uint32_t) open_in_past; /* at its end */
    /* per location: its last write in the past, and after that, if of this stamp */
    uint32_t *past_write, *past_stamp, *run_write, *run_stamp;
    uint32_t stamp, run;
    uint32_t *closed;       /* per thread: the past and what makes trace order good for it */
    uint32_t *cursor, *cut; /* per thread: its next step; how far it goes */
};

/* Decides the triplets of a read, or lets them wait for the engine. */
void hd_sound_decide(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                     uint32_t number);
/* Counts, by length, the stretches of writes that clocks leave for it. */
void hd_sound_measure(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                      uint32_t number);
/* Asks the engine; true: feasible. */
bool hd_sound_ask(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                  const struct hd_triplet *triplet);

/* Adds an event and all it needs to a cut. */
void hd_sound_add(const struct hd_sound_shared *shared, uint32_t *cut, uint32_t event);
/* How many writes of a chain come before a position of its thread. */
uint32_t hd_chain_before(const struct hd_couples *couples, const struct hd_chain *chain,
                         uint32_t position);

/* ---- schedules without search ------------------------------------------------------------------
 */

/* Does the past of a read, in trace order, leave this write (HD_NONE: the initial value)? */
bool hd_past_leaves(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                    const struct hd_read *read, uint32_t write);
/* A write, its position in its thread, and its clock as in hd_couples. */
struct hd_placed_write {
    uint32_t event, position;
    const uint32_t *clock;
};
/* Can the write come last, after what it and the read need in trace order? */
bool hd_write_can_come_last(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                            uint32_t event, const struct hd_placed_write *write);
/* How far a thread can go after the past of a read, at most to a position. */
uint32_t hd_go_straight(const struct hd_sound_shared *shared, struct hd_sound_worker *worker,
                        uint32_t event, uint32_t thread, uint32_t most);

#endif
