/* Tables and statements of the campaign file. See file.h. */
#include "campaign/file.h"

#include "base/alloc.h"
#include "store/sql.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Contents are kept once, by their hash: most runs print the same. */
static const char version_1[] =
    "CREATE TABLE content (id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE,"
    " bytes BLOB NOT NULL) STRICT;"
    "CREATE TABLE program (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,"
    " command TEXT NOT NULL, build TEXT NOT NULL) STRICT;"
    "CREATE TABLE machine (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;"
    "CREATE TABLE start (id INTEGER PRIMARY KEY, program INTEGER NOT NULL REFERENCES program(id),"
    " began INTEGER NOT NULL, beat INTEGER NOT NULL, ended INTEGER NOT NULL, taken INTEGER NOT "
    "NULL,"
    " left INTEGER NOT NULL, running INTEGER NOT NULL, failures INTEGER NOT NULL,"
    " what TEXT NOT NULL) STRICT;"
    "CREATE TABLE result (id INTEGER PRIMARY KEY, job TEXT NOT NULL, nth INTEGER NOT NULL,"
    " program INTEGER NOT NULL REFERENCES program(id),"
    " start INTEGER REFERENCES start(id), machine INTEGER NOT NULL REFERENCES machine(id),"
    " outcome TEXT NOT NULL, limit_ms INTEGER NOT NULL, result TEXT NOT NULL,"
    " trace INTEGER REFERENCES content(id), output INTEGER REFERENCES content(id),"
    " error INTEGER REFERENCES content(id), UNIQUE (job, nth)) STRICT;";

static const char *const steps[] = {version_1};

static const struct hd_sql_kind campaign_kind = {.name = "campaign file",
                                                 .made_by = "`heddle hunt --campaign` makes it",
                                                 .application = 0x68646361, /* "hdca" */
                                                 .most_value = 1000 * 1024 * 1024,
                                                 .version = sizeof steps / sizeof *steps,
                                                 .step = steps};

struct hd_store *campaign_file_open(const char *path, bool make, struct hd_error *error) {
    struct hd_store *file =
        hd_sql_open(path, make ? HD_STORE_KEEP : HD_STORE_LOOK, &campaign_kind, error);
    /* A process that is killed loses nothing. What a machine's loss of power takes is run again. */
    if (file != NULL && !hd_sql_script(file, "PRAGMA synchronous = NORMAL", error)) {
        hd_store_close(file);
        return NULL;
    }
    return file;
}

void campaign_result_free(struct campaign_result *result) {
    free(result->text);
    free(result->trace);
    free(result->output);
    free(result->error);
    *result = (struct campaign_result){.text = NULL};
}

/* ---- starts and machines --------------------------------------------------------------------- */

static bool row_of(struct hd_store *file, const char *select, const char *text, int64_t *id,
                   struct hd_error *error) {
    return hd_sql_number(file, error, id, 0, select, "s", text);
}

bool campaign_file_program(struct hd_store *file, const char *key, const char *command,
                           const char *build, int64_t *id, struct hd_error *error) {
    return hd_sql_do(file, error,
                     "INSERT OR IGNORE INTO program (key, command, build) VALUES (?1, ?2, ?3)",
                     "sss", key, command, build) &&
           row_of(file, "SELECT id FROM program WHERE key = ?1", key, id, error);
}

bool campaign_file_machine(struct hd_store *file, const char *name, int64_t *id,
                           struct hd_error *error) {
    return hd_sql_do(file, error, "INSERT OR IGNORE INTO machine (name) VALUES (?1)", "s", name) &&
           row_of(file, "SELECT id FROM machine WHERE name = ?1", name, id, error);
}

bool campaign_file_start(struct hd_store *file, int64_t program, int64_t *id,
                         struct hd_error *error) {
    int64_t now = (int64_t)time(NULL);
    if (!hd_sql_do(file, error,
                   "INSERT INTO start (program, began, beat, ended, taken, left, running, failures,"
                   " what) VALUES (?1, ?2, ?2, 0, 0, 0, 0, 0, 'starting')",
                   "ii", program, now))
        return false;
    *id = sqlite3_last_insert_rowid(file->db);
    return true;
}

