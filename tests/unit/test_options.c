/* Option tables: what is stored, what is refused and with which words, help, near misses. */
#include "cli/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    bool full;
    const char *output;
    uint64_t seed;
    unsigned sched;
    struct hd_option_list ignore;
} value;

static const struct hd_option options[] = {
    HD_FLAG("full", 'f', &value.full, "record everything"),
    HD_TEXT("output", 'o', "FILE", &value.output, "write to FILE"),
    HD_NUMBER("seed", 's', "N", &value.seed, 1, 1000, "seed"),
    HD_CHOICE("sched", 0, "S", &value.sched, "serial|free|off", "scheduler"),
    HD_LIST("ignore", 'i', "NAME", &value.ignore, "leave NAME out"),
    HD_OPTIONS_END};

static const struct hd_usage usage = {.command = "test",
                                      .operands = "FILE [FILE]",
                                      .about = "About.\n",
                                      .example = "  heddle test x\n",
                                      .options = options,
                                      .least = 1,
                                      .most = 2};

/* Runs a parse with stdout or stderr going to a file; returns what was printed there. */
static char printed[4096];
static int status, first;
static bool parse_capturing(const struct hd_usage *with, int stream, int argc, char **argv) {
    fflush(NULL);
    FILE *file = tmpfile();
    assert_non_null(file);
    int saved = dup(stream);
    dup2(fileno(file), stream);
    bool good = hd_options_parse(with, argc, argv, &first, &status);
    fflush(NULL);
    dup2(saved, stream);
    close(saved);
    rewind(file);
    printed[fread(printed, 1, sizeof printed - 1, file)] = 0;
    fclose(file);
    return good;
}

#define PARSE_WITH(with, stream, ...)                                                        \
    (memset(&value, 0, sizeof value),                                                        \
     parse_capturing(with, stream, sizeof((char *[]){"test", __VA_ARGS__}) / sizeof(char *), \
                     (char *[]){"test", __VA_ARGS__, NULL}))
#define PARSE(...) PARSE_WITH(&usage, STDERR_FILENO, __VA_ARGS__)
#define REFUSED(message, ...)                       \
    do {                                            \
        assert_false(PARSE(__VA_ARGS__));           \
        assert_int_equal(status, 2);                \
        assert_string_equal(printed, message "\n"); \
    } while (0)

static void stores_values(void **state) {
    (void)state;
    assert_true(PARSE("-f", "--output=a.hdt", "-s", "42", "--sched", "free", "in"));
    assert_true(value.full);
    assert_string_equal(value.output, "a.hdt");
    assert_int_equal(value.seed, 42);
    assert_int_equal(value.sched, 1);
    assert_int_equal(first, 7);
    /* operands and options in any order; letters together; a list */
    char *words[] = {"test", "in", "-fs7", "-i", "a", "--ignore=b", NULL};
    memset(&value, 0, sizeof value);
    assert_true(hd_options_parse(&usage, 6, words, &first, &status));
    assert_int_equal(value.seed, 7);
    assert_int_equal(value.ignore.count, 2);
    assert_string_equal(value.ignore.item[1], "b");
    assert_string_equal(words[first], "in");
    free(value.ignore.item);
    assert_true(PARSE("--seed=0x10", "in"));
    assert_int_equal(value.seed, 16);
}

static void stops_at_operands(void **state) {
    (void)state;
    struct hd_usage runs = usage;
    runs.operands_last = true;
    runs.most = -1;
    assert_true(PARSE_WITH(&runs, STDERR_FILENO, "-f", "ls", "--output=x", "-z"));
    assert_int_equal(first, 2);
    assert_null(value.output);
    assert_true(PARSE_WITH(&runs, STDERR_FILENO, "-f", "--", "-z"));
    assert_int_equal(first, 3);
}

