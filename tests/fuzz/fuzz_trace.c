/* Feeds the binary trace reader whatever comes, as it is and with its checksums put right, so that
 * what lies behind them is reached as well. What it reads is written in every format and read
 * again. */
#include "support/counts_help.h"
#include "trace/convert.h"
#include "trace/format.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

/* Puts checksums and lengths right as far as chunks can be told apart. */
static void repair(uint8_t *data, size_t size) {
    struct hd_file_header header;
    if (size < sizeof header) return;
    memcpy(&header, data, sizeof header);
    memcpy(header.magic, HD_FILE_MAGIC, HD_FILE_MAGIC_BYTES);
    header.version = HD_FILE_VERSION;
    header.features &= HD_FEATURES_KNOWN;
    header.checksum = hd_file_header_checksum(&header);
    memcpy(data, &header, sizeof header);
    size_t offset = sizeof header;
    while (size - offset >= sizeof(struct hd_file_chunk)) {
        struct hd_file_chunk chunk;
        memcpy(&chunk, data + offset, sizeof chunk);
        size_t left = size - offset - sizeof chunk;
        if (chunk.length > left) chunk.length = (uint32_t)left;
        chunk.checksum = hd_file_chunk_checksum(&chunk, data + offset + sizeof chunk, offset);
        memcpy(data + offset, &chunk, sizeof chunk);
        offset += sizeof chunk + chunk.length;
    }
}

static void check(const struct hd_trace *trace) {
    for (uint32_t i = 0; i < trace->events; i++) {
        if (trace->thread[i] >= trace->threads || trace->stack[i] >= trace->stacks ||
            trace->kind[i] == HD_EV_NONE || trace->kind[i] >= HD_EV_THREAD)
            abort();
        (void)hd_trace_size(trace, i);
    }
    for (uint32_t i = 1; i < trace->stacks; i++) {
        if (trace->stack_parent[i] >= i) abort();
    }
    for (uint32_t i = 1; i < trace->extras; i++) {
        if (trace->extra_event[i] <= trace->extra_event[i - 1]) abort();
    }
}

static void convert(const struct hd_trace *trace) {
    struct hd_error error;
    struct hd_text_options options = {.no_branches = trace->events % 2 == 0};
    uint64_t left_out;
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    (void)hd_text_write(trace, fd, "null", &options, &error);
    (void)hd_rapidbin_write(trace, fd, "null", &left_out, &error);
    close(fd);
    /* costs more than all the rest */
    if (trace->raw_events % 8 == 0) (void)hd_trace_save(trace, "/dev/null", &error);
}

/* What is read through the filter is a trace as well, made from as many events. */
static void read_some(const uint8_t *data, size_t size, struct hd_trace_options options,
                      const struct hd_trace *all) {
    struct hd_trace trace;
    struct hd_error error;
    for (int keep = HD_KEEP_STEPS; keep <= HD_KEEP_CONCURRENT; keep++) {
        options.keep = (enum hd_trace_keep)keep;
        options.threads = 1 + (unsigned)keep % 2;
        if (!hd_trace_read(data, size, "input", &options, &trace, &error)) abort();
        check(&trace);
        if (trace.recorded != all->recorded || trace.end.whole != all->end.whole ||
            strcmp(trace.end.missing, all->end.missing) != 0)
            abort();
        if (trace.kept == HD_KEEP_ALL ? trace.recorded_by != NULL : !has_kinds_of(&trace, all))
            abort();
        hd_trace_free(&trace);
    }
}

static void read_one(const uint8_t *data, size_t size) {
    struct hd_trace_options options = {.format = HD_FORMAT_BINARY,
                                       .format_given = true,
                                       .keep = HD_KEEP_ALL,
                                       .most_expected = 1 << 16};
    struct hd_trace trace;
    struct hd_error error;
    if (!hd_trace_read(data, size, "input", &options, &trace, &error)) {
        if (error.code == HD_OK || error.message[0] == '\0') abort();
        return;
    }
    if (!trace.end.whole && trace.end.missing[0] == '\0') abort();
    check(&trace);
    convert(&trace);
    if (trace.options.full != 0) read_some(data, size, options, &trace);
    hd_trace_free(&trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    read_one(data, size);
    uint8_t *copy = malloc(size == 0 ? 1 : size);
    if (copy == NULL) return 0;
    memcpy(copy, data, size);
    repair(copy, size);
    read_one(copy, size);
    free(copy);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed) {
    (void)seed;
    size = LLVMFuzzerMutate(data, size, max);
    repair(data, size);
    return size;
}
