/* The table of tests/traces/order/verdicts.tsv: what order prediction says of each trace and how it
 * ranks it, the verdicts by naive enumeration and brute force too; and runs that passed. */
#include "oracle/orders_naive.h"

#include "support/verdict_table.h"

static unsigned rows_of(const char *name, const struct hd_model *model, char (*row)[TABLE_WIDTH]) {
    struct hd_findings found;
    struct hd_predict_options options = {.reading = HD_CDSR, .all = true};
    kind_find(model, hd_predict_orders, options, &found);
    unsigned rows = 0;
    for (size_t i = 0; i < found.list.size; i++) {
        const struct hd_finding *finding = &found.list.data[i];
        snprintf(row[rows++], TABLE_WIDTH, "%s\t%s\t%s\t%s\t%s\t%s\t%u %u\n", name,
                 finding->pattern, hd_finding_verdict_name(finding->verdict),
                 hd_finding_harm_name(finding->harm), finding->observed ? "seen" : "not seen",
                 finding->variable, finding->event[0].event, finding->event[1].event);
    }
    if (rows == 0) snprintf(row[rows++], TABLE_WIDTH, "%s\t-\t-\t-\t-\t-\t-\n", name);
    hd_findings_free(&found);
    return rows;
}

/* As many that are feasible by definition. */
static void check_by_force(const struct hd_model *model, char (*row)[TABLE_WIDTH], unsigned rows) {
    static struct naive_orders naive;
    struct small small;
    unsigned feasible = 0;
    for (unsigned i = 0; i < rows; i++) feasible += strstr(row[i], "\tfeasible\t") != NULL;
    small_build(&small, model);
    naive_orders(&naive, &small, HD_CDSR, NULL);
    assert_int_equal(naive.orders, feasible);
}

static unsigned checked_rows(const char *name, const struct hd_model *model,
                             char (*row)[TABLE_WIDTH]) {
    unsigned rows = rows_of(name, model, row);
    check_by_force(model, row, rows);
    return rows;
}

static void verdict_table(void **state) {
    (void)state;
    static const struct verdict_table table = {
        "order", "#trace\tpattern\tverdict\tharm\thow\tvariable\tevents\n", 20, checked_rows};
    verdict_table_check(&table);
}

/* ---- runs that passed --------------------------------------------------------------------------
 */

static enum hd_finding_harm harm_beside(const char *run, const char *passed, uint64_t *hidden) {
    struct hd_model model, other;
    struct hd_findings found;
    model_read(run, strlen(run), false, &model);
    model_read(passed, strlen(passed), false, &other);
    struct hd_analysis analysis = {.model = &other, .describe = hd_describe_open(&other)};
    struct hd_analysis *const others = &analysis;
    struct hd_predict_options options = {.reading = HD_CDSR, .passing = &others, .passings = 1};
    kind_find(&model, hd_predict_orders, options, &found);
    *hidden = found.summary.hidden;
    hd_findings_free(&found);
    options.all = true;
    kind_find(&model, hd_predict_orders, options, &found);
    assert_int_equal(found.list.size, 1);
    enum hd_finding_harm harm = found.list.data[0].harm;
    hd_findings_free(&found);
    hd_analysis_free(&analysis);
    hd_describe_close(analysis.describe);
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
