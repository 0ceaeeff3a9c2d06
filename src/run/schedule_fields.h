/* Schedules and steerings as JSON values, for the files and jobs that hold them. */
#ifndef HEDDLE_RUN_SCHEDULE_FIELDS_H
#define HEDDLE_RUN_SCHEDULE_FIELDS_H

#include "run/fields.h"
#include "run/schedule.h"

/* The places of targets go to *places, or come from there. */
json_t *hd_steering_write(const struct hd_steering *steering, const struct hd_sites *places);
bool hd_steering_read(struct hd_fields_in *in, const json_t *value, const char *where,
                      struct hd_steering *steering, struct hd_sites *places);

bool hd_schedule_from_json(const json_t *root, const char *name, struct hd_schedule *schedule,
                           struct hd_error *error);

#endif
