/* Which reads may see another write than they saw (Sinha, Malik, Gupta: Efficient Predictive
 * Analysis for Detecting Nondeterminism). A read r that saw w has a challenger in every other write
 * c of the location; the initial value is a write before everything, and with `final_state` each
 * variable is read after everything. A triplet (w, r, c) has three witnesses: c r w, w c r, and c r
 * without w.
 *
 * Sound model: can r see c? The exact engine decides, with r as the last event of its thread. If c
 * r w is possible, so is c r without w (whatever comes after r can be left out), and r sees c in
 * one of the orders if it can see c at all: one question for each triplet. The paper's own model is
 * methods/nondet_paper.h. */
#ifndef HEDDLE_PREDICT_NONDET_H
#define HEDDLE_PREDICT_NONDET_H

#include "base/map.h"
#include "predict/nondet_couples.h"
#include "predict/predict.h"

/* The paper's witnesses of a triplet. */
enum hd_paper_witness {
    HD_WITNESS_BEFORE,  /* c r w */
    HD_WITNESS_AFTER,   /* w c r */
    HD_WITNESS_WITHOUT, /* c r, and no w */
    HD_WITNESS_COUNT
};

/* A triplet that was not found infeasible. */
struct hd_triplet {
    uint32_t read;        /* of hd_couples.read */
    uint32_t seen, other; /* writes; HD_NONE: the initial value */
    uint8_t verdict;      /* enum hd_verdict */
    uint8_t orders;       /* paper: a bit for each witness that is feasible */
};

/* Columns of the paper's tables, and who settled what. */
struct hd_nondet_stats {
    uint64_t reads;                    /* of shared variables, final ones included */
    uint64_t final_reads;              /* of these */
    uint64_t loose;                    /* reads that may see another write */
    uint64_t doubtful;                 /* reads that may or may not: the budget ran out */
    uint64_t late;                     /* of these, not looked at: one undecided triplet each */
    uint64_t triplets;                 /* three witnesses each */
    uint64_t left;                     /* of these, not looked at: others of their sites were */
    uint64_t verdict[HD_POSSIBLE + 1]; /* of triplets */
    uint64_t by_clocks, by_locks;      /* triplets that comparing clocks or sections settled */
    uint64_t by_orders;                /* triplets found feasible without a question */
    uint64_t asked;                    /* triplets that were asked about */
    /* paper, in witnesses */
    uint64_t cyclic, acyclic, chosen; /* cycle in G'; no choice edges; choice edges */
    double possible_graphs;           /* of those with choice edges, in all */
    uint64_t explored_graphs;
    uint64_t feasible, infeasible, undecided;
    double seconds;
};

struct hd_nondet {
    struct hd_couples couples;
    const struct hd_engine_base *base;
    HD_VECTOR(struct hd_triplet) found; /* by read, then other write */
    struct hd_nondet_stats stats;
};

/* Another model than the exact engine's. What it finds feasible is `possible` to a finding. */
struct hd_nondet_model {
    const char *name;
    /* Decides the triplets of nondet->couples: adds to `found` and `stats`. */
    bool (*decide)(struct hd_predict *predict, struct hd_nondet *nondet, struct hd_error *error);
};

/* Decides every triplet by a model (NULL: the exact engine's); adds to predict's stats. */
bool hd_nondet_decide(struct hd_predict *predict, const struct hd_nondet_model *model,
                      struct hd_nondet *nondet, struct hd_error *error);
void hd_nondet_free(struct hd_nondet *nondet);

/* The question whether a read may see a write, put together. */
struct hd_question;
void hd_nondet_question(const struct hd_couples *couples, const struct hd_read *read,
                        uint32_t other, struct hd_question *question);

/* ---- parts -------------------------------------------------------------------------------------
 */

bool hd_nondet_sound(struct hd_predict *predict, struct hd_nondet *nondet, struct hd_error *error);
/* Is it too late to look at one more read? If so, that is counted. */
bool hd_nondet_is_late(const struct hd_predict *predict, struct hd_nondet_stats *stats);
/* Numbers for the triples of sites of triplets, from 0 in the order in which they are met.
 * Variables of final reads are told apart by location: they have no site. */
struct hd_triplet_sites {
    const struct hd_couples *couples;
    struct hd_map site, pair, triple;
};
uint32_t hd_triplet_number(struct hd_triplet_sites *sites, const struct hd_triplet *triplet);
/* The same, HD_NONE if it has none yet. */
uint32_t hd_triplet_find(struct hd_triplet_sites *sites, const struct hd_triplet *triplet);
void hd_triplet_sites_free(struct hd_triplet_sites *sites);
/* By read, then other write: for qsort. */
int hd_triplet_compare(const void *left, const void *right);
/* Adds what a worker found. */
void hd_nondet_take(struct hd_nondet *nondet, const struct hd_triplet *found, size_t count);
/* Adds what one worker counted. */
void hd_nondet_stats_add(struct hd_nondet_stats *total, const struct hd_nondet_stats *part);

/* Groups by sites, harm, findings (nondet_report.c). */
bool hd_nondet_report(struct hd_predict *predict, const struct hd_nondet *nondet,
                      struct hd_findings *findings, struct hd_error *error);

#endif
