/* Feeds the text reader, and the RapidBin reader, whatever comes. What the text reader takes must
 * come back the same from its own text and through the binary format. */
#define _GNU_SOURCE /* memfd_create */
#include "trace/convert.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_as(enum hd_trace_format format, const void *data, size_t size,
                    struct hd_trace *trace) {
    struct hd_trace_options options = {.format = format, .format_given = true};
    struct hd_error error;
    if (hd_trace_read(data, size, "input", &options, trace, &error)) return true;
    if (error.code == HD_OK || error.message[0] == '\0') abort();
    return false;
}

static bool same(const struct hd_trace *a, const struct hd_trace *b) {
    if (a->events != b->events || a->threads != b->threads) return false;
    for (uint32_t i = 0; i < a->events; i++) {
        if (a->thread[i] != b->thread[i] || a->kind[i] != b->kind[i] || a->site[i] != b->site[i])
            return false;
    }
    return true;
}

static void round_trip(const struct hd_trace *trace, int fd, bool text) {
    char path[32];
    struct hd_error error;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0) return;
    bool good = text ? hd_text_write(trace, fd, "memory", NULL, &error)
                     : hd_trace_save(trace, path, &error);
    if (!good) abort();
    struct hd_trace back;
    if (!hd_trace_load(path, NULL, &back, &error) || !same(trace, &back)) {
        fprintf(stderr, "does not come back: %s\n", error.message);
        abort();
    }
    hd_trace_free(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int fd = -1;
    if (fd < 0) fd = memfd_create("trace", 0);
    if (fd < 0) return 0;
    struct hd_trace trace;
    if (read_as(HD_FORMAT_TEXT, data, size, &trace)) {
        round_trip(&trace, fd, false);
        if (trace.events > 0) round_trip(&trace, fd, true);
        hd_trace_free(&trace);
    }
    if (read_as(HD_FORMAT_RAPIDBIN, data, size, &trace)) {
        round_trip(&trace, fd, false);
        hd_trace_free(&trace);
    }
    return 0;
}
