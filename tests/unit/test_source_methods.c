/* Reads and writes told apart by two ways that check each other: the shape of the tree, which every
 * libclang has, and the operators, which it tells since version 17. Over the sources of the tests,
 * or the compilation database in HEDDLE_SOURCE_PROJECT (bench/mine). Skipped where there is no
 * helper with operators. */
#include "source_help.h"

#include <unistd.h>

static void load(unsigned method, struct hd_source *source) {
    static const char *const files[] = {HEDDLE_SOURCE_DIR "/tests/source/traps/operators.c",
                                        HEDDLE_SOURCE_DIR "/tests/source/traps/statements.c",
                                        HEDDLE_SOURCE_DIR "/tests/source/traps/macros.c",
                                        HEDDLE_SOURCE_DIR "/tests/source/traps/atomics.c",
                                        HEDDLE_SOURCE_DIR "/tests/source/traps/unevaluated.c",
                                        HEDDLE_SOURCE_DIR "/tests/source/traps/initialisers.c"};
    const char *project = getenv("HEDDLE_SOURCE_PROJECT");
    struct hd_source_request request = {.database = project,
                                        .file = files,
                                        .files =
                                            project != NULL ? 0 : sizeof files / sizeof files[0],
                                        .method = method};
    struct hd_error error;
    *source = (struct hd_source){0};
    if (!hd_source_load(&request, source, &error)) fail_msg("%s", error.message);
}

static uint32_t next_access(const struct hd_source *source, uint32_t at, uint32_t end) {
    while (at < end && source->step.data[at].kind == HD_STEP_NESTED) at++;
    return at;
}

static void show(const struct hd_source *source, uint32_t function, uint32_t step) {
    char name[200];
    const struct hd_source_step *s = &source->step.data[step];
    printf("%s:%u:%u: %s mode %u\n",
           hd_source_text(source, source->file.data[source->function.data[function].file].path),
           s->line, s->column, hd_source_path_name(source, s->path, name, sizeof name), s->mode);
}

/* Steps but for conditional parts, which only operators show in the bodies of macros. */
static void compare_function(const struct hd_source *one, const struct hd_source *other,
                             uint32_t function, uint64_t *steps, uint64_t *differ) {
    struct hd_source_range a = one->function.data[function].steps;
    struct hd_source_range b = other->function.data[function].steps;
    uint32_t i = a.first, j = b.first;
    for (;; i++, j++) {
        i = next_access(one, i, a.first + a.count);
        j = next_access(other, j, b.first + b.count);
        bool end = i == a.first + a.count;
        if (end != (j == b.first + b.count)) {
            ++*differ;
            return;
        }
        if (end) return;
        const struct hd_source_step *x = &one->step.data[i], *y = &other->step.data[j];
        ++*steps;
        if (x->kind == y->kind && x->mode == y->mode && x->line == y->line &&
            x->column == y->column)
            continue;
        ++*differ;
        show(one, function, i);
        show(other, function, j);
        return; /* what follows is out of step */
    }
}

static void both_ways_agree(void **state) {
    (void)state;
    struct hd_source shape, operators;
    load(HD_METHOD_SHAPE, &shape);
    load(HD_METHOD_OPCODE, &operators);
    assert_int_equal(shape.function.size, operators.function.size);
    assert_true(shape.step.size > 50);
    uint64_t steps = 0, differ = 0;
    for (uint32_t f = 0; f < shape.function.size; f++)
        if ((shape.function.data[f].flags & (HD_FUNCTION_BODY | HD_FUNCTION_DEGRADED)) ==
            HD_FUNCTION_BODY)
            compare_function(&shape, &operators, f, &steps, &differ);
    printf("%llu steps compared, %llu functions differ\n", (unsigned long long)steps,
           (unsigned long long)differ);
    const char *allowed = getenv("HEDDLE_SOURCE_DIFFER");
    assert_true(differ <= (allowed != NULL ? (uint64_t)atoi(allowed) : 0));
    hd_source_free(&shape);
    hd_source_free(&operators);
}

int main(void) {
    char helper[4096];
    ssize_t length = readlink("/proc/self/exe", helper, sizeof helper - 64);
    if (length <= 0) return 1;
    helper[length] = '\0';
    strcpy(strrchr(helper, '/'), "/../../heddle-clang-opcodes");
    if (access(helper, X_OK) != 0) {
        printf("skipped 1 test: no libclang since 17 (libclang-19-dev, libclang-common-19-dev)\n");
        return 77;
    }
    setenv("HEDDLE_CLANG_HELPER", helper, 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_ways_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
