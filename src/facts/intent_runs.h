/* What other runs did: triples of sites that they exercised, and local pairs that they had. Sites
 * are compared by what a rebuild and another load address leave alone: function, file, line and
 * column, or module and offset; a text trace's own words. */
#ifndef HEDDLE_FACTS_INTENT_RUNS_H
#define HEDDLE_FACTS_INTENT_RUNS_H

#include "facts/triples.h"

#include "model/describe.h"

/* A number for an event's site and what it does there, the same in all runs of a program. */
uint64_t hd_site_identity(struct hd_describe *describe, const struct hd_model *model,
                          uint32_t event);

struct hd_other_runs;
struct hd_other_runs *hd_other_runs_new(struct hd_model *const *model,
                                        struct hd_describe *const *describe, uint32_t runs,
                                        bool all_patterns, struct hd_error *error);
void hd_other_runs_free(struct hd_other_runs *runs);

/* Of i, j and k by their identities: in how many runs was it exercised, and how many had i and k as
 * a pair at all? */
struct hd_run_counts {
    uint32_t exercised, had;
};
struct hd_run_counts hd_other_runs_count(const struct hd_other_runs *runs, const uint64_t site[3]);

#endif
