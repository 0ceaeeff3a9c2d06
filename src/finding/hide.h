/* Findings that a user does not want to see: by suppressions (finding/suppress.h), and because a
 * baseline has them (finding/baseline.h). They leave the list, so that whoever reports or decides
 * on an exit status sees only what is shown, and stay in `hidden` for formats that say of each why.
 * Fingerprints must be set. */
#ifndef HEDDLE_FINDING_HIDE_H
#define HEDDLE_FINDING_HIDE_H

#include "finding/baseline.h"
#include "finding/suppress.h"

/* What hides findings; zeroed: nothing. */
struct hd_hiding {
    struct hd_suppressions suppressions;
    struct hd_baseline baseline;
};

/* Hides what is to be hidden. The counts are those of the last list. */
void hd_findings_hide(struct hd_findings *findings, struct hd_hiding *hiding);
/* How many of the hidden ones a suppression hides. */
uint64_t hd_findings_suppressed(const struct hd_findings *findings);
void hd_hiding_free(struct hd_hiding *hiding);

#endif
