/* SQL for files of heddle's own: opening them with all the checks that untrusted input needs,
 * statements with their values, errors as heddle has them. */
#ifndef HEDDLE_STORE_SQL_H
#define HEDDLE_STORE_SQL_H

#include "base/vector.h"
#include "store/store.h"

#include <sqlite3.h>

/* What a SQLite file of heddle's is. Its tables are steps from each version to the next. A step
 * that was released never changes, and only creates tables and indices: so every file of a version
 * has exactly the schema that its steps give, which is how one that is something else is told from
 * it. */
struct hd_sql_kind {
    const char *name;     /* "store" */
    const char *made_by;  /* "a command makes it with --store" */
    uint32_t application; /* in the header of the file */
    int most_value;       /* bytes */
    int version;
    const char *const *step; /* what makes version i + 1 of version i; 0 is an empty file */
};

/* A statement that was asked before need not be prepared again. */
struct hd_sql_prepared {
    sqlite3_stmt *statement;
    bool busy;
};

struct hd_store {
    sqlite3 *db;
    char *path;
    const struct hd_sql_kind *kind;
    HD_VECTOR(struct hd_sql_prepared) prepared;
};

/* Closes the database and what belongs to it. */
void hd_sql_close(struct hd_store *store);
/* As hd_store_open, for any kind; closed by hd_store_close. The path "" is a file that nobody
 * else sees and that ends with the process. */
struct hd_store *hd_sql_open(const char *path, enum hd_store_use use,
                             const struct hd_sql_kind *kind, struct hd_error *error);

/* Turns the last error of the database into *error; false. */
bool hd_sql_fail(const struct hd_store *store, struct hd_error *error);
/* A statement with its values: `types` has a letter for each, s a text (NULL: none), i an int64_t,
 * b a pointer and a size_t, the bytes (which must live until hd_sql_end). NULL on failure. To be
 * ended by hd_sql_end. */
sqlite3_stmt *hd_sql_ask(struct hd_store *store, struct hd_error *error, const char *sql,
                         const char *types, ...);
/* The next row; false at the end and on failure, which hd_sql_end tells. */
bool hd_sql_next(sqlite3_stmt *statement);
/* False if the statement failed. NULL is fine: it has failed before. */
bool hd_sql_end(struct hd_store *store, sqlite3_stmt *statement, struct hd_error *error);
/* All in one, for a statement without rows. */
bool hd_sql_do(struct hd_store *store, struct hd_error *error, const char *sql, const char *types,
               ...);
/* The first value of the first row; `missing` if there is no row. */
bool hd_sql_number(struct hd_store *store, struct hd_error *error, int64_t *value, int64_t missing,
                   const char *sql, const char *types, ...);
/* Several statements without values. */
bool hd_sql_script(struct hd_store *store, const char *sql, struct hd_error *error);

/* Begins to write: waits for others who do. Ended by commit, or by roll back, which keeps *error.
 */
bool hd_sql_begin(struct hd_store *store, struct hd_error *error);
bool hd_sql_commit(struct hd_store *store, struct hd_error *error);
void hd_sql_roll_back(struct hd_store *store);

/* A text of a row; "" for none. Valid until the next row. */
const char *hd_sql_text(sqlite3_stmt *statement, int column);

#endif
