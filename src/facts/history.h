/* What runs of a program did, and what is new in a run against a set of runs. Events of two runs
 * have nothing in common but their sites: what a run did is told by these.
 *
 * By the code (site.h), for runs of one build: the sites that were visited; accesses of two threads
 * that followed each other on a location; writes with the reads that saw them. A run that brings
 * nothing new of this has nothing new to predict from.
 * By the source, for runs of any build: the unserializable triples that were exercised, the local
 * pairs that the run had, and the orders that it showed. What a passing run did is no bug. */
#ifndef HEDDLE_FACTS_HISTORY_H
#define HEDDLE_FACTS_HISTORY_H

#include "facts/triples.h"

/* ---- by the code -----------------------------------------------------------------------------
 */

/* Of all runs that were added. Zeroed: of none. */
struct hd_history {
    struct hd_map known;
    uint32_t sites, pairs, uses;
};

/* Adds a run and returns how much of what it did was new. */
uint32_t hd_history_add(struct hd_history *history, const struct hd_model *model);
void hd_history_free(struct hd_history *history);

/* Accesses of two threads that follow each other on one location, and did so in no run that was
 * added. */
struct hd_new_pair {
    uint32_t location, first, second; /* events */
};
/* Writes the first `room` of them in the order in which they happened; returns how many. */
uint32_t hd_history_new_pairs(const struct hd_history *history, const struct hd_model *model,
                              struct hd_new_pair *pair, uint32_t room);

/* ---- by the source ---------------------------------------------------------------------------
 */

/* In how many of the runs was the triple i, j, k exercised, and how many had i and k as a local
 * pair at all? The sites are hd_site_source's. Each run's answer is found once. */
struct hd_run_counts {
    uint32_t exercised, had;
};
struct hd_run_counts hd_count_runs(struct hd_analysis *const *run, uint32_t runs, bool all_patterns,
                                   const uint64_t site[3]);

/* Did one of the runs read a variable at this site before its first write? */
bool hd_read_was_early(struct hd_analysis *const *run, uint32_t runs, uint64_t read);
/* Did one of the runs write a variable first at the one site and then, by another thread, at the
 * other? */
bool hd_writes_were_shown(struct hd_analysis *const *run, uint32_t runs, uint64_t first,
                          uint64_t later);

#endif
