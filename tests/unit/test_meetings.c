/* Where the accesses of a suspicion meet in a run, and the order that brings them together; reports
 * of lint that are read back. */
#include "explore/meetings.h"
#include "explore/suspicions.h"

#include "support/model_make.h"

struct run {
    struct hd_model model;
    struct hd_analysis analysis;
};

static struct run *run_of(const char *text) {
    struct run *run = hd_zalloc(1, sizeof *run);
    model_read(text, strlen(text), true, &run->model);
    run->analysis.model = &run->model;
    run->analysis.describe = hd_describe_open(&run->model);
    return run;
}

static void free_run(struct run *run) {
    hd_analysis_free(&run->analysis);
    hd_describe_close(run->analysis.describe);
    hd_model_free(&run->model);
    free(run);
}

/* a.c:1 is read first, a.c:9 written in between, a.c:2 written second. */
static struct hd_finding_event events[] = {
    {.role = HD_FINDING_ROLE_FIRST, .op = "r", .file = "src/a.c", .line = 1, .function = ""},
    {.role = HD_FINDING_ROLE_BETWEEN, .op = "w", .file = "src/a.c", .line = 9, .function = ""},
    {.role = HD_FINDING_ROLE_SECOND, .op = "w", .file = "src/a.c", .line = 2, .function = ""},
    {.role = HD_FINDING_ROLE_NONE, .op = "r", .file = "src/a.c", .line = 7, .function = ""}};
static const struct hd_finding stale = {
    .kind = HD_FINDING_STALE_VALUE, .event = events, .events = 4};

#define FIRST "T1|acq(m)|a.c:0\nT1|r(x)|a.c:1\nT1|rel(m)|a.c:0\n"   /* 0 1 2 */
#define SECOND "T1|acq(m)|a.c:0\nT1|w(x)|a.c:2\nT1|rel(m)|a.c:0\n"  /* 3 4 5 */
#define BETWEEN "T2|acq(m)|a.c:0\nT2|w(x)|a.c:9\nT2|rel(m)|a.c:0\n" /* 6 7 8 */

static void expect(const char *text, const char *order) {
    struct run *run = run_of(text);
    struct hd_meetings meetings;
    struct hd_arena arena = {0};
    char got[256] = "";
    hd_meetings_find(&run->analysis, &stale, &meetings);
    if (meetings.list.size > 0) {
        struct hd_span *span;
        uint32_t spans;
        assert_true(
            hd_meeting_order(&run->analysis, &meetings.list.data[0], &arena, &span, &spans));
        for (uint32_t i = 0; i < spans; i++)
            for (uint32_t k = 0; k < span[i].count; k++)
                snprintf(got + strlen(got), sizeof got - strlen(got), "%u ", span[i].first + k);
    }
    assert_string_equal(got, order);
    hd_meetings_free(&meetings);
    hd_arena_free(&arena);
    free_run(run);
}

static void test_order(void **state) {
    (void)state;
    /* later in the run: the thread stops before its second section */
    expect(FIRST SECOND BETWEEN, "0 1 2 6 7 8 3 ");
    /* earlier: the other's section waits */
    expect(BETWEEN FIRST SECOND, "3 4 5 0 1 2 6 ");
    /* already in between */
    expect(FIRST BETWEEN SECOND, "0 1 2 3 4 5 6 ");
    /* one section around both: they can't meet */
    expect("T1|acq(m)|a.c:0\nT1|r(x)|a.c:1\nT1|w(x)|a.c:2\nT1|rel(m)|a.c:0\n" BETWEEN, "");
    /* other memory */
    expect(FIRST SECOND "T2|acq(m)|a.c:0\nT2|w(y)|a.c:9\nT2|rel(m)|a.c:0\n", "");
    /* the same thread */
    expect(FIRST SECOND "T1|acq(m)|a.c:0\nT1|w(x)|a.c:9\nT1|rel(m)|a.c:0\n", "");
    /* it is started after the second */
    expect(FIRST SECOND "T1|fork(T2)|a.c:5\n" BETWEEN, "");
    /* a third thread that it needs comes too */
    expect(FIRST SECOND "T3|fork(T2)|a.c:5\n" BETWEEN, "0 1 2 6 7 8 9 3 ");
}

/* The access in between need not be the one that was named: it may be in the same section. */
static void test_section(void **state) {
    (void)state;
    expect(FIRST SECOND "T2|acq(m)|a.c:0\nT2|w(z)|a.c:9\nT2|w(x)|a.c:10\nT2|rel(m)|a.c:0\n",
           "0 1 2 6 7 8 9 3 ");
}

/* One function that reads and writes (a counter that adds): what it reads first counts from the
 * next section on. */
static void test_same_block(void **state) {
    (void)state;
    static const char add[] = "T1|acq(m)|a.c:0\nT1|r(x)|a.c:1\nT1|w(x)|a.c:2\nT1|rel(m)|a.c:0\n";
    char text[512];
    snprintf(text, sizeof text, "%s%s" BETWEEN, add, add);
    expect(text, "0 1 2 3 8 9 10 4 ");
}

