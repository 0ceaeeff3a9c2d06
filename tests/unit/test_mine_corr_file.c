/* The correlation file: what is read is what was written, and what is wrong is refused with one
 * line that says where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "mine/access_sets.h"
#include "mine/corr_file.h"

static bool read_text(const char *text, struct hd_corr_file *file, struct hd_error *error) {
    return hd_corr_read(text, strlen(text), "app.corr", file, error);
}

static void a_whole_file(void **state) {
    (void)state;
    static const char text[] = "heddle-correlations 1\n"
                               "write net::rx_bytes => any net::rx_packets : 49 of 50, 44 direct\n"
                               "read \"pair<int, long>::first\" => write counter@net/a.c\n"
                               "set write fb::red fb::green fb::blue : 11 of 12\n"
                               "set any a b \"c \\\"d\\\" \\\\e\"\n"
                               "end\n";
    struct hd_corr_file file;
    struct hd_error error;
    if (!read_text(text, &file, &error)) fail_msg("%s", error.message);
    assert_int_equal(file.rule.size, 2);
    const struct hd_corr_rule *rule = file.rule.data;
    assert_int_equal(rule[0].a1, HD_MINE_WRITE);
    assert_int_equal(rule[0].a2, HD_MINE_ANY);
    assert_string_equal(rule[0].x, "net::rx_bytes");
    assert_string_equal(rule[0].y, "net::rx_packets");
    assert_int_equal(rule[0].support, 49);
    assert_int_equal(rule[0].functions, 50);
    assert_int_equal(rule[0].direct, 44);
    assert_string_equal(rule[1].x, "pair<int, long>::first");
    assert_int_equal(rule[1].functions, 0);
    assert_int_equal(file.set.size, 2);
    assert_int_equal(file.set.data[0].count, 3);
    assert_int_equal(file.set.data[0].support, 11);
    assert_string_equal(file.member.data[5], "c \"d\" \\e");
    char *written = hd_corr_write(&file);
    assert_string_equal(written, text);
    free(written);
    hd_corr_free(&file);
}

static void comments_and_blanks(void **state) {
    (void)state;
    struct hd_corr_file file;
    struct hd_error error;
    assert_true(
        read_text("heddle-correlations 1 # x\r\n\n  # y\n\twrite a\t=> any b# z\r\nend # .\n\n# .",
                  &file, &error));
    assert_int_equal(file.rule.size, 1);
    assert_string_equal(file.rule.data[0].y, "b");
    hd_corr_free(&file);
}

static void what_is_refused(void **state) {
    (void)state;
#define FIRST "heddle-correlations 1\n"
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "app.corr:1: this is no correlation file (it begins with 'heddle-correlations 1')"},
        {"ELF", "app.corr:1: this is no correlation file (it begins with 'heddle-correlations 1')"},
        {"heddle-correlations 2\nend\n",
         "app.corr:1: version 2 of the format; this heddle reads version 1"},
        {"heddle-correlations\n", "app.corr:1: expected a number"},
        {"heddle-correlations 1 2\n", "app.corr:1: there is more on the line than a version"},
        {FIRST, "app.corr:1: the last line, 'end', is missing: the file was cut short"},
        {FIRST "write a => any b : 4 of 5, 3 dir", "app.corr:2: expected 'N direct'"},
        {FIRST "write a => any b",
         "app.corr:2: the last line, 'end', is missing: the file was cut short"},
        {FIRST "writes a => any b\n", "app.corr:2: expected read, write or any"},
        {FIRST "write a any b\n", "app.corr:2: expected '=>'"},
        {FIRST "write a =>\n", "app.corr:2: expected read, write or any"},
        {FIRST "write a => any\n", "app.corr:2: a variable is missing"},
        {FIRST "write a => any \"b\n", "app.corr:2: a name has no closing quote"},
        {FIRST "write a => any a\n", "app.corr:2: a variable can't go with itself"},
        {FIRST "write a => any b c\n",
         "app.corr:2: expected ':' and figures, or the end of the line"},
        {FIRST "write a => any b : x\n", "app.corr:2: expected a number"},
        {FIRST "write a => any b : 99999999999 of 1\n", "app.corr:2: expected a number"},
        {FIRST "write a => any b : 5\n", "app.corr:2: expected 'N of M'"},
        {FIRST "write a => any b : 5 of 4\n",
         "app.corr:2: in 'N of M', N must not be more than M, and M not 0"},
        {FIRST "write a => any b : 0 of 0\n",
         "app.corr:2: in 'N of M', N must not be more than M, and M not 0"},
        {FIRST "write a => any b : 4 of 5, 5 direct\n",
         "app.corr:2: more direct functions than functions"},
        {FIRST "write a => any b : 4 of 5, 3 direct 7\n",
         "app.corr:2: there is more on the line than a rule"},
        {FIRST "\nset any a b\nend\n", "app.corr:3: a set has three variables or more"},
        {FIRST "set any a b c : 1 of 2 of 3\n", "app.corr:2: there is more on the line than a set"},
        {FIRST "end\nend\n", "app.corr:3: there is more after 'end'"},
        {FIRST "end of\n", "app.corr:2: there is more on the line than 'end'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hd_corr_file file;
        struct hd_error error;
        if (read_text(cases[i].text, &file, &error)) fail_msg("accepted: %s", cases[i].text);
        assert_string_equal(error.message, cases[i].message);
    }
    struct hd_corr_file file;
    struct hd_error error;
    assert_false(hd_corr_read("heddle-correlations 1\nwrite a\0 => any b\nend\n", 43, "app.corr",
                              &file, &error));
    assert_string_equal(error.message, "app.corr:2: there is a byte 0 in it");
    assert_false(hd_corr_load("/nowhere/app.corr", &file, &error));
}

static void which_variable_is_meant(void **state) {
    (void)state;
    assert_true(hd_corr_name_fits("cache::table", "cache::table"));
    assert_true(hd_corr_name_fits("cache::table", "table"));
    assert_true(hd_corr_name_fits("js::cache::table", "cache::table"));
    assert_true(hd_corr_name_fits("table@js/a.c", "table"));
    assert_true(hd_corr_name_fits("table@js/a.c", "table@js/a.c"));
    assert_true(hd_corr_name_fits("cache::table@js/a.c", "table"));
    assert_false(hd_corr_name_fits("cache::table", "able"));
    assert_false(hd_corr_name_fits("cache::table", "cache"));
    assert_false(hd_corr_name_fits("table@js/a.c", "a.c"));
    assert_false(hd_corr_name_fits("ab", "b"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_file), cmocka_unit_test(comments_and_blanks),
        cmocka_unit_test(what_is_refused), cmocka_unit_test(which_variable_is_meant)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
