/* Names from source code by file, line and column, with the columns that gcc and clang give. */
#include "trace/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs those before it. */
#include <cmocka.h>

static const char sample[] = "heddle-names 1\n"
                             "# a comment\n"
                             "file\t/src/app/daemon.c\n"
                             "9\t5\t5-17\tw\td->list[1]\tdaemon::list\n"
                             "9\t8\t5-11\tr\td->list\tdaemon::list\n"
                             "9\t21\t18-27\tr\td->clients\tdaemon::clients\n"
                             "10\t8\t5-16\tb\td->clients\tdaemon::clients\n"
                             "11\t12\t12-20\tr\tp->q\ta::q\n"
                             "11\t15\t12-23\tr\tp->q->r\tb::r\n"
                             "12\t5\t5-5\tr\tone\tone\n"
                             "12\t5\t5-5\tr\ttwo\ttwo\n"
                             "file\t/src/lib/daemon.c\n"
                             "9\t5\t5-9\tw\tother\tother\n"
                             "file\t/src/lib/only.c\n"
                             "1\t1\t1-5\tw\tonly\t\n";

static struct hd_names *names;

static int open_sample(void **state) {
    (void)state;
    struct hd_error error;
    names = hd_names_read("sample", sample, strlen(sample), &error);
    return names == NULL;
}

static int close_sample(void **state) {
    (void)state;
    hd_names_close(names);
    return 0;
}

static const char *find(const char *file, uint32_t line, uint32_t column, bool write) {
    struct hd_name name;
    return hd_names_find(names, file, line, column, write, &name) ? name.expression : NULL;
}

static void by_column(void **state) {
    (void)state;
    const char *file = "/src/app/daemon.c";
    assert_int_equal(hd_names_count(names), 10);
    assert_string_equal(find(file, 9, 16, true), "d->list[1]"); /* the = */
    assert_string_equal(find(file, 9, 6, false), "d->list");    /* gcc: the -> */
    assert_string_equal(find(file, 9, 8, false), "d->list");    /* clang: the member */
    assert_string_equal(find(file, 9, 19, false), "d->clients");
    assert_string_equal(find(file, 10, 15, true), "d->clients"); /* the ++ */
    assert_string_equal(find(file, 10, 15, false), "d->clients");
    /* The smallest expression around the column; its own column before all. */
    assert_string_equal(find(file, 11, 13, false), "p->q");
    assert_string_equal(find(file, 11, 22, false), "p->q->r");
    assert_string_equal(find(file, 11, 15, false), "p->q->r");
    assert_string_equal(find(file, 10, 40, false), "d->clients"); /* the only one of the line */
    assert_null(find(file, 9, 40, false));
    assert_null(find(file, 8, 5, false));
    assert_null(find(file, 11, 13, true));
}

static void not_clear(void **state) {
    (void)state;
    assert_null(find("/src/app/daemon.c", 12, 5, false)); /* two in one macro */
    assert_null(find("/src/app/daemon.c", 9, 0, false));  /* no column, two reads */
    assert_string_equal(find("/src/app/daemon.c", 9, 0, true), "d->list[1]");
}

static void by_file(void **state) {
    (void)state;
    assert_string_equal(find("/src/lib/daemon.c", 9, 5, true), "other");
    /* Debug information may know another directory: the end of the path decides, if it can. */
    assert_string_equal(find("/build/lib/daemon.c", 9, 5, true), "other");
    assert_string_equal(find("only.c", 1, 1, true), "only");
    assert_null(find("daemon.c", 9, 5, true));
    assert_null(find("aemon.c", 9, 5, true));
    assert_null(find("/src/app/nothing.c", 9, 5, true));
}

static void refused(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"", "1"},
        {"heddle-names 2\n", "1"},
        {"heddle-names 1\n1\t1\t1-1\tr\tx\tx\n", "2"}, /* no file */
        {"heddle-names 1\nfile\ta.c\n1\t1\t1-1\tq\tx\tx\n", "3"},
        {"heddle-names 1\nfile\ta.c\n1\t70000\t1-1\tr\tx\tx\n", "3"},
        {"heddle-names 1\nfile\ta.c\n1\t1\t1-1\tr\tx\n", "3"},
        {"heddle-names 1\nfile\ta.c\n1\t1\t1-1", "3"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hd_error error;
        char expected[40] = "text, line ";
        strcat(strcat(expected, cases[i][1]), ": not a line");
        assert_null(hd_names_read("text", cases[i][0], strlen(cases[i][0]), &error));
        assert_memory_equal(error.message, expected, strlen(expected));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_column), cmocka_unit_test(not_clear),
                                       cmocka_unit_test(by_file), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, open_sample, close_sample);
}
