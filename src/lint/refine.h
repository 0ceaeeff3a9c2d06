/* Refinements beyond the paper: what makes a stale value harmless. Each can be switched off. */
#ifndef HEDDLE_LINT_REFINE_H
#define HEDDLE_LINT_REFINE_H

#include "lint/flow.h"

/* The block takes the value out: after this read it always writes the variable, or the index by
 * which the element was chosen. Then the value is the thread's own (a slot of a queue, a ticket).
 */
bool hd_taken(const struct hd_lint *lint, uint32_t block, uint32_t read);

/* The block gives back a claim: it writes a flag without reading it that another block of the
 * thread tested and set. Whoever gets there holds the claim, whatever the conditions on the way
 * are worth by then. */
bool hd_gives_back(const struct hd_lint *lint, uint32_t thread, uint32_t block);
/* The block reads the variable and writes it, under a condition on what it read or always. */
bool hd_claims(const struct hd_lint *lint, uint32_t block, uint32_t variable);

enum hd_validity { HD_NOT_CHECKED, HD_CHECKED_AGAIN, HD_VERSION_COMPARED };
/* Whether the write in block `second`, reached at a point of the flow, happens only under a
 * condition on a fresh read: of the variable itself, or of a version that is compared with the one
 * that block `first` read. */
enum hd_validity hd_validity(const struct hd_lint *lint, uint32_t first, uint32_t second,
                             uint32_t variable, const struct hd_flow *flow, uint32_t point);

/* The variable is only ever printed, logged or counted with. */
bool hd_only_logged(const struct hd_lint *lint, uint32_t variable);
/* A function whose name says that it logs. */
bool hd_logs(const struct hd_source *source, uint32_t call);

/* The block accesses the variable, or some block of its lock writes it together with one that it
 * accesses. */
bool hd_related(const struct hd_lint *lint, uint32_t variable, uint32_t block);

#endif
