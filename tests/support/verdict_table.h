/* Tables of verdicts: tests/traces/DIRECTORY/verdicts.tsv says in one row for each finding what is
 * expected of the traces beside it. */
#ifndef HEDDLE_TESTS_SUPPORT_VERDICT_TABLE_H
#define HEDDLE_TESTS_SUPPORT_VERDICT_TABLE_H

#include "support/model_make.h"

enum { TABLE_ROWS = 128, TABLE_WIDTH = 256 };

struct verdict_table {
    const char *directory, *header; /* the table's first line */
    unsigned least_traces;          /* so many it has to have */
    /* Writes one row for each finding of a trace and checks them by other means; returns how many
     * it wrote, at least one. */
    unsigned (*rows_of)(const char *name, const struct hd_model *model, char (*row)[TABLE_WIDTH]);
};

static inline int verdict_row_order(const void *left, const void *right) {
    return strcmp(left, right);
}

static inline void verdict_table_check(const struct verdict_table *about) {
    static char wanted[TABLE_ROWS][TABLE_WIDTH], got[TABLE_ROWS][TABLE_WIDTH];
    char path[512], line[TABLE_WIDTH], name[64], before[64] = "";
    unsigned lines = 0, traces = 0, count = 0;
    snprintf(path, sizeof path, HEDDLE_SOURCE_DIR "/tests/traces/%s/verdicts.tsv",
             about->directory);
    FILE *table = fopen(path, "r");
    assert_non_null(table);
    assert_non_null(fgets(line, sizeof line, table));
    assert_string_equal(line, about->header);
    while (fgets(line, sizeof line, table) != NULL) {
        assert_true(lines < TABLE_ROWS);
        strcpy(wanted[lines++], line);
    }
    fclose(table);
    for (unsigned i = 0; i < lines; i++) {
        assert_int_equal(sscanf(wanted[i], "%63s", name), 1);
        if (strcmp(name, before) == 0) continue;
        struct hd_model model;
        model_of_file(about->directory, name, &model);
        count += about->rows_of(name, &model, got + count);
        hd_model_free(&model);
        strcpy(before, name);
        traces++;
    }
    qsort(wanted, lines, TABLE_WIDTH, verdict_row_order);
    qsort(got, count, TABLE_WIDTH, verdict_row_order);
    for (unsigned i = 0; i < lines && i < count; i++) assert_string_equal(got[i], wanted[i]);
    assert_int_equal(count, lines);
    assert_true(traces >= about->least_traces);
}

#endif
