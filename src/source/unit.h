/* A translation unit that is read somewhere else, perhaps on another machine (base/errands.h). The
 * job is what a helper is sent (worker.h); the result has all files that were read, each with the
 * hash of its content, and the unit's text. Whoever takes it looks whether the files are the same
 * here: so what it gets is what it would have read itself. */
#ifndef HEDDLE_SOURCE_UNIT_H
#define HEDDLE_SOURCE_UNIT_H

#include "base/packed.h"
#include "source/cache.h"

/* The job of a unit. */
void hd_unit_job(struct hd_packed *to, const struct hd_compile_command *unit, unsigned method);
/* Is a text that of a unit without errors? */
bool hd_unit_is_good(const char *text);

/* Helpers of a process that reads units for others: one for each thread that does. NULL after an
 * error. */
struct hd_unit_readers;
struct hd_unit_readers *hd_unit_readers_new(struct hd_error *error);
/* Reads one. A unit that can't be read without errors gives an empty result: whoever wants it has
 * to see for itself. May run in several threads at once. */
bool hd_unit_read(struct hd_unit_readers *readers, const char *job, size_t bytes,
                  struct hd_packed *result, struct hd_error *error);
void hd_unit_readers_free(struct hd_unit_readers *readers);

/* Takes a result: the text of the unit, malloc'ed, and the paths of what it was read from as
 * hd_source_cache_put has them. NULL: it is of no use here. */
char *hd_unit_take(struct hd_source_cache *cache, const char *result, size_t bytes, size_t *length,
                   struct hd_packed *depends);

#endif
