/* See changes.h. All runs are read into memory, then the sightings finding by finding. */
#define _GNU_SOURCE /* strptime */
#include "store/changes.h"

#include "base/alloc.h"
#include "store/sql.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *hd_change_word(enum hd_change change) {
    static const char *const word[] = {
#define X(name, text) text,
        HD_CHANGES(X)
#undef X
    };
    return word[change];
}

static const char *keep_text(struct hd_changes *changes, sqlite3_stmt *row, int column) {
    const char *text = hd_sql_text(row, column);
    return hd_arena_copy(&changes->arena, text, strlen(text));
}

static const char *keep_text_or_null(struct hd_changes *changes, sqlite3_stmt *row, int column) {
    return sqlite3_column_type(row, column) == SQLITE_NULL ? NULL : keep_text(changes, row, column);
}

/* ---- runs ------------------------------------------------------------------------------------ */

const struct hd_changes_run *hd_changes_run(const struct hd_changes *changes, int64_t id) {
    size_t low = 0, high = changes->run.size;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (changes->run.data[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < changes->run.size && changes->run.data[low].id == id ? &changes->run.data[low]
                                                                      : NULL;
}

static struct hd_changes_run *run_of(struct hd_changes *changes, int64_t id) {
    const struct hd_changes_run *run = hd_changes_run(changes, id);
    return run != NULL ? &changes->run.data[run - changes->run.data] : NULL;
}

static bool read_runs(struct hd_store *store, const char *project, struct hd_changes *changes,
                      struct hd_error *error) {
    sqlite3_stmt *row = hd_sql_ask(
        store, error,
        "SELECT run.id, series, started, tool, target, settings, version, format, run.build,"
        " trace.path, status, findings FROM run JOIN series ON series.id = run.series"
        " LEFT JOIN trace ON trace.id = run.trace"
        " WHERE project = (SELECT id FROM project WHERE name = ?1) ORDER BY run.id",
        "s", project);
    while (hd_sql_next(row)) {
        struct hd_changes_run run = {.id = sqlite3_column_int64(row, 0),
                                     .series = sqlite3_column_int64(row, 1),
                                     .started = sqlite3_column_int64(row, 2),
                                     .tool = keep_text(changes, row, 3),
                                     .target = keep_text(changes, row, 4),
                                     .settings = keep_text(changes, row, 5),
                                     .version = keep_text(changes, row, 6),
                                     .format = keep_text(changes, row, 7),
                                     .build = keep_text_or_null(changes, row, 8),
                                     .trace = keep_text_or_null(changes, row, 9),
                                     .status = sqlite3_column_int(row, 10),
                                     .findings = (uint32_t)sqlite3_column_int64(row, 11)};
        hd_vector_push(&changes->run, run);
    }
    return hd_sql_end(store, row, error);
}

static bool read_kinds(struct hd_store *store, struct hd_changes *changes, struct hd_error *error) {
    sqlite3_stmt *row = hd_sql_ask(store, error, "SELECT run, kind, whole FROM run_kind", "");
    while (hd_sql_next(row)) {
        struct hd_changes_run *run = run_of(changes, sqlite3_column_int64(row, 0));
        enum hd_finding_kind kind;
        if (run == NULL || !hd_finding_kind_of(hd_sql_text(row, 1), &kind)) continue;
        run->looked_for |= 1u << kind;
        if (sqlite3_column_int(row, 2) != 0) run->whole |= 1u << kind;
    }
    return hd_sql_end(store, row, error);
}

/* ---- findings -------------------------------------------------------------------------------- */

/* A list in heddle-findings/1 of the bodies, so that the one reader of findings reads them. */
static bool read_findings(struct hd_store *store, const char *project, struct hd_changes *changes,
                          struct hd_error *error) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) hd_out_of_memory();
    fputs("{\"schema\": \"heddle-findings/1\", \"findings\": [", out);
    sqlite3_stmt *row =
        hd_sql_ask(store, error,
                   "SELECT id, body FROM finding WHERE project ="
                   " (SELECT id FROM project WHERE name = ?1) ORDER BY first_run, id",
                   "s", project);
    while (hd_sql_next(row)) {
        struct hd_changes_finding finding = {.id = sqlite3_column_int64(row, 0)};
        fprintf(out, "%s%s", changes->list.size > 0 ? ",\n" : "", hd_sql_text(row, 1));
        hd_vector_push(&changes->list, finding);
    }
    fputs("]}", out);
    fclose(out);
    bool good = hd_sql_end(store, row, error);
    good = good && hd_findings_parse(hd_store_path(store), text, bytes, &changes->file, error);
    free(text);
    if (good && changes->file.findings.list.size != changes->list.size)
        good = hd_fail(error, HD_ERR_FORMAT, "the store %s has a finding that is none",
                       hd_store_path(store));
    for (size_t i = 0; good && i < changes->list.size; i++)
        changes->list.data[i].finding = &changes->file.findings.list.data[i];
    return good;
}

