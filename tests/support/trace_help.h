/* What the tests of src/trace/ share: random numbers, temporary files, traces made up event by
 * event together with what a reader must make of them. */
#ifndef HEDDLE_TESTS_TRACE_HELP_H
#define HEDDLE_TESTS_TRACE_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "trace/convert.h"
#include "trace/trace.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t random_state = 1;
static inline uint64_t random_word(void) { return hd_random(&random_state); }
static inline uint64_t below(uint64_t limit) { return random_word() % limit; }

/* ---- files -------------------------------------------------------------------------------- */

struct bytes {
    uint8_t *data;
    size_t size;
};

static inline char *temporary(const char *name) {
    static char path[64];
    snprintf(path, sizeof path, "%s.%d", name, (int)getpid());
    return path;
}

static inline struct bytes read_all(const char *path) {
    struct bytes all = {0};
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    off_t size = lseek(fd, 0, SEEK_END);
    assert_true(size >= 0);
    all.size = (size_t)size;
    all.data = malloc(all.size + 1);
    assert_non_null(all.data);
    assert_int_equal(pread(fd, all.data, all.size, 0), size);
    close(fd);
    return all;
}

static inline bool read_text(const char *text, struct hd_trace *trace, struct hd_error *error) {
    struct hd_trace_options options = {.format = HD_FORMAT_TEXT, .format_given = true};
    /* an exact-size copy shows reads past the end to the sanitizers */
    size_t length = strlen(text);
    char *copy = malloc(length == 0 ? 1 : length);
    assert_non_null(copy);
    memcpy(copy, text, length);
    bool good = hd_trace_read(copy, length, "test", &options, trace, error);
    free(copy);
    return good;
}

static inline char *text_of(const struct hd_trace *trace, const struct hd_text_options *options) {
    const char *path = temporary("text_of");
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    struct hd_error error;
    assert_true(fd >= 0);
    if (!hd_text_write(trace, fd, path, options, &error)) fail_msg("%s", error.message);
    close(fd);
    struct bytes all = read_all(path);
    unlink(path);
    all.data[all.size] = '\0';
    return (char *)all.data;
}

/* ---- comparing traces --------------------------------------------------------------------- */

static inline void assert_same_stack(const struct hd_trace *a, uint32_t node_a,
                                     const struct hd_trace *b, uint32_t node_b) {
    while (node_a != 0 && node_b != 0) {
        assert_int_equal(a->stack_site[node_a], b->stack_site[node_b]);
        node_a = a->stack_parent[node_a];
        node_b = b->stack_parent[node_b];
    }
    assert_int_equal(node_a, node_b);
}

static inline void assert_same_names(uint32_t count, char **a, uint32_t other, char **b) {
    assert_int_equal(count, other);
    for (uint32_t i = 0; i < count; i++) {
        if (a[i] == NULL)
            assert_null(b[i]);
        else
            assert_string_equal(a[i], b[i]);
    }
}

/* The same events, whatever numbers the call trees have. */
static inline void assert_same_events(const struct hd_trace *a, const struct hd_trace *b) {
    assert_int_equal(a->events, b->events);
    assert_int_equal(a->threads, b->threads);
    assert_int_equal(a->extras, b->extras);
    size_t n = a->events;
    if (n == 0) return;
    assert_memory_equal(a->thread, b->thread, n * sizeof *a->thread);
    assert_memory_equal(a->kind, b->kind, n * sizeof *a->kind);
    assert_memory_equal(a->flags, b->flags, n * sizeof *a->flags);
    assert_memory_equal(a->operand, b->operand, n * sizeof *a->operand);
    assert_memory_equal(a->site, b->site, n * sizeof *a->site);
    assert_memory_equal(a->branches, b->branches, n * sizeof *a->branches);
    assert_memory_equal(a->calls, b->calls, n * sizeof *a->calls);
    for (uint32_t i = 0; i < a->extras; i++) {
        assert_int_equal(a->extra_event[i], b->extra_event[i]);
        assert_int_equal(a->extra_value[i], b->extra_value[i]);
    }
    for (uint32_t i = 0; i < a->events; i++) assert_same_stack(a, a->stack[i], b, b->stack[i]);
}

static inline void assert_same_trace(const struct hd_trace *a, const struct hd_trace *b) {
    assert_same_events(a, b);
    assert_int_equal(a->format, b->format);
    assert_int_equal(a->exact, b->exact);
    assert_int_equal(a->has_branches, b->has_branches);
    assert_int_equal(a->end.whole, b->end.whole);
    assert_same_names(a->variables, a->variable_names, b->variables, b->variable_names);
    assert_same_names(a->objects, a->object_names, b->objects, b->object_names);
    assert_same_names(a->sites, a->site_names, b->sites, b->site_names);
    if (a->thread_names != NULL)
        assert_same_names(a->threads, a->thread_names, b->threads, b->thread_names);
}

#endif
