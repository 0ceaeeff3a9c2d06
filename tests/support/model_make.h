/* Models for tests: from a text trace that is put together line by line, or from a file of
 * tests/traces/. Whatever goes wrong fails the test. */
#ifndef HEDDLE_TESTS_SUPPORT_MODEL_MAKE_H
#define HEDDLE_TESTS_SUPPORT_MODEL_MAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

#ifndef HEDDLE_SOURCE_DIR
#define HEDDLE_SOURCE_DIR "."
#endif

static inline void model_read(const char *text, size_t bytes, bool lenient,
                              struct hd_model *model) {
    struct hd_trace trace;
    struct hd_error error = {0};
    struct hd_trace_options options = {.format = HD_FORMAT_TEXT, .format_given = true};
    struct hd_model_options how = {.lenient = lenient};
    if (!hd_trace_read(text, bytes, "test", &options, &trace, &error) ||
        !hd_model_build(&trace, &how, model, &error))
        fail_msg("%s", error.message);
}

/* tests/traces/DIRECTORY/NAME.std, which has to be well-formed. */
static inline void model_of_file(const char *directory, const char *name, struct hd_model *model) {
    char path[512];
    struct hd_error error = {0};
    struct hd_model_options strict = {.lenient = false};
    snprintf(path, sizeof path, HEDDLE_SOURCE_DIR "/tests/traces/%s/%s.std", directory, name);
    if (!hd_model_load(path, NULL, &strict, model, &error)) fail_msg("%s", error.message);
}

/* ---- line by line --------------------------------------------------------------------------- */

struct text {
    char *data;
    size_t used, room;
};

static inline void text_add(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static inline void text_add(struct text *text, const char *format, ...) {
    if (text->room - text->used < 256) {
        text->room = text->room * 2 + 4096;
        text->data = hd_realloc(text->data, text->room, 1);
    }
    va_list arguments;
    va_start(arguments, format);
    text->used +=
        (size_t)vsnprintf(text->data + text->used, text->room - text->used, format, arguments);
    va_end(arguments);
}

/* The model of the text, which is freed. */
static inline void model_of_lines(struct text *text, bool lenient, struct hd_model *model) {
    model_read(text->data, text->used, lenient, model);
    free(text->data);
}

#endif
