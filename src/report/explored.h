/* The reports of the explorer's two commands: what was found, and what it took. */
#ifndef HEDDLE_REPORT_EXPLORED_H
#define HEDDLE_REPORT_EXPLORED_H

#include "explore/explore.h"
#include "report/report.h"

/* A page for each finding that matters, lines for those that fail in the same way (with `all` also
 * for those that did no harm), and what it took. */
void hd_report_hunt(FILE *out, const struct hd_exploration *hunt, bool all,
                    const struct hd_report_style *style);
/* False when the stream takes no more. */
bool hd_report_hunt_json(FILE *out, const struct hd_exploration *hunt,
                         const struct hd_program *program, bool all, const char *version);

/* `stats`: also how many interleavings were left at each step. */
void hd_report_exposed(FILE *out, const struct hd_exploration *exploration,
                       enum hd_strategy strategy, bool stats, const struct hd_report_style *style);
/* "heddle-expose/1" */
void hd_report_exposed_json(FILE *out, const struct hd_exploration *exploration,
                            enum hd_strategy strategy);

/* Lines of both: output that depends on the schedule, runs that did not end before the time was up,
 * and what traced runs covered of what is feasible; nothing if there are none. */
void hd_report_output(FILE *out, const struct hd_exploration *exploration);
void hd_report_cut(FILE *out, const struct hd_exploration *exploration);
void hd_report_coverage(FILE *out, const struct hd_exploration *exploration);

#endif
