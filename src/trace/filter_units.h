/* Inside the filter (filter.h): its cells, and the units of bytes that they tell. */
#ifndef HEDDLE_TRACE_FILTER_UNITS_H
#define HEDDLE_TRACE_FILTER_UNITS_H

#include "trace/filter.h"
#include "trace/filter_states.h"
#include "trace/pages.h"
#include "trace/wire.h"

/* clang-format off */
/* The cell of a word:
 *
 *     bits    meaning
 *     0-30    the epoch that touched the word last; no other thread's has the same number
 *     31      listed: its thread knows that something may be deferred here
 *     32-47   lower half: the state of the unit that begins with it; HD_STATE_NONE: not touched;
 *             HD_STATE_GOES_ON: a unit that began before goes on here
 *     48-63   upper half, likewise
 *
 * If units begin or end elsewhere, the lower half is HD_STATE_DETAIL, bits 0-31 are the number of a
 * record that has a state for each byte, and the rest is 0. Units do not go over the end of a page.
 */
/* clang-format on */
#define CELL_EPOCH 0x7fffffffu
#define CELL_LISTED 0x80000000u
#define CELL_LOW 32
#define CELL_HIGH 48
#define CELL_GOES_ON \
    ((uint64_t)HD_STATE_GOES_ON << CELL_LOW | (uint64_t)HD_STATE_GOES_ON << CELL_HIGH)

struct filter_detail {
    uint32_t epoch;
    bool listed;
    uint16_t state[8];
};

struct filter_thread {
    uint32_t number;
    uint32_t epoch;             /* 0: it has touched nothing since its last one ended */
    HD_VECTOR(uint64_t) listed; /* words where something may be deferred */
};

/* The epochs of threads that have listed something. Numbers are given out one after the other, so
 * that their low bits are a good hash. */
struct live_epochs {
    struct live_epoch {
        uint32_t epoch, thread;
    } * slot;
    uint32_t slots, count;
};

/* Searches of all pages; after so many, what is known is given up instead. */
enum { SWEEP_LIMIT = 1 << 12 };

enum { FILTER_LISTED_LIMIT = 1 << 20 }; /* words of a thread */
enum { FILTER_PRESENT = 4096 };

/* Places that were accessed from lately, each with its latest step (the private part of a range).
 */
enum { FILTER_RECENT_BITS = 10 };
struct filter_recent {
    uint64_t quick; /* the key, if there is a shortest way (filter_access_quick); else 0 */
    uint64_t key;   /* filter_recent_key; 0: none */
    struct hd_filter_range range;
};
/* For accesses that say their size themselves: hd_link_key. */
static inline uint64_t filter_recent_key(uint32_t site, uint16_t bytes, bool write) {
    return (uint64_t)(write ? HD_EV_WRITE : HD_EV_READ) << 32 | (uint64_t)bytes << 40 | site;
}

struct hd_filter {
    struct hd_filter_options options;
    struct hd_states *states;
    const struct hd_states_tables *tables;
    struct hd_pages pages;
    HD_VECTOR(struct filter_thread) thread;
    HD_VECTOR(struct filter_detail) detail;
    HD_VECTOR(uint32_t) detail_unused;
    struct live_epochs live;
    uint32_t epochs; /* that began so far */
    /* present epochs of threads, by their low bits: how many */
    uint32_t present[FILTER_PRESENT];
    uint32_t sweeps;
    uint32_t generation;      /* of the numbers of places and states */
    uint32_t loop_generation; /* those that the latest loop has */
    struct hd_filter_figures figures;
    struct filter_recent recent[1 << FILTER_RECENT_BITS]; /* by fold of the site */
};

/* Is the epoch over, for all that is known? */
static inline bool filter_is_over(const struct hd_filter *filter, uint32_t epoch) {
    return filter->present[epoch % FILTER_PRESENT] == 0;
}

/* May an access take a cell of another epoch, whatever begins in it, as it is? Not if something is
 * deferred there; nor from a unit that began before and that its thread may access again. */
static inline bool filter_is_free(const struct hd_filter *filter, uint64_t cell) {
    uint16_t low = (uint16_t)(cell >> CELL_LOW);
    if (cell & CELL_LISTED || low == HD_STATE_DETAIL) return false;
    return low != HD_STATE_GOES_ON || filter_is_over(filter, (uint32_t)cell & CELL_EPOCH);
}

/* The thread whose epoch this is, if it has listed anything in it; else NULL. */
struct filter_thread *filter_deferring(struct hd_filter *filter, uint32_t epoch);
void filter_begin_epoch(struct hd_filter *filter, struct filter_thread *thread);
/* Of a thread that has nothing deferred. */
static inline void filter_end_epoch(struct hd_filter *filter, struct filter_thread *thread) {
    if (thread->epoch != 0) filter->present[thread->epoch % FILTER_PRESENT]--;
    thread->epoch = 0;
}
void filter_list(struct hd_filter *filter, struct filter_thread *thread, uint64_t word);
/* The cell of a word, whose page is made if need be. */
uint64_t *filter_cell_new(struct hd_filter *filter, uint64_t word);
void filter_forget(struct hd_filter *filter, uint64_t first, uint64_t last);

/* Puts in what the state of a unit has deferred. */
void filter_put_way(struct hd_filter *filter, uint32_t thread, uint64_t address, uint16_t state);
/* Puts in what the thread has deferred in a word; `goes_on`: and notes that. */
void filter_settle_word(struct hd_filter *filter, struct filter_thread *thread, uint64_t word,
                        bool goes_on);
/* Nothing is known of the word any more, nor of the units that have a part of it. What was deferred
 * is put in. */
void filter_forget_word(struct hd_filter *filter, struct hd_memory_page *page, unsigned index);
/* Any access of up to HD_FILTER_BYTES: is it kept? */
bool filter_access_units(struct hd_filter *filter, struct filter_thread *thread, uint64_t address,
                         const struct hd_filter_range *range);

#endif