static bool is_shown(const char *text) {
    struct run *run = run_of(text);
    bool shown = hd_meeting_is_shown(&run->analysis, &stale, false);
    free_run(run);
    return shown;
}

static void test_shown(void **state) {
    (void)state;
    assert_true(is_shown(FIRST BETWEEN SECOND));
    assert_false(is_shown(FIRST SECOND BETWEEN));
    assert_false(is_shown(BETWEEN FIRST SECOND));
    /* the thread itself */
    assert_false(is_shown(FIRST "T1|acq(m)|a.c:0\nT1|w(x)|a.c:9\nT1|rel(m)|a.c:0\n" SECOND));
    /* it was read again, so it is not stale */
    assert_false(is_shown(FIRST BETWEEN FIRST SECOND));
    assert_true(is_shown(FIRST SECOND FIRST BETWEEN SECOND));
}

/* Another thread adds to a list: what was read there stays, but not how much there is. */
static void test_by_block(void **state) {
    (void)state;
    static const char text[] =
        "T1|acq(m)|a.c:0\nT1|r(rows)|a.c:3\nT1|r(x)|a.c:1\nT1|rel(m)|a.c:0\n"
        "T1|acq(m)|a.c:0\nT1|w(x)|a.c:2\nT1|rel(m)|a.c:0\n"
        "T2|acq(m)|a.c:0\nT2|w(y)|a.c:9\nT2|w(rows)|a.c:10\nT2|rel(m)|a.c:0\n";
    struct run *run = run_of(text);
    struct hd_meetings meetings;
    hd_meetings_find(&run->analysis, &stale, &meetings);
    assert_int_equal(meetings.list.size, 1);
    assert_true(meetings.list.data[0].by_block);
    assert_int_equal(meetings.list.data[0].first, 1);
    assert_int_equal(meetings.list.data[0].between, 9);
    hd_meetings_free(&meetings);
    free_run(run);
    expect(text, "0 1 2 3 7 8 9 10 4 ");
}

static void test_views(void **state) {
    (void)state;
    /* the two views in the other order: only views may be */
    struct hd_finding view = stale;
    struct run *run = run_of("T1|w(x)|a.c:2\nT2|w(x)|a.c:9\nT1|r(x)|a.c:1\n");
    assert_false(hd_meeting_is_shown(&run->analysis, &view, true));
    view.kind = HD_FINDING_VIEW;
    assert_true(hd_meeting_is_shown(&run->analysis, &view, true));
    free_run(run);
}

static void test_roles(void **state) {
    (void)state;
    struct run *run = run_of(FIRST BETWEEN);
    struct hd_meetings meetings;
    hd_meetings_find(&run->analysis, &stale, &meetings);
    assert_int_equal(meetings.roles, 1u << HD_FINDING_ROLE_FIRST | 1u << HD_FINDING_ROLE_BETWEEN);
    assert_false(meetings.in_one_thread);
    hd_meetings_free(&meetings);
    free_run(run);
}

/* ---- reports -------------------------------------------------------------------------------- */

#define HEAD "{\"schema\":\"heddle-findings/1\",\"tool\":{},\"input\":{},\"findings\":[{\"kind\":\""
#define REST "\",\"verdict\":\"possible\",\"fingerprint\":\"f\",\"events\":["
#define EVENT(role, line) "{\"role\":\"" role "\",\"op\":\"r\",\"file\":\"a.c\",\"line\":" line "}"

static void refused(const char *text, const char *part) {
    struct hd_findings_file file;
    struct hd_error error = {0};
    assert_false(hd_suspicions_parse("x.json", text, strlen(text), &file, &error));
    if (strstr(error.message, part) == NULL) fail_msg("%s", error.message);
    assert_int_equal(strncmp(error.message, "x.json", 6), 0);
}

static void test_reports(void **state) {
    (void)state;
    struct hd_findings_file file;
    struct hd_error error = {0};
    char where[32];
    const char *good = HEAD
        "view" REST EVENT("first", "3") "," EVENT("between", "4") "," EVENT("second", "5") "]}]}";
    if (!hd_suspicions_parse("x.json", good, strlen(good), &file, &error))
        fail_msg("%s", error.message);
    assert_int_equal(file.findings.list.size, 1);
    hd_suspicion_where(&file.findings.list.data[0], HD_FINDING_ROLE_BETWEEN, where, sizeof where);
    assert_string_equal(where, "a.c:4");
    hd_findings_file_free(&file);
    refused("{", "x.json");
    refused(HEAD "race" REST "]}]}", "a finding of kind 'race' can't be forced");
    refused(HEAD "inconsistent-update" REST "]}]}", "heddle lint");
    refused(HEAD "view" REST EVENT("first", "3") "," EVENT("second", "5") "]}]}",
            "no event with the role 'between'");
    refused(HEAD "view" REST EVENT("first", "0") "]}]}", "event 0 has no file and line");
    refused(HEAD "view" REST EVENT("last", "3") "]}]}", "'last'");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),      cmocka_unit_test(test_section),
        cmocka_unit_test(test_same_block), cmocka_unit_test(test_shown),
        cmocka_unit_test(test_by_block),   cmocka_unit_test(test_views),
        cmocka_unit_test(test_roles),      cmocka_unit_test(test_reports)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
