/* The filter: from the events of a trace that has every access, in their order, those that a trace
 * needs to have the same steps. A *step* is a pair of places (code and kind of access) that follow
 * each other in one thread on one byte of memory; for triples, the accesses of other threads
 * between the two. What is left out adds no step, and no access of another thread between two.
 *
 * An access is left out if its step is recorded in this epoch of its thread (from one
 * synchronisation event to the next), and nobody else has touched the bytes since. When such a run
 * ends, by another thread's access or with the epoch, its latest access may not be the latest
 * recorded one. Then the filter has accesses *put in* first: the shortest way of known steps from
 * the one to the other.
 *
 * Bytes that are always accessed together are a *unit*; each has a state (filter_states.h). An
 * access that is one unit is left out and put in again freely. One that touches several units
 * (accesses overlapped in parts) is left out only where it is the latest recorded one of all of
 * them: so no access that is put in touches more than the unit that it is put in for.
 *
 * The filter takes events one by one and keeps none. Its memory is bounded: pages that were not in
 * use for long are given up, after what was left out there is put in. That forgets what is known,
 * so more is kept, and no step is lost. */
#ifndef HEDDLE_TRACE_FILTER_H
#define HEDDLE_TRACE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An access that was left out earlier and is to stand before the present event. It counts no hook
 * call. */
struct hd_filter_access {
    uint32_t thread, site;
    uint64_t address;
    uint32_t bytes;
    bool write;
};

struct hd_filter_options {
    uint32_t pages; /* of 4 KB of memory each; 0: HD_FILTER_PAGES */
    void (*put)(void *context, const struct hd_filter_access *access);
    void *context;
};
#define HD_FILTER_PAGES 65536u
/* Larger accesses are kept, and nothing is known about their memory afterwards. */
#define HD_FILTER_BYTES 4096u

struct hd_filter;
struct hd_filter *hd_filter_new(const struct hd_filter_options *options);
void hd_filter_free(struct hd_filter *filter);

/* A plain access: is it kept? */
bool hd_filter_access(struct hd_filter *filter, uint32_t thread, bool write, uint64_t address,
                      uint64_t bytes, uint32_t site);

/* ---- loops -------------------------------------------------------------------------------- */

/* Plain accesses by one place, each a stride further than the one before. Several of them are a
 * loop: a round is one access of each, in their order. */
struct hd_filter_range {
    uint64_t address; /* of the next access; 48 bits */
    int64_t stride;
    uint32_t site;
    uint16_t bytes; /* 1 to 255 */
    bool write;
    /* the rest is the filter's own */
    bool follows; /* another range before it has the same accesses, but for their place */
    bool mixed;   /* accesses of other ranges may come between those of its group */
    uint8_t flags;
    uint16_t first;       /* the state of what only this place has touched */
    uint16_t known, next; /* the latest step: from, to; with `flags` */
    uint16_t quiet;       /* a state that a round of its group does not change */
    uint16_t group;       /* the next range that follows it; 0: none */
    uint16_t leader;      /* the range that it follows */
    bool quiet_listed;    /* if the cell is listed */
    uint32_t place;
};
/* An access that is kept. */
struct hd_filter_kept {
    uint64_t address;
    uint32_t round, range;
};
/* What came of some rounds. When something is put in, it comes after what is kept so far, and
 * before the access at `round` and `range`. */
struct hd_filter_batch {
    struct hd_filter_kept *kept; /* room for all accesses */
    size_t count;
    uint32_t round, range;
};

/* Before the rest, which are for one thread with nothing else between: all but the private part is
 * set. `rounds` that may come. `again`: but for addresses, the ranges are those of the latest call.
 */
void hd_filter_loop(struct hd_filter *filter, struct hd_filter_range *range, unsigned count,
                    uint64_t rounds, bool again);
/* How many rounds (at most `limit`) leave out all that a range and those that follow it access, and
 * change nothing. Nothing is done: hd_filter_pass passes over them, once the caller has moved the
 * addresses. */
uint64_t hd_filter_quiet(struct hd_filter *filter, uint32_t thread, struct hd_filter_range *range,
                         unsigned at, uint64_t limit);
void hd_filter_pass(struct hd_filter *filter, uint64_t accesses);
/* The next rounds. `passed`: accesses, in their order, that are not looked at; NULL: none. */
void hd_filter_rounds(struct hd_filter *filter, uint32_t thread, struct hd_filter_range *range,
                      unsigned count, uint32_t rounds, const bool *passed,
                      struct hd_filter_batch *batch);

/* ---- */

/* Any other event (enum hd_event_kind), which is kept. Atomics, ALLOC and FREE have an address and
 * a number of bytes. */
void hd_filter_event(struct hd_filter *filter, uint32_t thread, unsigned kind, uint64_t address,
                     uint64_t bytes);
/* The trace ends here. */
void hd_filter_finish(struct hd_filter *filter);

/* The memory will be accessed soon. */
void hd_filter_prefetch(const struct hd_filter *filter, uint64_t address);

/* For benchmarks and tests. */
struct hd_filter_figures {
    uint64_t accesses, kept, put;
    uint32_t states, pages;
    uint64_t given_up; /* pages */
};
struct hd_filter_figures hd_filter_figures(const struct hd_filter *filter);

#endif
