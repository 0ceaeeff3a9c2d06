/* The two properties that are checked, for lint.c. */
#ifndef HEDDLE_LINT_DETECT_H
#define HEDDLE_LINT_DETECT_H

#include "lint/lint.h"

void hd_lint_find_stale(struct hd_lint *lint);
void hd_lint_find_views(struct hd_lint *lint);

/* Plain view consistency of Artho, Havelund and Biere: all accesses, no correlation. */
void hd_lint_find_artho(struct hd_lint *lint);

/* How a maximal view accesses the variables that partial views access in this mode: reads are
 * broken by writes, and writes by reads; Artho's views have no mode. */
static inline uint8_t hd_view_against(uint8_t mode) {
    return mode == HD_ACCESS_READ_WRITE ? mode : mode ^ HD_ACCESS_READ_WRITE;
}
/* Adds a pair of partial views with its steps and lists to what was found: the overlaps of the two
 * with the maximal view, and that. Two blocks that are known are counted. */
void hd_lint_keep_pair(struct hd_lint *lint, struct hd_map *known, struct hd_view_pair *pair,
                       const hd_number_list *one, const hd_number_list *two,
                       const hd_number_list *whole);

/* All locks that are held when a block runs, as bits by number. */
uint64_t hd_lint_locks(const struct hd_lint *lint, uint32_t block);
/* Whether two blocks may access the same object: they have a lock in common, or one has none that
 * is known. Without low-level races, which the paper takes for granted, blocks of different locks
 * that access the same field do so in different objects. */
bool hd_lint_same_object(const struct hd_lint *lint, uint32_t one, uint32_t other);
/* Whether two threads of the numbers may run at once: two, or one of which there are many. Two
 * functions main belong to two programs. */
static inline bool hd_lint_at_once(const struct hd_lint *lint, uint32_t one, uint32_t other) {
    const struct hd_thread *a = &lint->views.thread.data[one], *b = &lint->views.thread.data[other];
    return one == other ? a->many : a->create != HD_SOURCE_NONE || b->create != HD_SOURCE_NONE;
}

#endif
