/* Parts of a SARIF log (sarif.c): places, results, notifications, as JSON values. */
#ifndef HEDDLE_REPORT_SARIF_PARTS_H
#define HEDDLE_REPORT_SARIF_PARTS_H

#include "base/json.h"
#include "report/report.h"

/* The name of the directory that relative paths are below. */
#define HD_SARIF_ROOT "SRCROOT"

/* "file:///dir/" of a directory. */
json_t *hd_sarif_directory(const char *path);
/* An artifactLocation. */
json_t *hd_sarif_artifact(const char *path);

/* A place in the source: what is unknown is NULL, "" or 0. */
struct hd_sarif_place {
    const char *file, *function, *site;
    uint32_t line, column;
};
/* A location, with a message if it is not NULL, which is taken over. */
json_t *hd_sarif_location(const struct hd_sarif_place *place, json_t *message);
/* {"text": ...} */
json_t *hd_sarif_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A result. `state` is its baselineState, NULL without a baseline; `suppressible`: suppressions
 * were given, so that every result says whether one hides it. */
json_t *hd_sarif_result(const struct hd_finding *finding, const char *state, bool suppressible);

#endif
