/* The source line of a place: the mark is under the column, whatever the line holds, and nothing
 * that a terminal would obey comes through. */
#include "report/excerpt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[] = "/tmp/heddle-excerpt.XXXXXX";

static void expect(uint32_t line, uint32_t column, time_t newest, const char *wanted) {
    struct hd_excerpts excerpts = {.newest = newest};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    hd_excerpt_print(&excerpts, out, 2, path, line, column, "", "");
    fclose(out);
    assert_string_equal(text, wanted);
    free(text);
    hd_excerpts_free(&excerpts);
}

static void lines(void **state) {
    (void)state;
    int file = mkstemp(path);
    assert_true(file >= 0);
    FILE *out = fdopen(file, "w");
    fputs("int a;\r\n"
          "\tx = 1; \n"
          "  s = \"\x1b[31m\xc3\xa4\xff\"; y++;\n"
          "\n"
          "/* \xe2\x80\xae */ z;\n"
          "last",
          out);
    for (int i = 0; i < 300; i++) fputc('.', out);
    fclose(out);
    expect(1, 5, 0, "     1 | int a;\n       |     ^\n");
    expect(1, 0, 0, "     1 | int a;\n");
    expect(1, 99, 0, "     1 | int a;\n"); /* not in the line */
    expect(2, 2, 0, "     2 |         x = 1;\n       |         ^\n");
    expect(3, 19, 0,
           "     3 |   s = \"\\x1b[31m\xc3\xa4\\xff\"; y++;\n"
           "       |                        ^\n");
    expect(4, 1, 0, "");
    expect(5, 0, 0, "     5 | /* \\u202e */ z;\n");
    expect(7, 1, 0, "");
    expect(0, 1, 0, "");
    /* as long as a screen is wide, and no more */
    char wanted[400] = "     6 | last";
    memset(wanted + strlen(wanted), '.', 156);
    strcat(wanted, "\n");
    expect(6, 250, 0, wanted);
    /* it was changed after the run */
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    expect(1, 0, status.st_mtime, "     1 | int a;\n");
    expect(1, 0, status.st_mtime - 1, "");
    unlink(path);
    expect(1, 1, 0, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
