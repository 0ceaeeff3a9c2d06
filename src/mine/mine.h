/* MUVI as a whole: a program's source in, correlations and inconsistent updates out. */
#ifndef HEDDLE_MINE_MINE_H
#define HEDDLE_MINE_MINE_H

#include "finding/finding.h"
#include "mine/corr_file.h"
#include "mine/correlate.h"
#include "mine/names.h"
#include "mine/updates.h"

struct hd_mine {
    const struct hd_source *source;
    struct hd_mine_options options;
    struct hd_access_sets sets;
    struct hd_mine_names names;
    struct hd_correlations correlations;
    struct hd_updates updates;
};

/* The source must live as long as the result. */
void hd_mine_run(const struct hd_source *source, const struct hd_mine_options *options,
                 struct hd_mine *mine);
void hd_mine_free(struct hd_mine *mine);

/* The correlations as a file. Names are those of `mine`. */
void hd_mine_corr(const struct hd_mine *mine, struct hd_corr_file *file);

/* The updates as findings, best first; those that are probably intended are only counted, unless
 * `all`. Places are shown relative to `base` (NULL: as they are). */
void hd_mine_findings(const struct hd_mine *mine, const char *base, bool all,
                      struct hd_findings *findings);

#endif
