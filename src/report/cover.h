/* Coverage to read and to parse: the table of the seven criteria, the table of costs, growth over
 * runs, and what is open. */
#ifndef HEDDLE_REPORT_COVER_H
#define HEDDLE_REPORT_COVER_H

#include "base/json.h"
#include "cover/cover.h"

#include <stdio.h>

/* One trace: sizes of the property sets, what it covered, and with `costs` how many runs a
 * criterion would take (Table 6.1 with this program's numbers). */
void hd_report_measure(FILE *out, const char *name, const struct hd_cover_measure *measure,
                       bool costs);
/* All runs, by sites. */
void hd_report_cover(FILE *out, const struct hd_cover *cover);
/* What is open under a criterion, likely bugs first; at most `most` (0: all). */
void hd_report_open(FILE *out, const struct hd_cover *cover, enum hd_criterion criterion,
                    uint32_t most);
/* Growth over runs, all kept criteria in one plot. */
void hd_report_growth_svg(FILE *out, const struct hd_cover *cover, const char *title);
/* Growth of several files under one criterion, a line for each: stress beside CTrigger, say. */
void hd_report_growths_svg(FILE *out, const struct hd_cover *cover, const char *const *name,
                           uint32_t files, enum hd_criterion criterion);

json_t *hd_measure_json(const char *name, const struct hd_cover_measure *measure);
json_t *hd_cover_json(const struct hd_cover *cover);

#endif
