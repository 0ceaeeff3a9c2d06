/* Access sets of a small program, from its text form: direct accesses, those of callees at the line
 * of the call and no deeper, macros, addresses, whole structs, library calls, constants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/whole_file.h"
#include "mine/access_sets.h"
#include "source/source.h"

#ifndef HEDDLE_SOURCE_DIR
#define HEDDLE_SOURCE_DIR "."
#endif

struct program {
    struct hd_source source;
    struct hd_access_sets sets;
};

static int load(void **state) {
    struct program *program = calloc(1, sizeof *program);
    struct hd_error error;
    size_t length;
    char *text = hd_whole_file_read(HEDDLE_SOURCE_DIR "/tests/source/access_sets/shapes.source",
                                    1 << 20, &length, &error);
    if (text == NULL) fail_msg("%s", error.message);
    if (!hd_source_read_text(&program->source, "shapes.source", text, length, &error))
        fail_msg("%s", error.message);
    free(text);
    hd_access_sets_build(&program->source, &program->sets);
    *state = program;
    return 0;
}

static int unload(void **state) {
    struct program *program = *state;
    hd_access_sets_free(&program->sets);
    hd_source_free(&program->source);
    free(program);
    return 0;
}

/* "left w@15 right rw@19!": variables of a function with what it does, ! for macros, ~ for calls,
 * t for touches; sorted by name. */
static const char *accesses(const struct program *program, const char *function, char *text) {
    const struct hd_source *source = &program->source;
    uint32_t wanted = hd_source_function_named(source, function), f = 0;
    char *to = text;
    *to = '\0';
    while (program->sets.function.data[f] != wanted) f++;
    for (uint32_t v = 0; v < source->variable.size; v++)
        for (uint32_t i = program->sets.start.data[f]; i < program->sets.start.data[f + 1]; i++) {
            const struct hd_access *access = &program->sets.access.data[i];
            if (program->sets.variable.data[access->variable] != v) continue;
            to += sprintf(to, "%s%s %s%s%s@%u%s", to > text ? " " : "",
                          hd_source_text(source, source->variable.data[v].name),
                          access->mode & HD_MINE_READ ? "r" : "",
                          access->mode & HD_MINE_WRITE ? "w" : "",
                          access->mode & HD_MINE_TOUCH ? "t" : "", access->line,
                          access->by == HD_BY_CALL    ? "~"
                          : access->by == HD_BY_MACRO ? "!"
                                                      : "");
        }
    return text;
}

static void what_functions_access(void **state) {
    static const struct {
        const char *function, *accesses;
    } cases[] = {
        {"leaf", "shape::left w@15"},
        {"middle", "shape::left w@17~ shape::right rw@18"},
        {"top", "shape::right rw@23~ total w@21"},
        {"macro", "shape::left w@25! shape::right r@25!"},
        {"address", "shape::right t@26"},
        {"whole", "shape::left t@27 shape::right t@27 shape::inner t@27 shape::name t@27 "
                  "inner::depth t@27"},
        {"clear", "shape::left t@28 shape::right t@28 shape::inner t@28 shape::name t@28 "
                  "inner::depth t@28"},
        {"name", "shape::name wt@29"},
        {"deepen", "inner::depth w@30"},
    };
    char text[1024];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(accesses(*state, cases[i].function, text), cases[i].accesses);
}

static uint32_t number(const struct program *program, const char *function) {
    uint32_t f = 0;
    while (program->sets.function.data[f] != hd_source_function_named(&program->source, function))
        f++;
    return f;
}

static void who_calls_whom(void **state) {
    const struct program *program = *state;
    const struct hd_access_sets *sets = &program->sets;
    uint32_t leaf = number(program, "leaf"), middle = number(program, "middle");
    assert_int_equal(sets->callee.size, 2);
    assert_int_equal(sets->caller.size, 2);
    assert_int_equal(sets->callee.data[sets->callee_start.data[middle]], leaf);
    assert_int_equal(sets->caller.data[sets->caller_start.data[leaf]], middle);
    assert_int_equal(sets->caller.data[sets->caller_start.data[middle]], number(program, "top"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_functions_access, load, unload),
        cmocka_unit_test_setup_teardown(who_calls_whom, load, unload)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
