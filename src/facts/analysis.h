/* An execution with everything that analyses ask of it. A fact (clocks, segments, conflicts,
 * triples, ...) is found when it is first asked for, and kept until the analysis is freed: whoever
 * asks later gets the same one. This header knows no fact. Each has a header of its own, with a
 * function that takes the analysis and gives the fact; directories that may not be included here
 * keep their own facts in the same way.
 *
 * A fact does not change once it is there, so any number of threads may read it. Asking is not safe
 * while other threads ask: whoever starts workers asks for what they need first. */
#ifndef HEDDLE_FACTS_ANALYSIS_H
#define HEDDLE_FACTS_ANALYSIS_H

#include "base/progress.h"
#include "base/vector.h"
#include "model/describe.h"

struct hd_analysis;

/* A way to find something out, of which there may be variants (with and without reads-from, say).
 * There is one static struct for each; its address is the key under which facts are kept. */
struct hd_fact_kind {
    void *(*build)(struct hd_analysis *analysis, unsigned variant);
    void (*free)(void *fact);
    bool small; /* worth keeping when memory is scarce; points into no other fact */
};

struct hd_fact {
    const struct hd_fact_kind *kind;
    unsigned variant;
    void *value;
};

/* With model and description set and the rest zeroed, nothing was asked yet. */
struct hd_analysis {
    const struct hd_model *model;
    struct hd_describe *describe;
    struct hd_progress *progress; /* may be NULL */
    bool lean; /* once a small fact is there, the others are freed: for runs only compared with */
    /* Candidates (pairs, triples of sites) of a kind that are listed; what is left of variables
     * with more of them is counted. 0: HD_MOST_CANDIDATES */
    uint64_t most_candidates;
    HD_VECTOR(struct hd_fact) fact; /* in the order in which they were complete */
};

/* A variable that is accessed at n places without order has n * n pairs: nobody reads that many of
 * them, and each takes 100 bytes and some microseconds. */
#define HD_MOST_CANDIDATES 100000u
static inline uint64_t hd_most_candidates(const struct hd_analysis *analysis) {
    return analysis->most_candidates > 0 ? analysis->most_candidates : HD_MOST_CANDIDATES;
}

/* The fact; built if this is the first question. */
void *hd_analysis_fact(struct hd_analysis *analysis, const struct hd_fact_kind *kind,
                       unsigned variant);
/* Frees the facts that are not small. They are found again if they are asked for. */
void hd_analysis_shrink(struct hd_analysis *analysis);
/* Frees all facts. The analysis may be asked again. */
void hd_analysis_free(struct hd_analysis *analysis);

#endif
