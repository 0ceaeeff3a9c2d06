/* What the tests of src/source share: programs from text and from C files. */
#ifndef HEDDLE_TESTS_SOURCE_HELP_H
#define HEDDLE_TESTS_SOURCE_HELP_H

#include "source/source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs those before it. */
#include <cmocka.h>

static inline void read_source(struct hd_source *source, const char *text) {
    struct hd_error error;
    if (!hd_source_read_text(source, "input", text, strlen(text), &error))
        fail_msg("%s", error.message);
}

/* The body of `void f(void)` with locals, as text. */
static inline void read_function(struct hd_source *source, const char *body) {
    size_t length = strlen(body) + 200;
    char *text = malloc(length);
    snprintf(text, length, "heddle-source 1\nunit good \"f.c\"\nfunction f\n%s\nend\n", body);
    read_source(source, text);
    free(text);
}

#endif
