/* The reports of the explorer's two commands: what was found, and what it took. */
#ifndef HEDDLE_REPORT_EXPLORED_H
#define HEDDLE_REPORT_EXPLORED_H

#include "explore/explore.h"
#include "report/report.h"

/* A page for each finding that matters, `most` of them at most (0: all), lines for those that fail
 * in the same way (with `all` also for those that did no harm), and what it took. */
void hd_report_hunt(FILE *out, const struct hd_exploration *hunt, bool all, size_t most,
                    const struct hd_report_style *style);
/* `stats`: also how many interleavings were left at each step. */
void hd_report_exposed(FILE *out, const struct hd_exploration *exploration,
                       enum hd_strategy strategy, bool stats, const struct hd_report_style *style);

/* What the other formats say of a hunt's input, and what was not looked at. */
#define HD_EXPLORED_EFFORTS 19u
#define HD_EXPLORED_NOTES 6u
struct hd_explored_input {
    struct hd_report_input input;
    struct hd_report_number effort[HD_EXPLORED_EFFORTS];
    char note[HD_EXPLORED_NOTES][768];
    const char *notes[HD_EXPLORED_NOTES];
    char *command;
};
void hd_explored_input(const struct hd_exploration *exploration, const struct hd_program *program,
                       struct hd_explored_input *made);
void hd_explored_input_free(struct hd_explored_input *made);
/* The findings that are shown in other formats than text: those that matter, or all. The copy of
 * the list is malloc'ed; what it holds is the exploration's. */
struct hd_findings hd_explored_shown(struct hd_exploration *exploration, bool all);

/* Has expose a failure to show? Suppressions and a baseline may hide it. */
bool hd_exposed_shown(const struct hd_exploration *exploration);
/* What only expose has, as the member "expose" of JSON. */
struct json_t *hd_report_exposed_json(const struct hd_exploration *exploration,
                                      enum hd_strategy strategy);

/* What the exploration can say about what is left: lines of text, and the member "exploration" of
 * JSON. */
void hd_report_closed(FILE *out, const struct hd_exploration *exploration,
                      const struct hd_report_style *style);
struct json_t *hd_report_closed_json(const struct hd_exploration *exploration);

/* Lines of both: output that depends on the schedule, runs that did not end before the time was up,
 * and what traced runs covered of what is feasible; nothing if there are none. */
void hd_report_output(FILE *out, const struct hd_exploration *exploration);
void hd_report_cut(FILE *out, const struct hd_exploration *exploration);
void hd_report_coverage(FILE *out, const struct hd_exploration *exploration);

#endif
