/* Reading compiler command lines: which phases run, which sanitizers are on, how words split. */
#include "toolchain/compiler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static struct hd_compiler_job job;
static void classify(const char *line) {
    struct hd_argv words = {0};
    struct hd_error error = {0};
    hd_argv_add(&words, "cc");
    hd_argv_split(&words, line);
    assert_true(hd_compiler_classify((int)words.count, words.word, &job, &error));
    hd_argv_free(&words);
}

static void tells_phases(void **state) {
    (void)state;
    static const struct {
        const char *line;
        bool compiles, links;
    } cases[] = {
        {"a.c", true, true},
        {"-o app a.c b.o -lm", true, true},
        {"a.o b.a libx.so", false, true},
        {"-lm", false, true},
        {"-l m", false, true},
        {"-c a.c", true, false},
        {"-S a.c", true, false},
        {"-E a.c", false, false},
        {"-M a.c", false, false},
        {"-MM a.c", false, false},
        {"-MD -c a.c", true, false},
        {"-MMD -MF x.c a.c", true, true},
        {"-fsyntax-only a.c", false, false},
        {"-c -E a.c", false, false},
        {"a.s", false, true},
        {"-c a.S", false, false},
        {"a.s b.c", true, true},
        {"a.cpp", true, true},
        {"a.C", true, true},
        {"a.c++", true, true},
        {"dir.c/a", false, true},
        {"a.", false, true},
        {"a.h", true, false},
        {"-x c-header a.txt", true, false},
        {"-x c a.txt", true, true},
        {"-xc a.txt", true, true},
        {"-x c a.txt -x none b.o", true, true},
        {"-x assembler a.c", false, true},
        {"-x none a.o", false, true},
        {"-", false, true}, /* an error of the user's that the compiler explains */
        {"-x c -", true, true},
        {"--language=c -", true, true},
        {"--language c -", true, true},
        {"-r a.o b.o", false, false},
        {"-Wl,-r a.o", false, false},
        {"-Xlinker -r a.o", false, false},
        /* arguments of options are no inputs */
        {"-o a.c", false, false},
        {"-I a.c -D b.c -U c.c -include d.c -isystem e.c -MF f.c -MT g.c", false, false},
        {"-L a.o -T script.ld -u sym.o -z now.o -Xlinker b.o", false, false},
        {"-Xclang a.c -mllvm b.c -target c.c", false, false},
        {"--param x.c --sysroot y.o", false, false},
        /* questions */
        {"", false, false},
        {"--version", false, false},
        {"-v", false, false},
        {"-print-file-name=libc.so", false, false},
        {"-Wl,--version", false, false},
        {"-- -odd.c", true, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        classify(cases[i].line);
        if (job.compiles != cases[i].compiles || job.links != cases[i].links)
            fail_msg("'%s': compiles %d, links %d", cases[i].line, job.compiles, job.links);
    }
}

static void tells_sanitizers(void **state) {
    (void)state;
    classify("-fsanitize=thread a.c");
    assert_true(job.asks_thread && !job.spares_thread);
    classify("-fsanitize=undefined,thread a.c");
    assert_true(job.asks_thread);
    assert_string_equal(job.conflict, "");
    classify("-fsanitize=thread -fno-sanitize=thread a.c");
    assert_true(!job.asks_thread && job.spares_thread);
    classify("-fno-sanitize=thread -fsanitize=thread a.c");
    assert_true(job.asks_thread && !job.spares_thread);
    classify("-fno-sanitize=all a.c");
    assert_true(job.spares_thread);
    classify("-fsanitize=threads -fsanitize=thread-x a.c");
    assert_false(job.asks_thread);
    classify("-fsanitize=address a.c");
    assert_string_equal(job.conflict, "address");
    classify("-fsanitize=undefined,memory a.c");
    assert_string_equal(job.conflict, "memory");
    classify("-fsanitize=address -fno-sanitize=all a.c");
    assert_string_equal(job.conflict, "");
    classify("-fsanitize=address,undefined -fno-sanitize=undefined,address a.c");
    assert_string_equal(job.conflict, "");
}

static void tells_targets(void **state) {
    (void)state;
    classify("-static a.o");
    assert_true(job.makes_static);
    classify("-static-pie a.o");
    assert_true(job.makes_static);
    classify("-static-libgcc -static-libstdc++ a.o");
    assert_false(job.makes_static);
    classify("-m32 a.o");
    assert_true(job.other_width);
    classify("-m32 -m64 a.o");
    assert_false(job.other_width);
    classify("-c a.c -- b.c");
    assert_int_equal(job.end, 3);
    classify("-o -- a.c");
    assert_int_equal(job.end, 4);
}

static void splits_words(void **state) {
    (void)state;
    struct hd_argv words = {0};
    hd_argv_split(&words, " a  'b c'\t\"d \\\" e\"\nf\\ g '' h'i'j \\\\ ");
    static const char *const wanted[] = {"a", "b c", "d \" e", "f g", "", "hij", "\\"};
    assert_int_equal(words.count, sizeof wanted / sizeof *wanted);
    for (size_t i = 0; i < words.count; i++) assert_string_equal(words.word[i], wanted[i]);
    assert_null(words.word[words.count]);
    hd_argv_free(&words);
}

static void chooses_compilers(void **state) {
    (void)state;
    static const struct {
        const char *choice;
        size_t words;
        enum hd_compiler_family family;
    } cases[] = {{"gcc", 1, HD_COMPILER_GCC},
                 {"clang", 1, HD_COMPILER_CLANG},
                 {"clang++-14", 1, HD_COMPILER_CLANG},
                 {"/usr/bin/x86_64-linux-gnu-g++-12 -m64", 2, HD_COMPILER_GCC},
                 {"ccache clang -O1", 3, HD_COMPILER_CLANG},
                 {"'a path/gcc' -x", 2, HD_COMPILER_GCC}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hd_argv command = {0};
        struct hd_error error = {0};
        enum hd_compiler_family family;
        assert_true(hd_compiler_choose(cases[i].choice, &command, &family, &error));
        assert_int_equal(command.count, cases[i].words);
        assert_int_equal(family, cases[i].family);
        hd_argv_free(&command);
    }
    struct hd_argv command = {0};
    struct hd_error error = {0};
    enum hd_compiler_family family;
    assert_false(hd_compiler_choose("/somewhere/heddle-cc", &command, &family, &error));
    hd_argv_free(&command);
    assert_false(hd_compiler_choose("   ", &command, &family, &error));
    hd_argv_free(&command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_phases), cmocka_unit_test(tells_sanitizers),
        cmocka_unit_test(tells_targets), cmocka_unit_test(splits_words),
        cmocka_unit_test(chooses_compilers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
