/* See alloc.h. The only place outside cli/ that ends the program. */
#define _GNU_SOURCE /* reallocarray, vasprintf */
#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void (*hd_before_out_of_memory)(void);

static char line[160] =
    "heddle: out of memory; use a smaller trace or program, or a machine with more memory\n";

void hd_out_of_memory_at(uint64_t bytes) {
    snprintf(line, sizeof line,
             "heddle: out of memory: %llu MB are used up; use a smaller trace or program, or give "
             "more with --memory\n",
             (unsigned long long)(bytes >> 20));
}

void hd_out_of_memory(void) {
    void (*before)(void) = hd_before_out_of_memory;
    hd_before_out_of_memory = NULL;
    if (before != NULL) before();
    if (write(STDERR_FILENO, line, strlen(line)) < 0) _exit(2);
    _exit(2);
}

void *hd_alloc(size_t count, size_t size) { return hd_realloc(NULL, count, size); }

void *hd_zalloc(size_t count, size_t size) {
    void *memory = count == 0 || size == 0 ? calloc(1, 1) : calloc(count, size);
    if (memory == NULL) hd_out_of_memory();
    return memory;
}

void *hd_realloc(void *old, size_t count, size_t size) {
    /* reallocarray with a size of 0 may free and return NULL */
    void *memory = count == 0 || size == 0 ? realloc(old, 1) : reallocarray(old, count, size);
    if (memory == NULL) hd_out_of_memory();
    return memory;
}

char *hd_strdup(const char *text) { return hd_strndup(text, strlen(text)); }

char *hd_strndup(const char *text, size_t most) {
    char *copy = strndup(text, most);
    if (copy == NULL) hd_out_of_memory();
    return copy;
}

char *hd_format(const char *format, ...) {
    va_list arguments;
    char *text;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) hd_out_of_memory();
    va_end(arguments);
    return text;
}
