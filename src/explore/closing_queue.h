/* The order in which closing does its work. What is complete does not depend on it; how soon a bug
 * is found, and what was seen when the time is up, do.
 *
 * Where little is left, the oldest comes first: a small test will be closed, and first in, first
 * out takes the fewest runs. Loops that wait are the reason: what waits for long is asked about
 * last, when a run that has waited less is known and answers for it (331 runs against more than
 * 2,000 for three threads that swap a pointer).
 *
 * Where much is left, it is a search. A run is wanted so that a step of it sees something: a pair
 * of places in the code. The pair that was seen least comes first: a pair that no run has had
 * before all others, and then all in turn. Most alternatives of a large program are of few pairs,
 * rounds of loops among them, and first in, first out would do all of a run's before the first of
 * the next. Pairs that were seen as often come in a random order that is the same each time. The
 * oldest first is slow to get to what takes several changes; the newest first never comes back to
 * what it left out; few context switches first was no better than first in, first out. Figures are
 * in docs/benchmarks.md; bench/explore/first measures them. */
#ifndef HEDDLE_EXPLORE_CLOSING_QUEUE_H
#define HEDDLE_EXPLORE_CLOSING_QUEUE_H

#include "base/map.h"
#include "explore/closing.h"

/* Up to so many wanted runs are done in the order in which they came. Programs that close within
 * seconds have fewer at any time; with 64, three threads that swap a pointer do not close. */
#define CLOSING_FEW 128u

struct closing_queued {
    struct closing_work *work;
    uint64_t number, dice;
    uint32_t seen; /* its pair, when that was last asked: it may be more now */
};

struct closing_queue {
    HD_VECTOR(struct closing_queued) heap; /* what comes first is data[0] */
    struct hd_map seen;                    /* pairs: runs that had them, or were to */
    uint64_t added;
    uint64_t bytes;
};

void closing_queue_add(struct closing_queue *queue, struct closing_work *work);
/* What comes first; NULL: there is nothing. */
struct closing_work *closing_queue_take(struct closing_queue *queue);
/* A run that is new: its pairs are not new any more. */
void closing_queue_saw(struct closing_queue *queue, const struct closing_view *view);
/* Does not free the work. */
void closing_queue_free(struct closing_queue *queue);

/* An event's place and that of the use that it sees. */
uint64_t closing_pair(const struct closing_view *view, uint32_t event, uint32_t from);

#endif
