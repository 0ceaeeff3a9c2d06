/* A file that appears under its name only when it is whole. Until then it is a temporary file
 * beside it, removed if the command fails or is interrupted. */
#ifndef HEDDLE_CLI_OUTPUT_FILE_H
#define HEDDLE_CLI_OUTPUT_FILE_H

#include "base/status.h"

#include <stdio.h>

struct hd_output_file {
    const char *path; /* as the user named it */
    char *target;     /* what it will be; symbolic links are followed */
    char *temporary;  /* where it is now; NULL if written in place (a pipe, a device) */
    int fd;
};

/* "-" is standard output. One file at a time. */
bool hd_output_file_open(struct hd_output_file *file, const char *path, struct hd_error *error);
/* What to open by name instead of writing to fd. */
const char *hd_output_file_name(const struct hd_output_file *file);
/* Gives it its name. On failure nothing is left. */
bool hd_output_file_finish(struct hd_output_file *file, struct hd_error *error);
void hd_output_file_abandon(struct hd_output_file *file);
/* All of that in one: `write` fills the file through a stream, and returns false if it could not.
 */
bool hd_output_file_write(const char *path, bool (*write)(FILE *out, const void *context),
                          const void *context, struct hd_error *error);
/* Removes the temporary file, if there is one now; for when the process is about to end. */
void hd_output_file_remove(void);

#endif
