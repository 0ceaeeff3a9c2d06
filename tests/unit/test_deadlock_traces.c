/* The table of tests/traces/deadlock/verdicts.tsv: what deadlock prediction says of each trace, by
 * naive enumeration and brute force too where the run itself did not deadlock. */
#include "../oracle/lock_cycles_naive.h"
#include "predict/deadlock.h"
#include "predict/lock_cycles.h"

#ifndef HEDDLE_SOURCE_DIR
#define HEDDLE_SOURCE_DIR "."
#endif
#define TRACES HEDDLE_SOURCE_DIR "/tests/traces/deadlock/"

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
    struct hd_predict_options options = {.reading = HD_CDSR};
    kind_find(model, hd_predict_deadlocks, options, &found);
    unsigned rows = 0;
    for (size_t i = 0; i < found.list.size; i++) {
        const struct hd_finding *finding = &found.list.data[i];
        assert_int_equal(finding->verdict, HD_VERDICT_FEASIBLE);
        assert_int_equal(finding->harm, HD_HARM_ITSELF);
        assert_int_equal(finding->witness_next, finding->events);
        int used = snprintf(row[rows], WIDTH, "%s\t%s\t%s\t%s\t", name, finding->pattern,
                            finding->observed ? "seen" : "predicted", finding->variable);
        for (uint32_t k = 0; k < finding->events; k++)
            used += snprintf(row[rows] + used, WIDTH - (size_t)used, "%s%u", k > 0 ? " " : "",
                             finding->event[k].event);
        snprintf(row[rows++] + used, WIDTH - (size_t)used, "\n");
    }
    if (rows == 0) snprintf(row[rows++], WIDTH, "%s\t-\t-\t-\t-\n", name);
    hd_findings_free(&found);
    return rows;
}

/* As many circles by definition. */
static void check_by_force(const struct hd_model *model, const char *first_row, unsigned rows) {
    static struct naive_deadlocks naive;
    struct small small;
    for (uint32_t e = 0; e < model->events; e++)
        if (model->kind[e] == HD_EV_BLOCKED) return;
    small_build(&small, model);
    naive_deadlocks(&naive, &small, HD_CDSR);
    assert_int_equal(naive.cycles, strchr(first_row, '-') != NULL ? 0 : rows);
}

static void verdict_table(void **state) {
    (void)state;
    static char wanted[ROWS][WIDTH], got[ROWS][WIDTH];
    char line[WIDTH], name[64], before[64] = "";
    unsigned lines = 0, traces = 0, count = 0;
    FILE *table = fopen(TRACES "verdicts.tsv", "r");
    assert_non_null(table);
    assert_non_null(fgets(line, sizeof line, table));
    assert_string_equal(line, "#trace\tpattern\thow\tvariable\tevents\n");
    while (fgets(line, sizeof line, table) != NULL && lines < ROWS) strcpy(wanted[lines++], line);
    fclose(table);
    for (unsigned i = 0; i < lines; i++) {
        assert_int_equal(sscanf(wanted[i], "%63s", name), 1);
        if (strcmp(name, before) == 0) continue;
        struct hd_model model;
        load(name, &model);
        unsigned rows = rows_of(name, &model, got + count);
        check_by_force(&model, got[count], rows);
        count += rows;
        hd_model_free(&model);
        strcpy(before, name);
        traces++;
    }
    qsort(wanted, lines, WIDTH, compare_rows);
    qsort(got, count, WIDTH, compare_rows);
    for (unsigned i = 0; i < lines && i < count; i++) assert_string_equal(got[i], wanted[i]);
    assert_int_equal(count, lines);
    assert_true(traces >= 25);
}

/* A bound that is hit is told: never infeasible, never silent. */
static void check_bound(const char *name, struct hd_deadlock_limits limits, bool found) {
    struct hd_model model;
    struct hd_findings findings = {0};
    struct hd_error error = {0};
    load(name, &model);
    struct hd_predict predict = {
        .model = &model,
        .describe = hd_describe_open(&model),
        .options = {.method = HD_METHOD_POLY, .reading = HD_CDSR, .jobs = 1}};
    assert_true(hd_predict_deadlocks_within(&predict, &limits, &findings, &error));
    assert_int_equal(findings.summary.verdict[HD_VERDICT_FEASIBLE], found);
    assert_int_equal(findings.summary.verdict[HD_VERDICT_UNDECIDED], !found);
    assert_int_equal(findings.summary.candidates, 1);
    hd_findings_free(&findings);
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

/* The same code with other objects is one bug: locks of one array, and longer circles of them. */
static void one_bug(void **state) {
    (void)state;
    struct hd_known_cycles known = {0};
    uint32_t types[3] = {4, 4, 7};
    assert_true(hd_known_cycles_add(&known, types, 2));
    assert_true(hd_known_cycles_add(&known, types, 3));
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
