/* Opening a file: is it one of ours, is it whole, and of this version? See sql.h and store.h. */
#include "store/sql.h"

#include "base/alloc.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE_MS 60000       /* for others who write */
#define MAGIC "SQLite format 3" /* with its NUL: 16 bytes */
#define APPLICATION_AT 68       /* in the header: SQLite's file format, 1.3 */
#define HEADER 100

const char *hd_store_path(const struct hd_store *store) { return store->path; }

void hd_store_close(struct hd_store *store) {
    if (store == NULL) return;
    hd_sql_close(store);
    free(store->path);
    free(store);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* The first bytes; 0 of an empty file or none; -1 if it can't be read. */
static ssize_t read_header(const char *path, unsigned char header[HEADER]) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return errno == ENOENT ? 0 : -1;
    ssize_t got = pread(fd, header, HEADER, 0);
    close(fd);
    return got;
}

bool hd_store_looks_like_one(const char *path) {
    unsigned char header[HEADER];
    return read_header(path, header) == HEADER && memcmp(header, MAGIC, sizeof MAGIC) == 0;
}

/* Is it, or was it, a file of this kind? Its header may be damaged in part. */
static bool was_one(const char *path, const struct hd_sql_kind *kind) {
    const uint32_t a = kind->application;
    const unsigned char ours[] = {a >> 24 & 255, a >> 16 & 255, a >> 8 & 255, a & 255};
    unsigned char header[HEADER] = {0};
    return read_header(path, header) > 0 && (memcmp(header, MAGIC, sizeof MAGIC) == 0 ||
                                             memcmp(header + APPLICATION_AT, ours, 4) == 0);
}

static bool check_file(const char *path, enum hd_store_use use, const struct hd_sql_kind *kind,
                       struct hd_error *error) {
    struct stat status;
    if (stat(path, &status) != 0) {
        if (errno != ENOENT) return hd_fail(error, HD_ERR_IO, "%s: %s", path, strerror(errno));
        if (use == HD_STORE_KEEP) return true;
        return hd_fail(error, HD_ERR_IO, "there is no %s %s: %s", kind->name, path, kind->made_by);
    }
    if (!S_ISREG(status.st_mode))
        return hd_fail(error, HD_ERR_USAGE, "%s can't be a %s: it is no file", path, kind->name);
    if (access(path, R_OK) != 0) return hd_fail(error, HD_ERR_IO, "%s: %s", path, strerror(errno));
    if (status.st_size == 0 && use == HD_STORE_KEEP) return true;
    if (hd_store_looks_like_one(path)) return true;
    if (was_one(path, kind))
        return hd_fail(error, HD_ERR_DAMAGED, "the %s %s is damaged (its beginning)", kind->name,
                       path);
    return hd_fail(error, HD_ERR_FORMAT, "%s is no %s of heddle", path, kind->name);
}

/* ---- the schema ------------------------------------------------------------------------------ */

static bool migrate(struct hd_store *store, int from, int to, struct hd_error *error) {
    char words[128];
    for (int version = from; version < to; version++)
        if (!hd_sql_script(store, store->kind->step[version], error)) return false;
    snprintf(words, sizeof words, "PRAGMA application_id = %u; PRAGMA user_version = %d",
             store->kind->application, to);
    return hd_sql_script(store, words, error);
}

/* All that the schema says, in one text; malloc'ed. NULL after an error. */
static char *schema_text(struct hd_store *store, struct hd_error *error) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) hd_out_of_memory();
    sqlite3_stmt *row = hd_sql_ask(store, error,
                                   "SELECT type, name, tbl_name, sql FROM sqlite_schema"
                                   " ORDER BY type, name",
                                   "");
    while (hd_sql_next(row))
        for (int i = 0; i < 4; i++) fprintf(out, "%s\n", hd_sql_text(row, i));
    bool good = hd_sql_end(store, row, error);
    fclose(out);
    if (good) return text;
    free(text);
    return NULL;
}

/* Has it exactly the tables of its version? Compared with a store in memory that is made for it. */
static bool check_schema(struct hd_store *store, int version, struct hd_error *error) {
    struct hd_store model = {.path = store->path, .kind = store->kind};
    if (sqlite3_open(":memory:", &model.db) != SQLITE_OK) hd_out_of_memory();
    char *wanted = migrate(&model, 0, version, error) ? schema_text(&model, error) : NULL;
    hd_sql_close(&model);
    if (wanted == NULL) return false;
    char *got = schema_text(store, error);
    bool same = got != NULL && strcmp(got, wanted) == 0;
    if (got != NULL && !same)
        hd_fail(error, HD_ERR_FORMAT,
                "%s has other tables than a %s of version %d: somebody changed it", store->path,
                store->kind->name, version);
    free(got);
    free(wanted);
    return same;
}

