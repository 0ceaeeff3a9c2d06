/* The two properties that are checked, for lint.c. */
#ifndef HEDDLE_LINT_DETECT_H
#define HEDDLE_LINT_DETECT_H

#include "lint/lint.h"

void hd_lint_find_stale(struct hd_lint *lint);
void hd_lint_find_views(struct hd_lint *lint);

/* Plain view consistency of Artho, Havelund and Biere: all accesses, no correlation. */
void hd_lint_find_artho(struct hd_lint *lint);

/* All locks that are held when a block runs, as bits by number. */
uint64_t hd_lint_locks(const struct hd_lint *lint, uint32_t block);
/* Whether two threads of the numbers may run at once: two, or one of which there are many. */
static inline bool hd_lint_at_once(const struct hd_lint *lint, uint32_t one, uint32_t other) {
    return one != other || lint->views.thread.data[one].many;
}

#endif
