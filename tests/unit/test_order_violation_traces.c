/* The table of tests/traces/order/verdicts.tsv: what order prediction says of each trace and how it
 * ranks it, the verdicts by naive enumeration and brute force too; and runs that passed. */
#include "../oracle/orders_naive.h"

#ifndef HEDDLE_SOURCE_DIR
#define HEDDLE_SOURCE_DIR "."
#endif
#define TRACES HEDDLE_SOURCE_DIR "/tests/traces/order/"

enum { ROWS = 128, WIDTH = 256 };

static void load(const char *name, struct hd_model *model) {
    char path[512];
    struct hd_error error = {0};
    struct hd_model_options strict = {.lenient = false};
    snprintf(path, sizeof path, TRACES "%s.std", name);
    if (!hd_model_load(path, NULL, &strict, model, &error)) fail_msg("%s", error.message);
}

static int compare_rows(const void *left, const void *right) { return strcmp(left, right); }

static unsigned rows_of(const char *name, const struct hd_model *model, char (*row)[WIDTH]) {
    struct hd_findings found;
    struct hd_predict_options options = {.reading = HD_CDSR, .all = true};
    kind_find(model, hd_predict_orders, options, &found);
    unsigned rows = 0;
    for (size_t i = 0; i < found.list.size; i++) {
        const struct hd_finding *finding = &found.list.data[i];
        snprintf(row[rows++], WIDTH, "%s\t%s\t%s\t%s\t%s\t%s\t%u %u\n", name, finding->pattern,
                 hd_finding_verdict_name(finding->verdict), hd_finding_harm_name(finding->harm),
                 finding->observed ? "seen" : "not seen", finding->variable,
                 finding->event[0].event, finding->event[1].event);
    }
    if (rows == 0) snprintf(row[rows++], WIDTH, "%s\t-\t-\t-\t-\t-\t-\n", name);
    hd_findings_free(&found);
    return rows;
}

/* As many that are feasible by definition. */
static void check_by_force(const struct hd_model *model, char (*row)[WIDTH], unsigned rows) {
    static struct naive_orders naive;
    struct small small;
    unsigned feasible = 0;
    for (unsigned i = 0; i < rows; i++) feasible += strstr(row[i], "\tfeasible\t") != NULL;
    small_build(&small, model);
    naive_orders(&naive, &small, HD_CDSR);
    assert_int_equal(naive.orders, feasible);
}

static void verdict_table(void **state) {
    (void)state;
    static char wanted[ROWS][WIDTH], got[ROWS][WIDTH];
    char line[WIDTH], name[64], before[64] = "";
    unsigned lines = 0, traces = 0, count = 0;
    FILE *table = fopen(TRACES "verdicts.tsv", "r");
    assert_non_null(table);
    assert_non_null(fgets(line, sizeof line, table));
    assert_string_equal(line, "#trace\tpattern\tverdict\tharm\thow\tvariable\tevents\n");
    while (fgets(line, sizeof line, table) != NULL && lines < ROWS) strcpy(wanted[lines++], line);
    fclose(table);
    for (unsigned i = 0; i < lines; i++) {
        assert_int_equal(sscanf(wanted[i], "%63s", name), 1);
        if (strcmp(name, before) == 0) continue;
        struct hd_model model;
        load(name, &model);
        unsigned rows = rows_of(name, &model, got + count);
        check_by_force(&model, got + count, rows);
        count += rows;
        hd_model_free(&model);
        strcpy(before, name);
        traces++;
    }
    qsort(wanted, lines, WIDTH, compare_rows);
    qsort(got, count, WIDTH, compare_rows);
    for (unsigned i = 0; i < lines && i < count; i++) assert_string_equal(got[i], wanted[i]);
    assert_int_equal(count, lines);
    assert_true(traces >= 20);
}

/* ---- runs that passed --------------------------------------------------------------------------
 */

static void read_text(const char *text, struct hd_model *model) {
    struct hd_trace trace;
    struct hd_error error = {0};
    struct hd_trace_options options = {.format = HD_FORMAT_TEXT, .format_given = true};
    if (!hd_trace_read(text, strlen(text), "text", &options, &trace, &error) ||
        !hd_model_build(&trace, NULL, model, &error))
        fail_msg("%s", error.message);
}

static enum hd_finding_harm harm_beside(const char *run, const char *passed, uint64_t *hidden) {
    struct hd_model model, other, *others = &other;
    struct hd_findings found;
    read_text(run, &model);
    read_text(passed, &other);
    struct hd_describe *describe = hd_describe_open(&other);
    struct hd_predict_options options = {
        .reading = HD_CDSR, .passing = &others, .passing_describe = &describe, .passings = 1};
    kind_find(&model, hd_predict_orders, options, &found);
    *hidden = found.summary.hidden;
    hd_findings_free(&found);
    options.all = true;
    kind_find(&model, hd_predict_orders, options, &found);
    assert_int_equal(found.list.size, 1);
    enum hd_finding_harm harm = found.list.data[0].harm;
    hd_findings_free(&found);
    hd_describe_close(describe);
    hd_model_free(&model);
    hd_model_free(&other);
    return harm;
}

static void passing_runs(void **state) {
    (void)state;
    uint64_t hidden;
    const char *read_late = "T0|fork(T1)|p1\nT0|w(handle)|p2\nT1|r(handle)|q1\n";
    const char *read_early = "T0|fork(T1)|p1\nT1|r(handle)|q1\nT0|w(handle)|p2\n";
    assert_int_equal(harm_beside(read_late, read_late, &hidden), HD_HARM_LIKELY);
    assert_int_equal(hidden, 0);
    assert_int_equal(harm_beside(read_late, read_early, &hidden), HD_HARM_EXERCISED);
    assert_int_equal(hidden, 1);
    const char *written_late = "T0|fork(T1)|p1\nT0|w(io)|p2\nT1|w(io)|q1\n";
    const char *written_early = "T0|fork(T1)|p1\nT1|w(io)|q1\nT0|w(io)|p2\n";
    assert_int_equal(harm_beside(written_late, written_late, &hidden), HD_HARM_LIKELY);
    assert_int_equal(harm_beside(written_late, written_early, &hidden), HD_HARM_EXERCISED);
    /* what is a bug by itself stays one */
    const char *used = "T0|alloc(p:4)|p1\nT0|fork(T1)|p2\nT1|r(p)|q1\nT0|free(p)|p3\n";
    assert_int_equal(harm_beside(used, used, &hidden), HD_HARM_ITSELF);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(verdict_table),
                                       cmocka_unit_test(passing_runs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
