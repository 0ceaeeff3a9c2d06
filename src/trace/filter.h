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