static bool quick_check(struct hd_store *store, struct hd_error *error) {
    sqlite3_stmt *row = hd_sql_ask(store, error, "PRAGMA quick_check(1)", "");
    bool whole = true;
    if (hd_sql_next(row) && strcmp(hd_sql_text(row, 0), "ok") != 0) {
        const char *words = hd_sql_text(row, 0);
        hd_fail(error, HD_ERR_DAMAGED, "the %s %s is damaged (%.*s)", store->kind->name,
                store->path, (int)strcspn(words, "\n"), words);
        whole = false;
    }
    struct hd_error other;
    return hd_sql_end(store, row, whole ? error : &other) && whole;
}

/* An application number and a version; both 0 in an empty file. */
static bool read_version(struct hd_store *store, int64_t *version, struct hd_error *error) {
    int64_t application, objects;
    if (!hd_sql_number(store, error, &application, 0, "PRAGMA application_id", "") ||
        !hd_sql_number(store, error, version, 0, "PRAGMA user_version", "") ||
        !hd_sql_number(store, error, &objects, 0, "SELECT count(*) FROM sqlite_schema", ""))
        return false;
    if (objects == 0 && application == 0 && *version == 0) return true;
    if (application != store->kind->application || *version < 1)
        return hd_fail(error, HD_ERR_FORMAT,
                       "%s is no %s of heddle, but a database of something else", store->path,
                       store->kind->name);
    if (*version > store->kind->version)
        return hd_fail(error, HD_ERR_UNSUPPORTED,
                       "the %s %s was written by a newer heddle (version %lld; this one knows "
                       "%d)",
                       store->kind->name, store->path, (long long)*version, store->kind->version);
    return quick_check(store, error) && check_schema(store, (int)*version, error);
}

/* All of it at one moment: another process may be making the store. */
static bool check_version(struct hd_store *store, int64_t *version, struct hd_error *error) {
    if (!hd_sql_script(store, "BEGIN", error)) return false;
    if (read_version(store, version, error) && hd_sql_commit(store, error)) return true;
    hd_sql_roll_back(store);
    return false;
}

/* ---- opening ----------------------------------------------------------------------------------*/

/* What is in the file can't make SQLite do anything but read and write its tables. */
static void defend(sqlite3 *db, int most_value) {
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, most_value);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_busy_timeout(db, PATIENCE_MS);
}

/* Readers and one writer at once. Stays in the file; changing to it needs the file alone, and
 * SQLite does not always wait for that. */
static bool use_wal(struct hd_store *store, struct hd_error *error) {
    for (int waited = 0;; waited++) {
        int code = sqlite3_exec(store->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
        if (code == SQLITE_OK || (code & 0xff) == SQLITE_READONLY) return true;
        if ((code & 0xff) != SQLITE_BUSY || waited == PATIENCE_MS / 10)
            return hd_sql_fail(store, error);
        sqlite3_sleep(10);
    }
}

static bool update(struct hd_store *store, struct hd_error *error) {
    int64_t version;
    if (!hd_sql_begin(store, error)) return false;
    /* Somebody else may have done it meanwhile. */
    if (hd_sql_number(store, error, &version, 0, "PRAGMA user_version", "") &&
        (version >= store->kind->version ||
         migrate(store, (int)version, store->kind->version, error)))
        return hd_sql_commit(store, error);
    hd_sql_roll_back(store);
    return false;
}

static bool prepare(struct hd_store *store, struct hd_error *error) {
    int64_t version;
    defend(store->db, store->kind->most_value);
    return hd_sql_script(store,
                         "PRAGMA cell_size_check = 1; PRAGMA mmap_size = 0;"
                         " PRAGMA foreign_keys = 1",
                         error) &&
           check_version(store, &version, error) && use_wal(store, error) &&
           (version == store->kind->version || update(store, error));
}

struct hd_store *hd_sql_open(const char *path, enum hd_store_use use,
                             const struct hd_sql_kind *kind, struct hd_error *error) {
    if (*path != '\0' && !check_file(path, use, kind, error)) return NULL;
    struct hd_store *store = hd_zalloc(1, sizeof *store);
    store->path = hd_strdup(path);
    store->kind = kind;
    int flags = SQLITE_OPEN_READWRITE | (use == HD_STORE_KEEP ? SQLITE_OPEN_CREATE : 0);
    if (sqlite3_open_v2(path, &store->db, flags, NULL) != SQLITE_OK)
        hd_sql_fail(store, error);
    else if (prepare(store, error))
        return store;
    hd_store_close(store);
    return NULL;
}
