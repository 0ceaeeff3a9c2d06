/* The table of tests/traces/verdicts.tsv by definition: every pair of conflicting accesses of each
 * trace is in it, lockset, HB, CP and UCG say what their relations say, poly what brute force and
 * the engine say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine/checker.h"
#include "oracle/engines_naive.h"
#include "oracle/reorder_search.h"

#ifndef HEDDLE_SOURCE_DIR
#define HEDDLE_SOURCE_DIR "."
#endif
#define TRACES HEDDLE_SOURCE_DIR "/tests/traces/"

enum { COLUMNS = 6 };

static bool engine_says(const struct hd_model *m, enum hd_reading reading, uint32_t a, uint32_t b) {
    struct question q = race_question(a, b);
    struct hd_query query = question_query(&q);
    struct hd_engine_base *base = hd_engine_base_build(m);
    struct hd_engine *engine = hd_engine_new(base, reading, (struct hd_budget){0});
    struct hd_witness witness = {0};
    struct hd_error error = {0};
    enum hd_verdict verdict = hd_engine_decide(engine, &query, &witness);
    assert_true(verdict == HD_FEASIBLE || verdict == HD_INFEASIBLE);
    if (verdict == HD_FEASIBLE && !hd_witness_check(m, reading, &query, &witness, &error))
        fail_msg("%s", error.message);
    hd_witness_free(&witness);
    hd_engine_free(engine);
    hd_engine_base_free(base);
    return verdict == HD_FEASIBLE;
}

static bool search_says(const struct small *small, enum hd_reading reading, uint32_t a,
                        uint32_t b) {
    struct question q = race_question(a, b);
    struct hd_query query = question_query(&q);
    bool says = search_decide(small, reading, &query, NULL, NULL);
    assert_true(engine_says(small->model, reading, a, b) == says);
    return says;
}

static void write_row(char *row, size_t room, const char *name, const struct small *small,
                      uint32_t a, uint32_t b) {
    const struct hd_model *m = small->model;
    const bool says[COLUMNS] = {lockset_says(m, a, b),
                                hb_says(m, a, b),
                                cp_says(m, a, b),
                                ucg_says(m, a, b),
                                search_says(small, HD_CSR, a, b),
                                search_says(small, HD_CDSR, a, b)};
    int used = snprintf(row, room, "%s\t%u\t%u", name, a, b);
    for (int i = 0; i < COLUMNS; i++)
        used += snprintf(row + used, room - (size_t)used, "\t%s", says[i] ? "race" : "-");
    snprintf(row + used, room - (size_t)used, "\n");
}

/* Compares the rows of one trace, which begin with the line at hand, and leaves the next line that
 * is not one of them. */
static void check_trace(FILE *table, char *line, size_t room) {
    char name[64], path[512];
    struct hd_model m;
    struct hd_error error = {0};
    struct hd_model_options strict = {.lenient = false};
    assert_int_equal(sscanf(line, "%63s", name), 1);
    snprintf(path, sizeof path, TRACES "%s.std", name);
    if (!hd_model_load(path, NULL, &strict, &m, &error)) fail_msg("%s", error.message);
    struct small small;
    small_build(&small, &m);
    for (uint32_t a = 0; a < m.events; a++)
        for (uint32_t b = a + 1; b < m.events; b++) {
            if (!accesses_race(&m, a, b)) continue;
            char row[256];
            write_row(row, sizeof row, name, &small, a, b);
            assert_string_equal(line, row);
            if (fgets(line, (int)room, table) == NULL) *line = '\0';
        }
    hd_model_free(&m);
}

static void verdict_table(void **state) {
    (void)state;
    FILE *table = fopen(TRACES "verdicts.tsv", "r");
    assert_non_null(table);
    char line[256];
    assert_non_null(fgets(line, sizeof line, table));
    assert_string_equal(line, "#trace\tfirst\tsecond\tlockset\thb\tcp\tucg\tpoly-csr\tpoly-cdsr\n");
    assert_non_null(fgets(line, sizeof line, table));
    unsigned traces = 0;
    for (; *line != '\0'; traces++) check_trace(table, line, sizeof line);
    assert_true(traces >= 25);
    fclose(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(verdict_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