/* ---- what became of a finding ---------------------------------------------------------------- */

/* Does a run tell that what another of its series saw is not there any more? */
static enum hd_unseen compare(const struct hd_changes_run *run, const struct hd_changes_run *saw,
                              enum hd_finding_kind kind, bool *fixed) {
    *fixed = false;
    if ((run->looked_for & 1u << kind) == 0) return HD_UNSEEN_NOT_ASKED;
    if ((run->whole & 1u << kind) == 0) return HD_UNSEEN_NOT_WHOLE;
    if (strcmp(run->format, "source") != 0) {
        if (run->build == NULL || saw->build == NULL) return HD_UNSEEN_NO_BUILD;
        if (strcmp(run->build, saw->build) == 0) return HD_UNSEEN_SAME_BUILD;
    }
    *fixed = true;
    return HD_SEEN;
}

/* The first run after `saw` and before the run with the number `until` that shows the finding to be
 * fixed; NULL if none does. */
static struct hd_changes_run *fixing_run(struct hd_changes *changes,
                                         const struct hd_changes_run *saw, int64_t until,
                                         struct hd_changes_finding *finding) {
    struct hd_changes_run *end = changes->run.data + changes->run.size;
    finding->unseen = HD_SEEN;
    for (struct hd_changes_run *run = run_of(changes, saw->id) + 1; run < end; run++) {
        bool fixed;
        if (run->id >= until) break;
        if (run->series != saw->series) continue;
        enum hd_unseen unseen = compare(run, saw, finding->finding->kind, &fixed);
        if (fixed) return run;
        if (unseen >= finding->unseen) {
            finding->unseen = unseen;
            finding->unseen_by = run->id;
        }
    }
    return NULL;
}

/* Of one that is there at the end: is that since then? */
static enum hd_change change_of(const struct hd_changes *changes, int64_t came, int64_t fixed,
                                bool again) {
    if (fixed != 0) return fixed > changes->since ? HD_CHANGE_FIXED : HD_CHANGE_EARLIER;
    if (came <= changes->since) return HD_CHANGE_STILL;
    return again ? HD_CHANGE_BACK : HD_CHANGE_NEW;
}

/* Follows a finding from sighting to sighting, and counts at the runs what it did there. */
static void follow(struct hd_changes *changes, struct hd_changes_finding *finding) {
    const struct hd_changes_sighting *sighting = &changes->sighting.data[finding->sighting];
    int64_t came = 0, fixed = 0;
    bool again = false;
    for (uint32_t i = 0; i < finding->sightings; i++) {
        struct hd_changes_run *run = run_of(changes, sighting[i].run);
        bool last = i + 1 == finding->sightings;
        if (came == 0 || fixed != 0) {
            again = came != 0;
            came = run->id;
            fixed = 0;
            if (!finding->hidden) (*(again ? &run->back : &run->fresh))++;
        }
        struct hd_changes_run *fixing =
            fixing_run(changes, run, last ? INT64_MAX : sighting[i + 1].run, finding);
        if (fixing == NULL) continue;
        finding->fixed_by = fixed = fixing->id;
        if (!finding->hidden) fixing->fixed++;
    }
    finding->first = sighting[0].run;
    finding->last = sighting[finding->sightings - 1].run;
    finding->change = change_of(changes, came, fixed, again);
    if (!finding->hidden)
        changes->count[finding->change]++;
    else
        changes->hidden += finding->change != HD_CHANGE_EARLIER;
}

