/* Suspicions: what an analysis of the source reported (`heddle lint --format json`), read back to
 * be forced on the program. The roles of a finding's events say which access comes first, what
 * another thread does then, and which comes second. */
#ifndef HEDDLE_EXPLORE_SUSPICIONS_H
#define HEDDLE_EXPLORE_SUSPICIONS_H

#include "base/status.h"
#include "finding/read.h"

#include <stddef.h>

/* Is it of a kind that can be forced so? */
bool hd_is_suspicion(const struct hd_finding *finding);

/* Untrusted input: the error names the file, and what is wrong with it. Every finding of the file
 * is a suspicion with events of all roles, each with file and line. */
bool hd_suspicions_load(const char *path, struct hd_findings_file *file, struct hd_error *error);
/* The same from memory. */
bool hd_suspicions_parse(const char *name, const char *text, size_t bytes,
                         struct hd_findings_file *file, struct hd_error *error);

/* "local.c:24": the first event with the role; "?" if there is none. In *text. */
void hd_suspicion_where(const struct hd_finding *suspicion, enum hd_finding_role role, char *text,
                        size_t room);

#endif
