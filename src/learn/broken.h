/* A broken invariant as a finding: the same words for a run that was checked and for a trace. */
#ifndef HEDDLE_LEARN_BROKEN_H
#define HEDDLE_LEARN_BROKEN_H

#include "facts/patterns.h"
#include "facts/two_variables.h"
#include "finding/from_model.h"
#include "learn/detect.h"
#include "learn/invariants.h"

/* Fills all of a draft but its events, variable and instances. Its three events are set: P, the
 * access between, I. `invariant` is the one that is broken; NULL: there is none that holds, and the
 * interleaving may be intended. */
void hd_broken_finding(struct hd_findings *findings, struct hd_finding *draft,
                       enum hd_pattern pattern, const struct hd_invariant *invariant);

/* The same of two variables that belong together, whose names are set: four events, A1(x), the
 * other thread's two in their order, A2(y). `likely`: a rule or an invariant says that they belong
 * together. */
void hd_broken_pair_finding(struct hd_findings *findings, struct hd_finding *draft,
                            enum hd_two_case which, const struct hd_invariant *invariant,
                            bool likely);

/* The violations of a trace that break an invariant that holds, or all of them, as findings;
 * counted in the summary. `invariants` may be NULL: none is known. */
void hd_broken_in_trace(struct hd_findings *findings, const struct hd_model *model,
                        struct hd_describe *describe, const struct hd_invariants *invariants,
                        const struct hd_detected *detected, bool all);

#endif