static bool read_sightings(struct hd_store *store, struct hd_changes *changes,
                           struct hd_changes_finding *finding, struct hd_error *error) {
    sqlite3_stmt *row = hd_sql_ask(store, error,
                                   "SELECT run, verdict, harm, instances, hidden FROM sighting"
                                   " WHERE finding = ?1 ORDER BY run",
                                   "i", finding->id);
    finding->sighting = (uint32_t)changes->sighting.size;
    while (hd_sql_next(row)) {
        struct hd_changes_sighting sighting = {.run = sqlite3_column_int64(row, 0),
                                               .verdict = keep_text(changes, row, 1),
                                               .harm = keep_text(changes, row, 2),
                                               .instances = (uint64_t)sqlite3_column_int64(row, 3)};
        if (hd_changes_run(changes, sighting.run) == NULL) continue; /* of another project */
        finding->hidden = sqlite3_column_int(row, 4) != 0;
        hd_vector_push(&changes->sighting, sighting);
    }
    finding->sightings = (uint32_t)changes->sighting.size - finding->sighting;
    if (!hd_sql_end(store, row, error)) return false;
    return finding->sightings > 0 ||
           hd_fail(error, HD_ERR_FORMAT, "the store %s has a finding that no run has seen",
                   hd_store_path(store));
}

static void count_standing(struct hd_changes *changes) {
    uint32_t there = 0;
    for (size_t i = 0; i < changes->run.size; i++) {
        struct hd_changes_run *run = &changes->run.data[i];
        there += run->fresh + run->back - run->fixed;
        run->there = there;
    }
}

/* ---- since ----------------------------------------------------------------------------------- */

/* A day or a time, in the user's own time zone. */
static bool time_of(const char *text, int64_t *seconds) {
    struct tm when = {.tm_isdst = -1};
    const char *end = strptime(text, "%Y-%m-%d", &when);
    if (end != NULL && (*end == ' ' || *end == 'T')) {
        const char *minutes = strptime(end + 1, "%H:%M", &when);
        end = minutes != NULL && *minutes == ':' ? strptime(minutes, ":%S", &when) : minutes;
    }
    if (end == NULL || *end != '\0') return false;
    *seconds = (int64_t)mktime(&when);
    return true;
}

static bool find_since(struct hd_changes *changes, const char *since, struct hd_error *error) {
    size_t runs = changes->run.size;
    int64_t seconds;
    char *end;
    if (since == NULL) return true;
    if (strcmp(since, "last") == 0) {
        if (runs > 1) changes->since = changes->run.data[runs - 2].id;
        return true;
    }
    errno = 0;
    long long number = strtoll(since, &end, 10);
    if (*since >= '0' && *since <= '9' && *end == '\0' && errno == 0) {
        changes->since = number;
        return number == 0 || hd_changes_run(changes, number) != NULL ||
               hd_fail(error, HD_ERR_USAGE, "--since: there is no run %lld (--runs lists them)",
                       number);
    }
    if (!time_of(since, &seconds))
        return hd_fail(error, HD_ERR_USAGE,
                       "--since: '%.40s' is neither 'last' nor a run nor a day such as 2026-11-16",
                       since);
    for (size_t i = 0; i < runs && changes->run.data[i].started < seconds; i++)
        changes->since = changes->run.data[i].id;
    return true;
}

/* ---- all of it --------------------------------------------------------------------------------
 */

static bool read_all(struct hd_store *store, const char *project, const char *since,
                     struct hd_changes *changes, struct hd_error *error) {
    if (!read_runs(store, project, changes, error) || !read_kinds(store, changes, error)) {
        return false;
    }
    if (changes->run.size == 0)
        return hd_fail(error, HD_ERR_USAGE, "the store %s has no runs of the project '%.100s'",
                       hd_store_path(store), project);
    if (!find_since(changes, since, error) || !read_findings(store, project, changes, error))
        return false;
    for (size_t i = 0; i < changes->list.size; i++) {
        if (!read_sightings(store, changes, &changes->list.data[i], error)) return false;
        follow(changes, &changes->list.data[i]);
    }
    count_standing(changes);
    return true;
}

bool hd_changes_read(struct hd_store *store, const char *project, const char *since,
                     struct hd_changes *changes, struct hd_error *error) {
    *changes = (struct hd_changes){.since = 0};
    /* One state of the store, whoever writes meanwhile. */
    bool good = hd_sql_script(store, "BEGIN", error);
    if (good) {
        good = read_all(store, project, since, changes, error);
        hd_sql_roll_back(store);
    }
    if (!good) hd_changes_free(changes);
    return good;
}

void hd_changes_free(struct hd_changes *changes) {
    hd_vector_free(&changes->run);
    hd_vector_free(&changes->list);
    hd_vector_free(&changes->sighting);
    hd_findings_file_free(&changes->file);
    hd_arena_free(&changes->arena);
}
