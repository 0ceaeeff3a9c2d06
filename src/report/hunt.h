/* The report of a hunt for a person: what is wrong, the good and the bad order side by side, how
 * reliably it fails, and the command that does it again. */
#ifndef HEDDLE_REPORT_HUNT_H
#define HEDDLE_REPORT_HUNT_H

#include "report/report.h"

/* One finding that was forced, or is harmful by itself. */
void hd_report_hunted(FILE *out, const struct hd_finding *finding,
                      const struct hd_report_style *style);
/* One line for a finding that did no harm, or fails as another one does. */
void hd_report_hunted_line(FILE *out, const struct hd_finding *finding,
                           const struct hd_report_style *style);

#endif