bool campaign_file_stand(struct hd_store *file, int64_t start,
                         const struct campaign_standing *standing, struct hd_error *error) {
    int64_t now = (int64_t)time(NULL);
    return hd_sql_do(file, error,
                     "UPDATE start SET beat = ?2, ended = ?3, taken = ?4, left = ?5, running = ?6,"
                     " failures = ?7, what = ?8 WHERE id = ?1",
                     "iiiiiiis", start, now, standing->ended ? now : 0, (int64_t)standing->taken,
                     (int64_t)standing->left, (int64_t)standing->running,
                     (int64_t)standing->failures, standing->what);
}

/* ---- results --------------------------------------------------------------------------------- */

bool campaign_file_find(struct hd_store *file, const struct campaign_key *key, uint64_t limit_ms,
                        int64_t *row, struct hd_error *error) {
    return hd_sql_number(file, error, row, 0,
                         "SELECT id FROM result WHERE job = ?1 AND nth = ?2"
                         " AND (outcome <> 'hang' OR limit_ms >= ?3)",
                         "sii", key->job, (int64_t)key->nth, (int64_t)limit_ms);
}

/* The row of a content; 0: there is nothing to keep. */
static bool add_content(struct hd_store *file, const char *bytes, size_t count, int64_t *id,
                        struct hd_error *error) {
    char hash[HD_KEY_TEXT];
    *id = 0;
    if (bytes == NULL || count >= (size_t)file->kind->most_value) return true;
    campaign_hash(bytes, count, 0, hash);
    if (!row_of(file, "SELECT id FROM content WHERE hash = ?1", hash, id, error)) return false;
    if (*id != 0) return true;
    if (!hd_sql_do(file, error, "INSERT INTO content (hash, bytes) VALUES (?1, ?2)", "sb", hash,
                   bytes, count))
        return false;
    *id = sqlite3_last_insert_rowid(file->db);
    return true;
}

bool campaign_file_add(struct hd_store *file, const struct campaign_key *key, int64_t program,
                       int64_t start, int64_t machine, const struct campaign_result *result,
                       int64_t *row, struct hd_error *error) {
    int64_t trace, output, words;
    /* Written once; but a run that was given more time tells more than one that hung in less. */
    return add_content(file, result->trace, result->trace_bytes, &trace, error) &&
           add_content(file, result->output, result->output_bytes, &output, error) &&
           add_content(file, result->error, result->error_bytes, &words, error) &&
           hd_sql_number(file, error, row, 0,
                         "INSERT INTO result (job, nth, program, start, machine, outcome, limit_ms,"
                         " result, trace, output, error) VALUES (?1, ?2, ?3, nullif(?4, 0), ?5, ?6,"
                         " ?7, ?8, nullif(?9, 0), nullif(?10, 0), nullif(?11, 0))"
                         " ON CONFLICT (job, nth) DO UPDATE SET start = excluded.start,"
                         " machine = excluded.machine, outcome = excluded.outcome,"
                         " limit_ms = excluded.limit_ms, result = excluded.result,"
                         " trace = excluded.trace, output = excluded.output, error = excluded.error"
                         " WHERE result.outcome = 'hang' AND result.limit_ms < excluded.limit_ms"
                         " RETURNING id",
                         "siiiisisiii", key->job, (int64_t)key->nth, program, start, machine,
                         result->outcome, (int64_t)result->limit_ms, result->text, trace, output,
                         words) &&
           (*row != 0 ||
            hd_sql_number(file, error, row, 0, "SELECT id FROM result WHERE job = ?1 AND nth = ?2",
                          "si", key->job, (int64_t)key->nth));
}