static void refuses_with_one_line(void **state) {
    (void)state;
    REFUSED("heddle: test: unknown option --ouput; did you mean --output? See 'heddle test --help'",
            "--ouput=x", "in");
    REFUSED("heddle: test: unknown option --quite-another; see 'heddle test --help'",
            "--quite-another", "in");
    REFUSED("heddle: test: unknown option -z; see 'heddle test --help'", "-z", "in");
    REFUSED("heddle: test: unknown option -z; see 'heddle test --help'", "in", "-fz");
    REFUSED("heddle: test: option --output needs an argument: FILE", "in", "--output");
    REFUSED("heddle: test: option -o needs an argument", "in", "-o");
    REFUSED("heddle: test: option --full takes no argument", "in", "--full=yes");
    REFUSED("heddle: test: --seed needs a number, not 'many'", "-s", "many", "in");
    REFUSED("heddle: test: --seed needs a number, not '-1'", "-s", "-1", "in");
    REFUSED("heddle: test: --seed needs a number, not '5x'", "-s", "5x", "in");
    REFUSED("heddle: test: --seed needs a number, not ''", "-s", "", "in");
    REFUSED("heddle: test: --seed must be from 1 to 1000 (given: 0)", "-s", "0", "in");
    REFUSED("heddle: test: --seed must be from 1 to 1000 (given: 99999999999999999999)", "-s",
            "99999999999999999999", "in");
    REFUSED("heddle: test: --sched must be one of serial|free|off (given: 'fre')", "--sched=fre",
            "in");
    REFUSED("heddle: test: an argument is missing: heddle test [OPTION]... FILE [FILE]", "-f");
    REFUSED("heddle: test: 'c' is one argument too many: heddle test [OPTION]... FILE [FILE]", "a",
            "b", "c");
}

static void abbreviations_are_taken_if_unique(void **state) {
    (void)state;
    assert_true(PARSE("--out=x", "in"));
    assert_string_equal(value.output, "x");
    assert_false(PARSE("--s=1", "in")); /* --seed or --sched */
    assert_int_equal(status, 2);
}

static void prints_help(void **state) {
    (void)state;
    assert_false(PARSE_WITH(&usage, STDOUT_FILENO, "--help"));
    assert_int_equal(status, 0);
    assert_string_equal(
        printed, "Usage: heddle test [OPTION]... FILE [FILE]\n"
                 "\n"
                 "About.\n"
                 "\n"
                 "Options:\n"
                 "  -f, --full                  record everything\n"
                 "  -o, --output FILE           write to FILE\n"
                 "  -s, --seed N                seed\n"
                 "      --sched S               scheduler (serial|free|off)\n"
                 "  -i, --ignore NAME           leave NAME out\n"
                 "      --memory SIZE           memory that heddle itself may take: 500M, 4G, all\n"
                 "                              (default: half of what is free)\n"
                 "  -h, --help                  show this text\n"
                 "\n"
                 "Example:\n"
                 "  heddle test x\n");
    assert_false(PARSE_WITH(&usage, STDOUT_FILENO, "-h"));
    assert_int_equal(status, 0);
}

static void reads_the_environment(void **state) {
    (void)state;
    char *storage = NULL;
    memset(&value, 0, sizeof value);
    assert_true(
        hd_options_parse_text(&usage, "HEDDLE_OPTIONS", "  --seed=9\t-f ", &storage, &status));
    assert_int_equal(value.seed, 9);
    assert_true(value.full);
    free(storage);
    assert_true(hd_options_parse_text(&usage, "HEDDLE_OPTIONS", "", &storage, &status));
    free(storage);
    assert_false(hd_options_parse_text(&usage, "HEDDLE_OPTIONS", "-f file", &storage, &status));
    assert_int_equal(status, 2);
    free(storage);
    assert_false(hd_options_parse_text(&usage, "HEDDLE_OPTIONS", "--seed=x", &storage, &status));
    free(storage);
}

static void finds_near_words(void **state) {
    (void)state;
    static const char *const words[] = {"record", "stats", "dump", "convert", "cc"};
    assert_string_equal(hd_nearest_word("recrod", words, 5), "record");
    assert_string_equal(hd_nearest_word("stat", words, 5), "stats");
    assert_string_equal(hd_nearest_word("conv", words, 5), "convert");
    assert_string_equal(hd_nearest_word("dmup", words, 5), "dump");
    assert_null(hd_nearest_word("xyz", words, 5));
    assert_null(hd_nearest_word("", words, 5));
    assert_null(hd_nearest_word("a-word-longer-than-any-table-here-could-take", words, 5));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(stores_values),
                                       cmocka_unit_test(stops_at_operands),
                                       cmocka_unit_test(refuses_with_one_line),
                                       cmocka_unit_test(abbreviations_are_taken_if_unique),
                                       cmocka_unit_test(prints_help),
                                       cmocka_unit_test(reads_the_environment),
                                       cmocka_unit_test(finds_near_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
