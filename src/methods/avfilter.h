/* AVFilter (Zeng, Sun, Liu and He, section 3.3, Algorithm 1, as ALGORITHMS section 2 restates it):
 * which candidate triples break a read-after-write relation that they depend on. The paper scans
 * the trace for every candidate; here one pass makes indexes and a candidate costs a few binary
 * searches. */
#ifndef HEDDLE_METHODS_AVFILTER_H
#define HEDDLE_METHODS_AVFILTER_H

#include "facts/branches.h"
#include "facts/triples.h"

/* What made it reject; the names are those of the cases of Lemmas 1 and 2. */
enum hd_avfilter_case {
    HD_AVFILTER_KEEPS = 0,
    HD_AVFILTER_A1, /* a read of j's thread before its previous access would lose its write */
    HD_AVFILTER_A2, /* a read of j's thread before j would lose its write */
    HD_AVFILTER_A3, /* a read of i's thread would see a write of j's thread, and a branch follows */
    HD_AVFILTER_B1, /* a read of i's thread up to i would lose its write */
    HD_AVFILTER_B2  /* a read between i and k would lose its write, and a branch follows */
};

struct hd_avfilter;
struct hd_avfilter *hd_avfilter_new(const struct hd_model *model,
                                    const struct hd_branches *branches);
void hd_avfilter_free(struct hd_avfilter *filter);

/* Makes ready for triples whose local thread is this one; nothing to do if it was the last one. */
void hd_avfilter_begin(struct hd_avfilter *filter, uint32_t thread);

enum hd_avfilter_case hd_avfilter_rejects(const struct hd_avfilter *filter,
                                          const struct hd_triple *triple);

#endif
