/* A finding's events and its schedule from those of a model: words instead of numbers. */
#ifndef HEDDLE_FINDING_FROM_MODEL_H
#define HEDDLE_FINDING_FROM_MODEL_H

#include "finding/finding.h"
#include "model/describe.h"

/* Fills a draft's events from those of a model, and its variable with that of the first. */
void hd_finding_set_events(struct hd_findings *findings, struct hd_finding *finding,
                           struct hd_describe *describe, const struct hd_model *model,
                           const uint32_t *event, uint32_t events);

/* Fills witness, lanes and steps: the reordering, of whose end `next` events are not executed, and
 * the few steps of it that matter for the events set before. */
void hd_finding_set_witness(struct hd_findings *findings, struct hd_finding *finding,
                            struct hd_describe *describe, const struct hd_model *model,
                            const struct hd_span *span, uint32_t spans, uint32_t next);

/* All of a trace but what threads were blocked in when it ended, and the notes that the recorder
 * added then; room for one more than the former. Returns how many there are. */
uint32_t hd_spans_before_blocked(const struct hd_model *model, struct hd_span *span);

#endif
