/* The text form: what is written is read as the same program; what is wrong is refused with a line
 * that says where; units that see the same things share them. */
#include "source_help.h"

static const char sample[] =
    "heddle-source 1\n"
    "unit good \"/src/a.c\" errors 0 left-out 2\n"
    "unit degraded \"/src/b.c\" errors 1 left-out 0 \"b.c:1: error: \\22x\\22\"\n"
    "record queue \"c:@S@queue\" \"/src/q.h\" 3\n"
    "field queue::head \"c:@S@queue@FI@head\" pointer \"int *\"\n"
    "field queue::lock \"c:@S@queue@FI@lock\" taken,record \"pthread_mutex_t\"\n"
    "global total \"c:a.c@total@/src/a.c\" static \"int\" \"/src/a.c\" 9\n"
    "global total#2 \"c:b.c@total@/src/b.c\" static \"int\" \"/src/b.c\" 9\n"
    "extern f \"c:@F@f\" - \"int (struct queue *)\"\n"
    "extern g \"c:@F@g\" taken,noreturn \"int (int *)\"\n"
    "function f \"c:@F@f\" - \"int (struct queue *)\" \"/src/a.c\" 10-20 unit 0\n"
    "  annotate \"heddle_atomic\"\n"
    "  parameter %q pointer \"struct queue *\" 10\n"
    "  local %i - \"int\" 11\n"
    "  local %i#2 taken \"int\" 12\n"
    "  static kept \"c:a.c@F@f@kept\" static \"int\" 13\n"
    "  block 10:1-20 {\n"
    "    if 14:3-15 {\n"
    "      condition expr 14:7 {\n"
    "        nested and 14:7 {\n"
    "          expr 14:7 {\n"
    "            r %q 14:7\n"
    "          } = 0\n"
    "          expr 14:12 {\n"
    "            r %q->queue::head 14:15+12-18 via 0\n"
    "          } = 1\n"
    "        } <- 0,1\n"
    "      } = 2\n"
    "      then goto out 14:20\n"
    "    }\n"
    "    expr 16:3 {\n"
    "      a %i#2 16:5\n"
    "      call g 16:3 ( &%i#2<3 _ @f ) -> total library\n"
    "      call * 16:9 \"int (int)\" of %q->queue::head^[i] ( ) via 4\n"
    "      w total 16:1+1-8 <- 4,5\n"
    "      rw g()->queue::lock 17:1 atomic macro whole \"c:@S@queue\"\n"
    "      r ?.queue::head^^ 17:9\n"
    "      ref g 17:12\n"
    "    } = 6\n"
    "    do 18:1 {\n"
    "      body block 18:1 {\n"
    "      }\n"
    "      condition expr 18:9 never {\n"
    "      }\n"
    "    }\n"
    "    label out 19:1 {\n"
    "      return 19:5\n"
    "    }\n"
    "  }\n"
    "end\n";

static void written_as_read(void **state) {
    (void)state;
    struct hd_source source = {0};
    read_source(&source, sample);
    size_t length;
    char *text = hd_source_write_text(&source, &length);
    assert_string_equal(text, sample);
    assert_int_equal(length, strlen(sample));
    free(text);
    hd_source_free(&source);
}

static void what_was_read(void **state) {
    (void)state;
    struct hd_source source = {0};
    read_source(&source, sample);
    uint32_t f = hd_source_function_find(&source, "c:@F@f");
    const struct hd_source_function *function = &source.function.data[f];
    assert_int_equal(function->parameters, 1);
    assert_int_equal(function->variables.count, 4);
    assert_int_equal(function->steps.count, 10);
    const struct hd_source_step *step = &source.step.data[function->steps.first];
    char name[64];
    assert_string_equal(hd_source_path_name(&source, step[1].path, name, sizeof name), "q->head");
    assert_string_equal(hd_source_text(&source, source.variable.data[step[1].variable].name),
                        "queue::head");
    assert_int_equal(step[1].begin, 12);
    assert_int_equal(step[1].end, 18);
    assert_false(step[1].flags & HD_STEP_INDIRECT);
    assert_int_equal(step[2].kind, HD_STEP_NESTED);
    assert_int_equal(source.node.data[step[2].node].kind, HD_NODE_AND);
    assert_string_equal(hd_source_path_name(&source, step[5].path, name, sizeof name),
                        "q->head[i]");
    assert_string_equal(hd_source_path_name(&source, step[8].path, name, sizeof name),
                        "**(...).head");
    assert_true(step[8].flags & HD_STEP_INDIRECT);
    assert_false(hd_source_path_exact(&source, step[8].path));
    assert_true(hd_source_path_exact(&source, step[1].path));
    assert_int_equal(step[4].arguments.count, 3);
    assert_true(source.file.data[source.record.data[0].file].header);
    assert_false(source.file.data[source.unit.data[0].file].header);
    hd_source_free(&source);
}

