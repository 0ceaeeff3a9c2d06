/* Loads a trace of any format, told by its content: see trace.h. */
#include "trace/build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* A whole file in memory. */
struct content {
    uint8_t *bytes;
    size_t length;
    bool mapped;
};

static bool read_stream(int fd, const char *path, struct content *content, struct hd_error *error) {
    HD_VECTOR(uint8_t) buffer = {0};
    for (;;) {
        hd_vector_reserve(&buffer, (size_t)1 << 16);
        ssize_t got = read(fd, buffer.data + buffer.size, buffer.capacity - buffer.size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            hd_fail(error, HD_ERR_IO, "%s: cannot read: %s", path, strerror(errno));
            hd_vector_free(&buffer);
            return false;
        }
        if (got == 0) break;
        buffer.size += (size_t)got;
    }
    *content = (struct content){.bytes = buffer.data, .length = buffer.size};
    return true;
}

static bool open_content(const char *path, struct content *content, struct hd_error *error) {
    if (strcmp(path, "-") == 0) return read_stream(STDIN_FILENO, "standard input", content, error);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return hd_fail(error, HD_ERR_IO, "%s: %s", path, strerror(errno));
    struct stat status;
    bool good = true;
    if (fstat(fd, &status) != 0) {
        good = hd_fail(error, HD_ERR_IO, "%s: %s", path, strerror(errno));
    } else if (S_ISDIR(status.st_mode)) {
        good = hd_fail(error, HD_ERR_IO, "%s: is a directory, not a trace", path);
    } else if (!S_ISREG(status.st_mode) || status.st_size == 0) {
        good = read_stream(fd, path, content, error);
    } else {
        void *map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map == MAP_FAILED) {
            good = read_stream(fd, path, content, error);
        } else {
            madvise(map, (size_t)status.st_size, MADV_SEQUENTIAL);
            *content = (struct content){map, (size_t)status.st_size, true};
        }
    }
    close(fd);
    return good;
}

static void close_content(struct content *content) {
    if (content->mapped)
        munmap(content->bytes, content->length);
    else
        free(content->bytes);
}

static enum hd_trace_format recognise(const uint8_t *bytes, size_t length) {
    if (hd_binary_recognise(bytes, length)) return HD_FORMAT_BINARY;
    if (hd_rapidbin_recognise(bytes, length)) return HD_FORMAT_RAPIDBIN;
    return HD_FORMAT_TEXT;
}

static bool read_once(const void *bytes, size_t length, const char *name,
                      const struct hd_trace_options *options, struct hd_trace *trace,
                      struct hd_error *error) {
    enum hd_trace_format format =
        options->format_given ? options->format : recognise(bytes, length);
    struct hd_builder builder;
    hd_build_start(&builder, trace, format);
    if (options->most_events != 0 && (format == HD_FORMAT_BINARY || !options->or_first))
        builder.most = options->most_events;
    if (options->most_recorded != 0) builder.most_recorded = options->most_recorded;
    bool good = true;
    if (good && format == HD_FORMAT_BINARY && !hd_binary_recognise(bytes, length))
        good = hd_fail(error, HD_ERR_FORMAT, "%s: not a heddle trace", name);
    if (good) {
        switch (format) {
        case HD_FORMAT_BINARY:
            good = hd_binary_read(bytes, length, name, options, &builder, error);
            break;
        case HD_FORMAT_TEXT:
            good = hd_text_read(bytes, length, name, options, &builder, error);
            break;
        case HD_FORMAT_RAPIDBIN:
            good = hd_rapidbin_read(bytes, length, name, options, &builder, error);
            break;
        }
    }
    if (good)
        hd_build_finish(&builder);
    else
        hd_trace_free(trace);
    return good;
}

bool hd_trace_read(const void *bytes, size_t length, const char *name,
                   const struct hd_trace_options *options, struct hd_trace *trace,
                   struct hd_error *error) {
    static const struct hd_trace_options usual;
    struct hd_error unused;
    if (error == NULL) error = &unused;
    if (options == NULL) options = &usual;
    if (read_once(bytes, length, name, options, trace, error)) return true;
    if (!options->or_concurrent || error->code != HD_ERR_LIMIT) return false;
    struct hd_trace_options fewer = *options;
    fewer.keep = HD_KEEP_CONCURRENT;
    fewer.most_events = 0;
    fewer.most_recorded = 0;
    return read_once(bytes, length, name, &fewer, trace, error);
}

bool hd_trace_load(const char *path, const struct hd_trace_options *options, struct hd_trace *trace,
                   struct hd_error *error) {
    struct content content = {0};
    memset(trace, 0, sizeof *trace);
    if (!open_content(path, &content, error)) return false;
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    bool good = hd_trace_read(content.bytes, content.length, name, options, trace, error);
    close_content(&content);
    return good;
}

bool hd_trace_build(const struct hd_trace *trace, char build[33]) {
    if (trace->modules == 0 || trace->module[0].build_id_length == 0) return false;
    XXH128_hash_t sum = {0, 0};
    for (uint32_t i = 0; i < trace->modules; i++) {
        const struct hd_trace_module *module = &trace->module[i];
        XXH128_hash_t hash = XXH3_128bits(module->build_id, module->build_id_length);
        sum.low64 += hash.low64; /* in whatever order they were loaded */
        sum.high64 += hash.high64;
    }
    snprintf(build, 33, "%016llx%016llx", (unsigned long long)sum.high64,
             (unsigned long long)sum.low64);
    return true;
}

uint64_t hd_trace_extra(const struct hd_trace *trace, uint32_t event, uint64_t missing) {
    uint32_t low = 0, high = trace->extras;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (trace->extra_event[middle] < event)
            low = middle + 1;
        else
            high = middle;
    }
    return low < trace->extras && trace->extra_event[low] == event ? trace->extra_value[low]
                                                                   : missing;
}

uint64_t hd_trace_size(const struct hd_trace *trace, uint32_t event) {
    unsigned flags = trace->flags[event];
    switch (hd_kind_class(trace->kind[event])) {
    case HD_CLASS_ACCESS:
        return flags != 0 ? flags : hd_trace_extra(trace, event, 0);
    case HD_CLASS_ATOMIC:
        return trace->kind[event] == HD_EV_FENCE ? 0 : (uint64_t)1 << (flags & 0x0f);
    case HD_CLASS_MEMORY:
        return hd_trace_extra(trace, event, 0);
    default:
        return 0;
    }
}
