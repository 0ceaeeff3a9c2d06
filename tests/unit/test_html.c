/* What stands in an HTML report: text and JSON of others are shown and not obeyed; the picture of a
 * schedule is what the model says. */
#include "finding/from_model.h"
#include "report/html_page.h"
#include "support/written.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <string.h>

static char *escaped(const char *text, size_t piece) {
    char *out = NULL;
    size_t bytes = 0, length = strlen(text);
    FILE *memory = open_memstream(&out, &bytes), *stream = hd_html_stream(memory);
    for (size_t i = 0; i < length; i += piece) {
        fwrite(text + i, 1, length - i < piece ? length - i : piece, stream);
        fflush(stream); /* characters come in pieces */
    }
    assert_int_equal(fclose(stream), 0);
    fclose(memory);
    return out;
}

static void text_is_escaped(void **state) {
    (void)state;
    static const struct {
        const char *text, *shown;
    } row[] = {{"", ""},
               {"a < b && c > \"d\"", "a &lt; b &amp;&amp; c &gt; &quot;d&quot;"},
               {"</script><!--", "&lt;/script&gt;&lt;!--"},
               {"\x01\x1b[31m\x7f\t\n", "\\x01\\x1b[31m\\x7f\t\n"},
               {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
               {"\xff\xc3", "\\xff\\xc3"},
               {"\xe2\x82<", "\\xe2\\x82&lt;"},
               {"\xc0\xbcscript", "\\xc0\\xbcscript"}, /* '<' in too many bytes */
               {"\xf0\x9f", "\\xf0\\x9f"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        for (size_t piece = 1; piece < 8; piece++) {
            char *shown = escaped(row[i].text, piece);
            assert_string_equal(shown, row[i].shown);
            free(shown);
        }
}

static void json_is_escaped(void **state) {
    (void)state;
    char *out = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&out, &bytes);
    hd_html_json(memory, json_pack("{s:s}", "</script>", "<!-- & \xe2\x80\xa8 \x01"));
    fclose(memory);
    assert_string_equal(out, "{\"\\u003c/script\\u003e\":\"\\u003c!-- \\u0026 \\u2028 \\u0001\"}");
    json_t *again = json_loads(out, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(again, "</script>")),
                        "<!-- & \xe2\x80\xa8 \x01");
    json_decref(again);
    free(out);
}

/* The whole of a long witness: each column is as many events, each event counts once. */
static void strip(void **state) {
    (void)state;
    static struct hd_finding_turn turn[] = {{"T1", 300}, {"T2", 500}, {"T1", 200}, {"T3", 1000}};
    struct hd_finding finding = {.variable = "x",
                                 .engine = "",
                                 .conclusion = "",
                                 .how = "",
                                 .support = "",
                                 .seen = "",
                                 .possible = "",
                                 .ranking = "",
                                 .repair = "",
                                 .turn = turn,
                                 .turns = 4};
    struct hd_intern shared = {0};
    json_t *object = hd_html_finding(&finding, &shared);
    json_t *drawn = json_object_get(object, "strip"), *levels = json_object_get(drawn, "levels");
    assert_int_equal(json_integer_value(json_object_get(drawn, "events")), 2000);
    assert_int_equal(json_array_size(levels), 3);
    static const struct {
        unsigned lane, from, to; /* columns of 400 where the thread runs alone */
    } row[] = {{0, 0, 60}, {1, 60, 160}, {0, 160, 200}, {2, 200, 400}};
    for (size_t i = 0; i < 4; i++)
        for (unsigned lane = 0; lane < 3; lane++)
            for (unsigned column = row[i].from; column < row[i].to; column++)
                assert_int_equal(json_string_value(json_array_get(levels, lane))[column],
                                 lane == row[i].lane ? '9' : '0');
    json_decref(object);
    hd_intern_free(&shared);
}

/* ---- pictures -------------------------------------------------------------------------------- */

static bool has_arrow(const struct hd_finding_arrow *arrow, uint32_t arrows, uint32_t from,
                      uint32_t to, const char *what) {
    for (uint32_t i = 0; i < arrows; i++)
        if (arrow[i].from == from && arrow[i].to == to && strcmp(arrow[i].what, what) == 0)
            return true;
    return false;
}

static void picture(void **state) {
    (void)state;
    static const char trace[] = "main|w(x)|s0\n"    /* 0 */
                                "main|fork(a)|s1\n" /* 1 */
                                "main|fork(b)|s2\n" /* 2 */
                                "a|acq(m)|s3\n"     /* 3 */
                                "a|w(x)|s4\n"       /* 4 */
                                "a|rel(m)|s5\n"     /* 5 */
                                "b|acq(m)|s6\n"     /* 6 */
                                "b|r(x)|s7\n"       /* 7 */
                                "b|rel(m)|s8\n"     /* 8 */
                                "a|w(y)|s9\n"       /* 9 */
                                "b|w(y)|s10\n";     /* 10 */
    FILE *file = fopen("t.std", "w");
    fputs(trace, file);
    fclose(file);
    struct hd_model model;
    struct hd_error error;
    if (!hd_model_load("t.std", NULL, NULL, &model, &error)) fail_msg("%s", error.message);
    struct hd_describe *describe = hd_describe_open(&model);
    struct hd_findings findings = {.want_pictures = true};
    struct hd_finding draft = {.kind = HD_FINDING_NONDETERMINISM};
    /* b's section first: its read sees the first write, and a's write is next */
    const uint32_t event[] = {7, 4};
    const struct hd_span order[] = {{0, 3}, {6, 3}, {3, 2}};
    hd_finding_set_events(&findings, &draft, describe, &model, event, 2);
    hd_finding_set_witness(&findings, &draft, describe, &model, order, 3, 1);
    const struct hd_finding_picture *drawn = draft.picture;
    assert_non_null(drawn);
    /* in the trace b reads a's write, in the schedule that of main */
    assert_true(has_arrow(drawn->observed_arrow, drawn->observed_arrows, 4, 7, "reads-from"));
    assert_true(has_arrow(drawn->arrow, drawn->arrows, 0, 7, "reads-from"));
    assert_false(has_arrow(drawn->arrow, drawn->arrows, 4, 7, "reads-from"));
    assert_true(has_arrow(drawn->arrow, drawn->arrows, 1, 3, "fork"));
    assert_true(has_arrow(drawn->observed_arrow, drawn->observed_arrows, 2, 6, "fork"));
    /* the observed order is that of the trace, and what is left out is counted */
    uint32_t next = 0;
    for (uint32_t i = 0; i < drawn->observed_steps; i++) {
        const struct hd_finding_step *step = &drawn->observed[i];
        if (step->folded == 0) assert_int_equal(step->event, next);
        next += step->folded > 0 ? step->folded : 1;
    }
    assert_int_equal(next, 9);
    /* a's section is open when the schedule ends, b's is not */
    assert_int_equal(drawn->sections, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const struct hd_finding_section *section = &drawn->section[i];
        bool of_a = section->acquire == 3;
        assert_int_equal(section->release, of_a ? 5 : 8);
        assert_int_equal(section->open, of_a);
        assert_string_equal(draft.lane[section->lane], of_a ? "a" : "b");
        assert_string_equal(section->lock, "m");
    }
    hd_findings_free(&findings);
    hd_describe_close(describe);
    hd_model_free(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(text_is_escaped),
                                       cmocka_unit_test(json_is_escaped), cmocka_unit_test(strip),
                                       cmocka_unit_test(picture)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
