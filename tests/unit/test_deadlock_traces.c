/* The table of tests/traces/deadlock/verdicts.tsv: what deadlock prediction says of each trace, by
 * naive enumeration and brute force too where the run itself did not deadlock. */
#include "oracle/lock_cycles_naive.h"
#include "predict/deadlock.h"
#include "predict/lock_cycles.h"

#include "support/verdict_table.h"

static unsigned rows_of(const char *name, const struct hd_model *model, char (*row)[TABLE_WIDTH]) {
    struct hd_findings found;
    struct hd_predict_options options = {.reading = HD_CDSR};
    kind_find(model, hd_predict_deadlocks, options, &found);
    unsigned rows = 0;
    for (size_t i = 0; i < found.list.size; i++) {
        const struct hd_finding *finding = &found.list.data[i];
        assert_int_equal(finding->verdict, HD_VERDICT_FEASIBLE);
        assert_int_equal(finding->harm, HD_HARM_ITSELF);
        assert_int_equal(finding->witness_next, finding->events);
        int used = snprintf(row[rows], TABLE_WIDTH, "%s\t%s\t%s\t%s\t", name, finding->pattern,
                            finding->observed ? "seen" : "predicted", finding->variable);
        for (uint32_t k = 0; k < finding->events; k++)
            used += snprintf(row[rows] + used, TABLE_WIDTH - (size_t)used, "%s%u", k > 0 ? " " : "",
                             finding->event[k].event);
        snprintf(row[rows++] + used, TABLE_WIDTH - (size_t)used, "\n");
    }
    if (rows == 0) snprintf(row[rows++], TABLE_WIDTH, "%s\t-\t-\t-\t-\n", name);
    hd_findings_free(&found);
    return rows;
}

/* As many cycles by definition. */
static void check_by_force(const struct hd_model *model, const char *first_row, unsigned rows) {
    static struct naive_deadlocks naive;
    struct small small;
    for (uint32_t e = 0; e < model->events; e++)
        if (model->kind[e] == HD_EV_BLOCKED) return;
    small_build(&small, model);
    naive_deadlocks(&naive, &small, HD_CDSR, NULL);
    assert_int_equal(naive.cycles, strchr(first_row, '-') != NULL ? 0 : rows);
}

static unsigned checked_rows(const char *name, const struct hd_model *model,
                             char (*row)[TABLE_WIDTH]) {
    unsigned rows = rows_of(name, model, row);
    check_by_force(model, row[0], rows);
    return rows;
}

static void verdict_table(void **state) {
    (void)state;
    static const struct verdict_table table = {
        "deadlock", "#trace\tpattern\thow\tvariable\tevents\n", 25, checked_rows};
    verdict_table_check(&table);
}

/* A bound that is hit is told: never infeasible, never silent. */
static void check_bound(const char *name, struct hd_deadlock_limits limits, bool found) {
    struct hd_model model;
    struct hd_findings findings = {0};
    struct hd_error error = {0};
    model_of_file("deadlock", name, &model);
    struct hd_analysis analysis = {.model = &model, .describe = hd_describe_open(&model)};
    struct hd_predict predict = {
        .analysis = &analysis,
        .model = &model,
        .describe = analysis.describe,
        .options = {.method = &hd_method_poly, .reading = HD_CDSR, .jobs = 1}};
    assert_true(hd_predict_deadlocks_within(&predict, &limits, &findings, &error));
    assert_int_equal(findings.summary.verdict[HD_VERDICT_FEASIBLE], found);
    assert_int_equal(findings.summary.verdict[HD_VERDICT_UNDECIDED], !found);
    assert_int_equal(findings.summary.candidates, 1);
    hd_findings_free(&findings);
    hd_analysis_free(&analysis);
    hd_describe_close(predict.describe);
    hd_model_free(&model);
}

static void bounds(void **state) {
    (void)state;
    struct hd_deadlock_limits limits = hd_deadlock_limits;
    check_bound("philosophers", limits, true);
    limits.steps = 1;
    check_bound("philosophers", limits, false);
    limits = hd_deadlock_limits;
    limits.groups = 0;
    check_bound("philosophers", limits, false);
    limits = hd_deadlock_limits;
    limits.questions = 0;
    check_bound("philosophers", limits, false);
    limits = hd_deadlock_limits;
    limits.skipped = 0;
    check_bound("flag", limits, false);
}

/* The same code with other objects is one bug: locks of one array, and longer cycles of them. */
static void one_bug(void **state) {
    (void)state;
    struct hd_known_cycles known = {0};
    uint32_t types[3] = {4, 4, 7};
    hd_known_cycles_add(&known, types, 2);
    hd_known_cycles_add(&known, types, 3);
    assert_int_equal(known.start.size, 3);
    assert_int_equal(known.start.data[1], 1);
    assert_int_equal(known.start.data[2], 3);
    hd_known_cycles_free(&known);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(verdict_table), cmocka_unit_test(bounds),
                                       cmocka_unit_test(one_bug)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
