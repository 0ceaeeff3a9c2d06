/* See intent.h. */
#include "finding/intent.h"

#include <stdio.h>
#include <string.h>

void hd_weigh(struct hd_weighing *weighing, int points, const char *why) {
    size_t used = strlen(weighing->words);
    weighing->score += points;
    snprintf(weighing->words + used, sizeof weighing->words - used, "%s%s", used > 0 ? "; " : "",
             why);
}

enum hd_finding_harm hd_weighing_harm(const struct hd_weighing *weighing) {
    if (weighing->itself) return HD_HARM_ITSELF;
    if (weighing->exercised) return HD_HARM_EXERCISED;
    return weighing->score >= HD_SCORE_REPORTED ? HD_HARM_LIKELY : HD_HARM_UNLIKELY;
}

void hd_finding_set_intent(struct hd_findings *findings, struct hd_finding *finding,
                           const struct hd_weighing *weighing) {
    int score = weighing->score;
    finding->harm = hd_weighing_harm(weighing);
    finding->score = score < 0 ? 0 : score > HD_SCORE_MOST ? HD_SCORE_MOST : (uint32_t)score;
    finding->ranking = hd_finding_text(findings, "%s", weighing->words);
}