static void short_names(void **state) {
    (void)state;
    static const struct {
        const char *path, *name;
    } cases[] = {{"%p", "p"},
                 {"%p^", "*p"},
                 {"%p->s::x.t::y", "p->x.y"},
                 {"%p^^", "**p"},
                 {"%p^->s::x", "(*p)->x"},
                 {"%p^[3].s::x", "p[3].x"},
                 {"%p^^[]", "(*p)[...]"},
                 {"table[i]", "table[i]"},
                 {"%r->s::x", "r.x"},
                 {"%r^", "r"},
                 {"get()->s::x", "get()->x"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hd_source source = {0};
        char body[200], name[64];
        snprintf(body, sizeof body, "local p\nlocal r - \"int &\"\nblock {\nexpr {\nr %s 1:1\n}\n}",
                 cases[i].path);
        read_function(&source, body);
        assert_string_equal(
            hd_source_path_name(&source, source.step.data[0].path, name, sizeof name),
            cases[i].name);
        hd_source_free(&source);
    }
}

static void two_units(void **state) {
    (void)state;
    struct hd_source source = {0};
    static const char unit[] = "heddle-source 1\nunit good \"%s\"\n"
                               "function inline_one \"k\" static,header \"int ()\" \"q.h\" 3-4\n"
                               "local i\nblock {\nexpr {\nr %%i\nw queue::x\n}\n}\nend\n"
                               "function main \"c:@F@main\" - \"int ()\" \"%s\" 8-9\n"
                               "block {\nexpr {\ncall inline_one ( )\n}\n}\nend\n";
    char text[1000];
    snprintf(text, sizeof text, unit, "a.c", "a.c");
    read_source(&source, text);
    snprintf(text, sizeof text, unit, "b.c", "b.c");
    read_source(&source, text);
    unsigned inlines = 0, mains = 0;
    for (size_t i = 0; i < source.function.size; i++) {
        const char *name = hd_source_text(&source, source.function.data[i].name);
        if (strcmp(name, "inline_one") == 0) inlines++;
        if (strcmp(name, "main") == 0) mains++;
    }
    assert_int_equal(inlines, 1); /* one definition in a header */
    assert_int_equal(mains, 2);   /* two programs */
    uint32_t first = hd_source_function_find(&source, "c:@F@main");
    assert_int_not_equal(source.function.data[first].same_key, HD_SOURCE_NONE);
    char line[100];
    assert_string_equal(hd_source_closing_line(&source, line, sizeof line),
                        "3 functions in 2 files");
    hd_source_free(&source);
}

static void closing_line(void **state) {
    (void)state;
    struct hd_source source = {0};
    read_source(&source, "heddle-source 1\nunit good \"a.c\"\nunit degraded \"b.c\" errors 3\n"
                         "unit degraded \"b.c\" errors 3\nunit lost \"c.c\"\n");
    char line[100];
    assert_string_equal(hd_source_closing_line(&source, line, sizeof line),
                        "0 functions in 3 files, 1 file had errors, 1 file could not be read");
    hd_source_free(&source);
}

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *body, *message;
    } cases[] = {
        {"block {\nexpr {\nr %nobody\n}\n}", "input, line 6: no local 'nobody'"},
        {"block {\nexpr {\nw x <- 0\n}\n}",
         "input, line 6: not the number of a step before this one"},
        {"block {\nif {\nexpr {\n}\n}\n}", "input, line 8: wrong parts of 'if'"},
        {"block {\nwhile {\nblock\nblock\n}\n}", "input, line 8: wrong parts of 'while'"},
        {"block {\nand {\n}\n}", "input, line 5: and, or, choose are nested, statements are not"},
        {"expr {\n}", "input, line 4: a body is one block"},
        {"block {\n}\nblock {\n}", "input, line 6: a body is one block"},
        {"block {", "input, line 5: the body is not complete"},
        {"block {\nexpr {\ncall f ( x\n}\n}", "input, line 6: the arguments have no )"},
        {"block {\nexpr {\nr x 1:2:3\n}\n}", "input, line 6: wrong position"},
        {"block {\nexpr {\nr x sideways\n}\n}", "input, line 6: unknown word 'sideways'"},
        {"local i\nlocal i\nblock", "input, line 5: this name is taken"},
        {"local i\nparameter j\nblock", "input, line 5: parameters come before locals"},
        {"block {\nexpr {\nr x[\n}\n}", "input, line 6: an index without ]"},
        {"block {\nexpr {\nr x\\zz\n}\n}", "input, line 6: wrong name 'x\\zz'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hd_source source = {0};
        struct hd_error error;
        char text[500];
        snprintf(text, sizeof text, "heddle-source 1\nunit good \"f.c\"\nfunction f\n%s\nend\n",
                 cases[i].body);
        assert_false(hd_source_read_text(&source, "input", text, strlen(text), &error));
        assert_string_equal(error.message, cases[i].message);
        hd_source_free(&source);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_as_read), cmocka_unit_test(what_was_read),
        cmocka_unit_test(short_names),     cmocka_unit_test(two_units),
        cmocka_unit_test(closing_line),    cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
