/* One scale for what may be intended: how likely is it a bug, from 0 to 100? An analysis starts
 * somewhere on the scale and adds signs for and against a bug, each with its words. From
 * HD_SCORE_REPORTED on it is reported without --all. */
#ifndef HEDDLE_FINDING_INTENT_H
#define HEDDLE_FINDING_INTENT_H

#include "finding/finding.h"

enum { HD_SCORE_REPORTED = 60, HD_SCORE_MOST = 100 };

struct hd_weighing {
    int score;      /* where the analysis starts */
    bool itself;    /* a bug by itself, whatever the score */
    bool exercised; /* a run that passed did it */
    char words[768];
};
/* Adds points (negative: against a bug), and says why. */
void hd_weigh(struct hd_weighing *weighing, int points, const char *why);
enum hd_finding_harm hd_weighing_harm(const struct hd_weighing *weighing);
/* Sets harm, score and ranking. */
void hd_finding_set_intent(struct hd_findings *findings, struct hd_finding *finding,
                           const struct hd_weighing *weighing);

#endif
