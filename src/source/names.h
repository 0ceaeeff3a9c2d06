/* Writes the names of what a program accesses, by file, line and column (trace/names.h reads them).
 */
#ifndef HEDDLE_SOURCE_NAMES_H
#define HEDDLE_SOURCE_NAMES_H

#include "source/source.h"

/* malloc'ed text; *count gets the number of accesses in it. Variables that only their own function
 * can reach are left out: nothing at run time is shared there. */
char *hd_source_names(const struct hd_source *source, uint32_t *count);

#endif
