/* Findings from a run that is checked while it goes on (run/observed.h): what broke a learned
 * invariant, in the programmer's words. */
#ifndef HEDDLE_EXPLORE_CHECKED_H
#define HEDDLE_EXPLORE_CHECKED_H

#include "finding/finding.h"
#include "learn/invariants.h"
#include "run/observed.h"

struct hd_names;

/* Zeroed, with the two options set: at the beginning of a run. */
struct hd_checked {
    const struct hd_invariants *invariants; /* NULL: none is known */
    bool all;                               /* also what breaks no invariant that holds */
    /* its own */
    struct hd_symbols *symbols;
    uint32_t modules; /* that the symbols are of */
    struct hd_names *names;
    struct hd_arena arena;
};
void hd_checked_free(struct hd_checked *checked);

/* The key of an invariant for an access in the code of the run. Strings live as long as *checked.
 */
struct hd_place hd_checked_place(struct hd_checked *checked, const struct hd_observed *observed,
                                 uint32_t site, unsigned does);

/* Counts a violation as a candidate; if it breaks an invariant (or `all`), adds it to the findings:
 * true. */
bool hd_checked_add(struct hd_checked *checked, const struct hd_observed *observed,
                    const struct hd_observed_violation *violation, struct hd_findings *findings);

#endif
