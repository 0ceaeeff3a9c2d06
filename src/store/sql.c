/* See sql.h. */
#include "store/sql.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <string.h>

bool hd_sql_fail(const struct hd_store *store, struct hd_error *error) {
    const char *path = store->path, *words = sqlite3_errmsg(store->db), *name = store->kind->name;
    switch (sqlite3_errcode(store->db) & 0xff) {
    case SQLITE_NOMEM:
        hd_out_of_memory();
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return hd_fail(error, HD_ERR_DAMAGED, "the %s %s is damaged (%.200s)", name, path, words);
    case SQLITE_TOOBIG:
        return hd_fail(error, HD_ERR_LIMIT, "the %s %s has a value that is too large", name, path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return hd_fail(error, HD_ERR_IO, "the %s %s is being written by others for too long", name,
                       path);
    default:
        return hd_fail(error, HD_ERR_IO, "the %s %s: %.300s", name, path, words);
    }
}

static bool bind(sqlite3_stmt *statement, const char *types, va_list values) {
    for (int i = 1; *types != '\0'; types++, i++) {
        int code;
        if (*types == 's') {
            code =
                sqlite3_bind_text(statement, i, va_arg(values, const char *), -1, SQLITE_TRANSIENT);
        } else if (*types == 'b') {
            const void *bytes = va_arg(values, const void *);
            size_t count = va_arg(values, size_t);
            code = sqlite3_bind_blob64(statement, i, bytes, count, SQLITE_STATIC);
        } else {
            code = sqlite3_bind_int64(statement, i, va_arg(values, int64_t));
        }
        if (code != SQLITE_OK) return false;
    }
    return true;
}

static sqlite3_stmt *prepare(struct hd_store *store, const char *sql) {
    for (size_t i = 0; i < store->prepared.size; i++) {
        struct hd_sql_prepared *known = &store->prepared.data[i];
        if (known->busy || strcmp(sqlite3_sql(known->statement), sql) != 0) continue;
        known->busy = true;
        return known->statement;
    }
    struct hd_sql_prepared new = {.busy = true};
    int code =
        sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &new.statement, NULL);
    if (code != SQLITE_OK) return NULL;
    hd_vector_push(&store->prepared, new);
    return new.statement;
}

/* What its last step came to. */
static int put_back(struct hd_store *store, sqlite3_stmt *statement) {
    int code = sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    for (size_t i = 0; i < store->prepared.size; i++)
        if (store->prepared.data[i].statement == statement) store->prepared.data[i].busy = false;
    return code;
}

void hd_sql_close(struct hd_store *store) {
    for (size_t i = 0; i < store->prepared.size; i++)
        sqlite3_finalize(store->prepared.data[i].statement);
    hd_vector_free(&store->prepared);
    sqlite3_close(store->db);
}

static sqlite3_stmt *ask(struct hd_store *store, struct hd_error *error, const char *sql,
                         const char *types, va_list values) {
    sqlite3_stmt *statement = prepare(store, sql);
    if (statement != NULL && bind(statement, types, values)) return statement;
    hd_sql_fail(store, error);
    if (statement != NULL) put_back(store, statement);
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
    int code = put_back(store, statement);
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
