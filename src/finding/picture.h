/* The picture of a schedule (struct hd_finding_picture), from the model. Only for schedule.c. */
#ifndef HEDDLE_FINDING_PICTURE_H
#define HEDDLE_FINDING_PICTURE_H

#include "base/map.h"
#include "finding/finding.h"
#include "model/describe.h"

/* A step from an event of a model; its lane is the thread's number. */
struct hd_finding_step hd_finding_step(struct hd_findings *findings, struct hd_describe *describe,
                                       const struct hd_model *model, uint32_t event);

/* A schedule whose steps and lanes are set. */
struct hd_shown_schedule {
    struct hd_findings *findings;
    struct hd_finding *finding;
    struct hd_describe *describe;
    const struct hd_model *model;
    const uint32_t *witness;    /* its end */
    const struct hd_map *place; /* event -> index in it */
    uint32_t done, count;       /* executed, all */
    const uint32_t *lane_of;    /* by thread; HD_NONE: not shown */
};
void hd_finding_set_picture(const struct hd_shown_schedule *schedule);

#endif
