/* Opening a store: is it one, is it whole, is it ours, and of this version? See store.h. */
#include "store/sql.h"

#include "base/alloc.h"
#include "store/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE_MS 60000             /* for others who write */
#define MOST_VALUE (64 * 1024 * 1024) /* bytes */
#define MAGIC "SQLite format 3"       /* with its NUL: 16 bytes */
#define APPLICATION_AT 68             /* in the header: SQLite's file format, 1.3 */
#define HEADER 100

const char *hd_store_path(const struct hd_store *store) { return store->path; }

void hd_store_close(struct hd_store *store) {
    if (store == NULL) return;
    sqlite3_close(store->db);
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

/* Is it, or was it, a store? Its header may be damaged in part. */
static bool was_one(const char *path) {
    static const unsigned char ours[] = {0x68, 0x64, 0x73, 0x74};
    unsigned char header[HEADER] = {0};
    return read_header(path, header) > 0 && (memcmp(header, MAGIC, sizeof MAGIC) == 0 ||
                                             memcmp(header + APPLICATION_AT, ours, 4) == 0);
}

static bool check_file(const char *path, enum hd_store_use use, struct hd_error *error) {
    struct stat status;
    if (stat(path, &status) != 0) {
        if (errno != ENOENT) return hd_fail(error, HD_ERR_IO, "%s: %s", path, strerror(errno));
        if (use == HD_STORE_KEEP) return true;
        return hd_fail(error, HD_ERR_IO, "there is no store %s: a command makes it with --store",
                       path);
    }
    if (!S_ISREG(status.st_mode))
        return hd_fail(error, HD_ERR_USAGE, "%s can't be a store: it is no file", path);
    if (access(path, R_OK) != 0) return hd_fail(error, HD_ERR_IO, "%s: %s", path, strerror(errno));
    if (status.st_size == 0 && use == HD_STORE_KEEP) return true;
    if (hd_store_looks_like_one(path)) return true;
    if (was_one(path))
        return hd_fail(error, HD_ERR_DAMAGED, "the store %s is damaged (its beginning)", path);
    return hd_fail(error, HD_ERR_FORMAT, "%s is no store of heddle", path);
}

/* ---- the schema ------------------------------------------------------------------------------ */

static bool migrate(struct hd_store *store, int from, int to, struct hd_error *error) {
    char words[128];
    for (int version = from; version < to; version++)
        if (!hd_sql_script(store, hd_store_step(version), error)) return false;
    snprintf(words, sizeof words, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             HD_STORE_APPLICATION, to);
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
    struct hd_store model = {.path = store->path};
    if (sqlite3_open(":memory:", &model.db) != SQLITE_OK) hd_out_of_memory();
    char *wanted = migrate(&model, 0, version, error) ? schema_text(&model, error) : NULL;
    sqlite3_close(model.db);
    if (wanted == NULL) return false;
    char *got = schema_text(store, error);
    bool same = got != NULL && strcmp(got, wanted) == 0;
    if (got != NULL && !same)
        hd_fail(error, HD_ERR_FORMAT,
                "%s has other tables than a store of version %d: somebody changed it", store->path,
                version);
    free(got);
    free(wanted);
    return same;
}

static bool quick_check(struct hd_store *store, struct hd_error *error) {
    sqlite3_stmt *row = hd_sql_ask(store, error, "PRAGMA quick_check(1)", "");
    bool whole = true;
    if (hd_sql_next(row) && strcmp(hd_sql_text(row, 0), "ok") != 0) {
        const char *words = hd_sql_text(row, 0);
        hd_fail(error, HD_ERR_DAMAGED, "the store %s is damaged (%.*s)", store->path,
                (int)strcspn(words, "\n"), words);
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
    if (application != HD_STORE_APPLICATION || *version < 1)
        return hd_fail(error, HD_ERR_FORMAT,
                       "%s is no store of heddle, but a database of something else", store->path);
    if (*version > HD_STORE_VERSION)
        return hd_fail(error, HD_ERR_UNSUPPORTED,
                       "the store %s was written by a newer heddle (version %lld; this one knows "
                       "%d)",
                       store->path, (long long)*version, HD_STORE_VERSION);
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
static void defend(sqlite3 *db) {
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, MOST_VALUE);
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
        (version >= HD_STORE_VERSION || migrate(store, (int)version, HD_STORE_VERSION, error)))
        return hd_sql_commit(store, error);
    hd_sql_roll_back(store);
    return false;
}

static bool prepare(struct hd_store *store, struct hd_error *error) {
    int64_t version;
    defend(store->db);
    return hd_sql_script(store,
                         "PRAGMA cell_size_check = 1; PRAGMA mmap_size = 0;"
                         " PRAGMA foreign_keys = 1",
                         error) &&
           check_version(store, &version, error) && use_wal(store, error) &&
           (version == HD_STORE_VERSION || update(store, error));
}

struct hd_store *hd_store_open(const char *path, enum hd_store_use use, struct hd_error *error) {
    if (!check_file(path, use, error)) return NULL;
    struct hd_store *store = hd_zalloc(1, sizeof *store);
    store->path = hd_strdup(path);
    int flags = SQLITE_OPEN_READWRITE | (use == HD_STORE_KEEP ? SQLITE_OPEN_CREATE : 0);
    if (sqlite3_open_v2(path, &store->db, flags, NULL) != SQLITE_OK)
        hd_sql_fail(store, error);
    else if (prepare(store, error))
        return store;
    hd_store_close(store);
    return NULL;
}

/* ---- damaged ones -----------------------------------------------------------------------------*/

/* A name beside the file that nothing has; malloc'ed. */
static char *free_name(const char *path) {
    for (unsigned number = 1;; number++) {
        char *name = hd_format("%s.damaged-%u", path, number);
        if (access(name, F_OK) != 0) return name;
        free(name);
    }
}

/* The file, and what SQLite keeps beside it. */
static bool move_away(const char *path, const char *name, struct hd_error *error) {
    static const char *const ending[] = {"-wal", "-shm", ""};
    for (unsigned i = 0; i < sizeof ending / sizeof *ending; i++) {
        char *from = hd_format("%s%s", path, ending[i]), *to = hd_format("%s%s", name, ending[i]);
        bool moved = rename(from, to) == 0 || (errno == ENOENT && *ending[i] != '\0');
        if (!moved) hd_fail(error, HD_ERR_IO, "can't rename %s: %s", from, strerror(errno));
        free(from);
        free(to);
        if (!moved) return false;
    }
    return true;
}

static int lock_directory(const char *path) {
    char *directory = hd_strdup(path);
    char *slash = strrchr(directory, '/');
    if (slash != NULL) slash[slash == directory] = '\0';
    int fd = open(slash != NULL ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(directory);
    if (fd >= 0) flock(fd, LOCK_EX);
    return fd;
}

bool hd_store_set_aside(const char *path, char **name, struct hd_error *error) {
    *name = NULL;
    /* Two who find it damaged: the second must not move away what the first has begun. */
    int lock = lock_directory(path);
    struct hd_store *store = hd_store_open(path, HD_STORE_KEEP, error);
    bool good = store != NULL;
    hd_store_close(store);
    if (!good && error->code == HD_ERR_DAMAGED) {
        *name = free_name(path);
        good = move_away(path, *name, error);
        /* The new one is there before the lock is given up. */
        store = good ? hd_store_open(path, HD_STORE_KEEP, error) : NULL;
        good = store != NULL;
        hd_store_close(store);
    }
    if (!good) {
        free(*name);
        *name = NULL;
    }
    if (lock >= 0) close(lock);
    return good;
}
