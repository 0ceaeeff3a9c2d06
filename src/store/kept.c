/* What commands keep from run to run, each in the text form of its own file: see store.h. */
#include "store/sql.h"

#include <stdlib.h>
#include <time.h>

#define FIND                                                                              \
    "SELECT target, content FROM kept WHERE project = (SELECT id FROM project WHERE name" \
    " = ?1) AND what = ?2 AND (?3 IS NULL OR target = ?3) ORDER BY target"

/* What replaces the text that is there; inside a transaction. */
static bool replace(struct hd_store *store, const char *project, const char *what,
                    const char *target, hd_store_change *change, void *context,
                    struct hd_error *error) {
    sqlite3_stmt *row = hd_sql_ask(store, error, FIND, "sss", project, what, target);
    if (row == NULL) return false;
    bool there = hd_sql_next(row);
    char *text = change(there ? hd_sql_text(row, 1) : NULL,
                        there ? (size_t)sqlite3_column_bytes(row, 1) : 0, context, error);
    struct hd_error other;
    bool good = hd_sql_end(store, row, text != NULL ? error : &other) && text != NULL;
    good =
        good &&
        hd_sql_do(store, error, "INSERT OR IGNORE INTO project (name) VALUES (?1)", "s", project) &&
        hd_sql_do(store, error,
                  "INSERT OR REPLACE INTO kept (project, what, target, changed, content)"
                  " SELECT id, ?2, ?3, ?4, ?5 FROM project WHERE name = ?1",
                  "sssis", project, what, target, (int64_t)time(NULL), text);
    free(text);
    return good;
}

bool hd_store_keep(struct hd_store *store, const char *project, const char *what,
                   const char *target, hd_store_change *change, void *context,
                   struct hd_error *error) {
    if (!hd_sql_begin(store, error)) return false;
    if (replace(store, project, what, target, change, context, error))
        return hd_sql_commit(store, error);
    hd_sql_roll_back(store);
    return false;
}

bool hd_store_each_kept(struct hd_store *store, const char *project, const char *what,
                        const char *target, hd_store_use *use, void *context,
                        struct hd_error *error) {
    sqlite3_stmt *row = hd_sql_ask(store, error, FIND, "sss", project, what, target);
    bool good = row != NULL;
    while (good && hd_sql_next(row))
        good = use(hd_sql_text(row, 0), hd_sql_text(row, 1), (size_t)sqlite3_column_bytes(row, 1),
                   context, error);
    struct hd_error other;
    return hd_sql_end(store, row, good ? error : &other) && good;
}
