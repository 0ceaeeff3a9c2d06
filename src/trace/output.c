/* A buffer in front of a file descriptor: see output.h. */
#include "trace/output.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void hd_output_open(struct hd_output *out, int fd, const char *path, struct hd_error *error) {
    *out = (struct hd_output){.fd = fd, .path = path, .error = error};
    out->buffer = hd_alloc(1, HD_OUTPUT_BYTES);
}

static void flush(struct hd_output *out) {
    const char *at = out->buffer;
    while (out->used > 0 && !out->failed) {
        ssize_t written = write(out->fd, at, out->used);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            hd_fail(out->error, HD_ERR_IO, "%s: cannot write: %s", out->path,
                    strerror(written < 0 ? errno : ENOSPC));
            out->failed = true;
            break;
        }
        at += written;
        out->used -= (size_t)written;
    }
    out->used = 0;
}

void hd_output_slowly(struct hd_output *out, const char *bytes, size_t length) {
    while (length > 0) {
        if (out->used == HD_OUTPUT_BYTES) flush(out);
        size_t part = HD_OUTPUT_BYTES - out->used;
        if (part > length) part = length;
        memcpy(out->buffer + out->used, bytes, part);
        out->used += part;
        bytes += part;
        length -= part;
    }
}

static void digits(struct hd_output *out, uint64_t number, unsigned base) {
    char text[24];
    size_t at = sizeof text;
    do text[--at] = "0123456789abcdef"[number % base];
    while ((number /= base) != 0);
    hd_output_bytes(out, text + at, sizeof text - at);
}

void hd_output_number(struct hd_output *out, uint64_t number) { digits(out, number, 10); }

void hd_output_hex(struct hd_output *out, uint64_t number) {
    hd_output_bytes(out, "0x", 2);
    digits(out, number, 16);
}

bool hd_output_close(struct hd_output *out) {
    flush(out);
    free(out->buffer);
    out->buffer = NULL;
    return !out->failed;
}
