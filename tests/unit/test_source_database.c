/* compile_commands.json: words of commands, wrappers before the compiler, what is left out. */
#include "source_help.h"

#include "source/database.h"

static struct hd_database database;

static void read(const struct hd_source_request *request, const char *text) {
    struct hd_error error;
    database = (struct hd_database){0};
    if (!hd_database_read(request, "db", text, strlen(text), &database, &error))
        fail_msg("%s", error.message);
}

static void check_words(const struct hd_compile_command *unit, const char *expected) {
    char all[500] = "";
    for (unsigned i = 0; i < unit->arguments; i++) {
        strcat(all, unit->argument[i]);
        strcat(all, "|");
    }
    assert_string_equal(all, expected);
}

static void words(void **state) {
    (void)state;
    struct hd_source_request request = {0};
    read(&request,
         "[{\"directory\":\"/d\",\"file\":\"a.c\","
         "\"command\":\"cc  -DX=\\\\\\\"y\\\\\\\" '-DZ=a b' \\\"q\\\\\\\"r\\\" a\\\\ b.c\"},"
         "{\"directory\":\"/d\",\"file\":\"b.c\",\"arguments\":[\"ccache\",\"gcc\",\"b.c\"]},"
         "{\"directory\":\"/d\",\"file\":\"c.cc\",\"arguments\":[\"/x/heddle\",\"c++\",\"c.cc\"]},"
         "{\"directory\":\"/d\",\"file\":\"d.c\",\"arguments\":[\"/x/heddle-cc\",\"d.c\"]}]");
    assert_int_equal(database.command.size, 4);
    check_words(&database.command.data[0], "cc|-DX=\"y\"|-DZ=a b|q\"r|a b.c|");
    check_words(&database.command.data[1], "gcc|b.c|");
    check_words(&database.command.data[2], "c++|c.cc|");
    check_words(&database.command.data[3], "cc|d.c|");
    assert_string_equal(database.command.data[0].path, "/d/a.c");
    hd_database_free(&database);
}

static void left_out(void **state) {
    (void)state;
    static const char *const include[] = {"/d/src"}, *const exclude[] = {"/d/src/deps"};
    struct hd_source_request request = {
        .include = include, .includes = 1, .exclude = exclude, .excludes = 1};
    read(&request,
         "[{\"directory\":\"/d\",\"file\":\"src/a.c\",\"command\":\"cc -c src/a.c\"},"
         "{\"directory\":\"/d\",\"file\":\"src/a.c\",\"command\":\"cc -c src/a.c\"},"
         "{\"directory\":\"/d\",\"file\":\"src/a.c\",\"command\":\"cc -DTWICE -c src/a.c\"},"
         "{\"directory\":\"/d\",\"file\":\"src/start.S\",\"command\":\"cc -c src/start.S\"},"
         "{\"directory\":\"/d\",\"file\":\"srcs/b.c\",\"command\":\"cc -c srcs/b.c\"},"
         "{\"directory\":\"/d\",\"file\":\"src/deps/c.c\",\"command\":\"cc -c c.c\"}]");
    assert_int_equal(database.command.size, 2); /* with other flags it is another unit */
    hd_database_free(&database);
}

static void refused(void **state) {
    (void)state;
    struct hd_source_request request = {0};
    static const char *const cases[][2] = {
        {"{", "db, line 1: not JSON: string or '}' expected near end of file"},
        {"{}", "db is no compilation database: it is not an array of commands"},
        {"[{\"file\":\"a.c\"}]", "db: command 1 has no directory, file and arguments"},
        {"[7]", "db: command 1 has no directory, file and arguments"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hd_error error;
        database = (struct hd_database){0};
        assert_false(
            hd_database_read(&request, "db", cases[i][0], strlen(cases[i][0]), &database, &error));
        assert_string_equal(error.message, cases[i][1]);
        hd_database_free(&database);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(words), cmocka_unit_test(left_out),
                                       cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
