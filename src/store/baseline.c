/* The findings that a person has accepted: see store.h. */
#include "store/changes.h"

#include "base/alloc.h"
#include "store/sql.h"

#include <stdio.h>

static bool accept_all(struct hd_store *store, const struct hd_changes *changes, uint32_t *count,
                       struct hd_error *error) {
    for (size_t i = 0; i < changes->list.size; i++) {
        const struct hd_changes_finding *finding = &changes->list.data[i];
        if (finding->change == HD_CHANGE_FIXED || finding->change == HD_CHANGE_EARLIER) continue;
        if (!hd_sql_do(store, error,
                       "INSERT OR IGNORE INTO baseline (finding, since) VALUES (?1, ?2)", "ii",
                       finding->id, changes->run.data[changes->run.size - 1].id))
            return false;
        *count += (uint32_t)sqlite3_changes(store->db);
    }
    return true;
}

bool hd_store_accept(struct hd_store *store, const char *project, uint32_t *count,
                     struct hd_error *error) {
    struct hd_changes changes;
    *count = 0;
    if (!hd_changes_read(store, project, NULL, &changes, error)) return false;
    bool good = hd_sql_begin(store, error);
    if (good) {
        good = accept_all(store, &changes, count, error);
        if (good)
            good = hd_sql_commit(store, error);
        else
            hd_sql_roll_back(store);
    }
    hd_changes_free(&changes);
    return good;
}

char *hd_store_accepted(struct hd_store *store, const char *project, struct hd_error *error) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) hd_out_of_memory();
    fputs("{\"schema\": \"heddle-findings/1\", \"findings\": [", out);
    sqlite3_stmt *row =
        hd_sql_ask(store, error,
                   "SELECT body FROM finding JOIN baseline ON baseline.finding = finding.id"
                   " WHERE project = (SELECT id FROM project WHERE name = ?1) ORDER BY id",
                   "s", project);
    for (const char *comma = ""; hd_sql_next(row); comma = ",\n")
        fprintf(out, "%s%s", comma, hd_sql_text(row, 0));
    fputs("]}", out);
    fclose(out);
    if (hd_sql_end(store, row, error)) return text;
    free(text);
    return NULL;
}
