/* A buffer in front of a file descriptor. */
#ifndef HEDDLE_TRACE_OUTPUT_H
#define HEDDLE_TRACE_OUTPUT_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct hd_output {
    int fd;
    const char *path; /* for messages */
    char *buffer;
    size_t used;
    struct hd_error *error;
    bool failed; /* *error says why; further output is dropped */
};

enum { HD_OUTPUT_BYTES = 1 << 18 };

void hd_output_open(struct hd_output *out, int fd, const char *path, struct hd_error *error);
void hd_output_slowly(struct hd_output *out, const char *bytes, size_t length);
static inline void hd_output_bytes(struct hd_output *out, const char *bytes, size_t length) {
    if (length > HD_OUTPUT_BYTES - out->used) {
        hd_output_slowly(out, bytes, length);
        return;
    }
    memcpy(out->buffer + out->used, bytes, length);
    out->used += length;
}
static inline void hd_output_string(struct hd_output *out, const char *string) {
    hd_output_bytes(out, string, strlen(string));
}
static inline void hd_output_char(struct hd_output *out, char c) { hd_output_bytes(out, &c, 1); }
void hd_output_number(struct hd_output *out, uint64_t number);
void hd_output_hex(struct hd_output *out, uint64_t number); /* with 0x */
/* Writes what is left and frees the buffer. False if anything went wrong since the start. */
bool hd_output_close(struct hd_output *out);

#endif