static char *column_bytes(sqlite3_stmt *row, int column, size_t *bytes) {
    *bytes = 0;
    if (sqlite3_column_type(row, column) == SQLITE_NULL) return NULL;
    const void *from = sqlite3_column_blob(row, column);
    *bytes = (size_t)sqlite3_column_bytes(row, column);
    char *copy = hd_alloc(*bytes + 1, 1);
    if (*bytes > 0) memcpy(copy, from, *bytes);
    copy[*bytes] = '\0';
    return copy;
}

static void take_row(sqlite3_stmt *row, struct campaign_result *result) {
    result->text = column_bytes(row, 0, &result->text_bytes);
    result->trace = column_bytes(row, 1, &result->trace_bytes);
    result->output = column_bytes(row, 2, &result->output_bytes);
    result->error = column_bytes(row, 3, &result->error_bytes);
    snprintf(result->outcome, sizeof result->outcome, "%s", hd_sql_text(row, 4));
    result->limit_ms = (uint64_t)sqlite3_column_int64(row, 5);
}

#define RESULT_COLUMNS "r.result, t.bytes, o.bytes, e.bytes, r.outcome, r.limit_ms"
#define RESULT_TABLES                                                                \
    "result AS r LEFT JOIN content AS t ON t.id = r.trace LEFT JOIN content AS o ON" \
    " o.id = r.output LEFT JOIN content AS e ON e.id = r.error"

bool campaign_file_read(struct hd_store *file, int64_t number, struct campaign_result *result,
                        struct hd_error *error) {
    *result = (struct campaign_result){.text = NULL};
    sqlite3_stmt *row =
        hd_sql_ask(file, error, "SELECT " RESULT_COLUMNS " FROM " RESULT_TABLES " WHERE r.id = ?1",
                   "i", number);
    bool there = hd_sql_next(row);
    if (there) take_row(row, result);
    if (!hd_sql_end(file, row, error)) return false;
    return there || hd_fail(error, HD_ERR_DAMAGED, "the campaign file %s has lost a result",
                            hd_store_path(file));
}

/* ---- two files ------------------------------------------------------------------------------- */

static bool merge_row(struct hd_store *to, sqlite3_stmt *row, uint64_t *added,
                      struct hd_error *error) {
    struct campaign_key key = {.nth = (uint32_t)sqlite3_column_int64(row, 7)};
    int64_t program, machine, number;
    snprintf(key.job, sizeof key.job, "%s", hd_sql_text(row, 6));
    uint64_t limit_ms = (uint64_t)sqlite3_column_int64(row, 5);
    if (!campaign_file_find(to, &key, limit_ms, &number, error)) return false;
    if (number != 0) return true;
    struct campaign_result result = {.text = NULL};
    take_row(row, &result);
    bool good = campaign_file_program(to, hd_sql_text(row, 8), hd_sql_text(row, 9),
                                      hd_sql_text(row, 10), &program, error) &&
                campaign_file_machine(to, hd_sql_text(row, 11), &machine, error) &&
                campaign_file_add(to, &key, program, 0, machine, &result, &number, error);
    *added += good;
    campaign_result_free(&result);
    return good;
}

bool campaign_file_merge(struct hd_store *to, struct hd_store *from, uint64_t *added,
                         uint64_t *known, struct hd_error *error) {
    if (!hd_sql_begin(to, error)) return false;
    sqlite3_stmt *row =
        hd_sql_ask(from, error,
                   "SELECT " RESULT_COLUMNS ", r.job, r.nth, p.key, p.command, p.build, m.name"
                   " FROM " RESULT_TABLES " JOIN program AS p ON p.id = r.program"
                   " JOIN machine AS m ON m.id = r.machine ORDER BY r.id",
                   "");
    uint64_t all = 0;
    bool good = row != NULL;
    *added = 0;
    for (; good && hd_sql_next(row); all++) good = merge_row(to, row, added, error);
    struct hd_error ignored;
    good = hd_sql_end(from, row, good ? error : &ignored) && good;
    *known = all - *added;
    if (good && hd_sql_commit(to, error)) return true;
    if (!good) hd_sql_roll_back(to);
    return false;
}
