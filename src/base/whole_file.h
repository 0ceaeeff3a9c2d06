/* Small files that are whole or not there. */
#ifndef HEDDLE_BASE_WHOLE_FILE_H
#define HEDDLE_BASE_WHOLE_FILE_H

#include "base/status.h"

#include <stddef.h>

/* All of a file, "-" being standard input; malloc'ed, with a NUL behind it. NULL if it can't be
 * read or is longer than `most` bytes: the error says so. */
char *hd_whole_file_read(const char *path, size_t most, size_t *bytes, struct hd_error *error);

/* Writes a text to a file that appears under its name only when it is whole; an existing one is
 * replaced. Signals wait meanwhile, so that none leaves a temporary file behind. */
bool hd_whole_file_write(const char *path, const char *text, struct hd_error *error);

/* All of the bytes, however often it takes; false with errno if they can't be written. */
bool hd_write_all(int fd, const void *bytes, size_t count);

#endif
