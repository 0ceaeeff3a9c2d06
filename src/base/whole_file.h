/* Small files that are whole or not there. */
#ifndef HEDDLE_BASE_WHOLE_FILE_H
#define HEDDLE_BASE_WHOLE_FILE_H

#include "base/status.h"

/* Writes a text to a file that appears under its name only when it is whole; an existing one is
 * replaced. Signals wait meanwhile, so that none leaves a temporary file behind. */
bool hd_whole_file_write(const char *path, const char *text, struct hd_error *error);

#endif
