/* See sql.h. */
#include "store/sql.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <string.h>

bool hd_sql_fail(const struct hd_store *store, struct hd_error *error) {
    const char *path = store->path, *words = sqlite3_errmsg(store->db);
    switch (sqlite3_errcode(store->db) & 0xff) {
    case SQLITE_NOMEM:
        hd_out_of_memory();
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return hd_fail(error, HD_ERR_DAMAGED, "the store %s is damaged (%.200s)", path, words);
    case SQLITE_TOOBIG:
        return hd_fail(error, HD_ERR_LIMIT, "the store %s has a value that is too large", path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return hd_fail(error, HD_ERR_IO, "the store %s is being written by others for too long",
                       path);
    default:
        return hd_fail(error, HD_ERR_IO, "the store %s: %.300s", path, words);
    }
}

static bool bind(sqlite3_stmt *statement, const char *types, va_list values) {
    for (int i = 1; *types != '\0'; types++, i++) {
        int code = *types == 's' ? sqlite3_bind_text(statement, i, va_arg(values, const char *), -1,
                                                     SQLITE_TRANSIENT)
                                 : sqlite3_bind_int64(statement, i, va_arg(values, int64_t));
        if (code != SQLITE_OK) return false;
    }
    return true;
}

static sqlite3_stmt *ask(struct hd_store *store, struct hd_error *error, const char *sql,
                         const char *types, va_list values) {
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) == SQLITE_OK &&
        bind(statement, types, values))
        return statement;
    hd_sql_fail(store, error);
    sqlite3_finalize(statement);
    return NULL;
}

sqlite3_stmt *hd_sql_ask(struct hd_store *store, struct hd_error *error, const char *sql,
                         const char *types, ...) {
    va_list values;
    va_start(values, types);
    sqlite3_stmt *statement = ask(store, error, sql, types, values);
    va_end(values);
    return statement;
}

bool hd_sql_next(sqlite3_stmt *statement) {
    return statement != NULL && sqlite3_step(statement) == SQLITE_ROW;
}

bool hd_sql_end(struct hd_store *store, sqlite3_stmt *statement, struct hd_error *error) {
    if (statement == NULL) return false;
    int code = sqlite3_finalize(statement);
    return code == SQLITE_OK || hd_sql_fail(store, error);
}

bool hd_sql_do(struct hd_store *store, struct hd_error *error, const char *sql, const char *types,
               ...) {
    va_list values;
    va_start(values, types);
    sqlite3_stmt *statement = ask(store, error, sql, types, values);
    va_end(values);
    while (hd_sql_next(statement)) continue;
    return hd_sql_end(store, statement, error);
}

bool hd_sql_number(struct hd_store *store, struct hd_error *error, int64_t *value, int64_t missing,
                   const char *sql, const char *types, ...) {
    va_list values;
    va_start(values, types);
    sqlite3_stmt *statement = ask(store, error, sql, types, values);
    va_end(values);
    *value = hd_sql_next(statement) ? sqlite3_column_int64(statement, 0) : missing;
    return hd_sql_end(store, statement, error);
}

bool hd_sql_script(struct hd_store *store, const char *sql, struct hd_error *error) {
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK || hd_sql_fail(store, error);
}

bool hd_sql_begin(struct hd_store *store, struct hd_error *error) {
    return hd_sql_script(store, "BEGIN IMMEDIATE", error);
}

bool hd_sql_commit(struct hd_store *store, struct hd_error *error) {
    if (hd_sql_script(store, "COMMIT", error)) return true;
    hd_sql_roll_back(store);
    return false;
}

void hd_sql_roll_back(struct hd_store *store) {
    sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
}

const char *hd_sql_text(sqlite3_stmt *statement, int column) {
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text != NULL ? text : "";
}
