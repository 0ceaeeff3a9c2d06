/* Adding a run: see store.h. */
#include "store/sql.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

bool hd_store_trace(const char *path, struct hd_store_trace *trace) {
    *trace = (struct hd_store_trace){.path = NULL};
    FILE *in = fopen(path, "re");
    if (in == NULL) return false;
    XXH3_state_t *state = XXH3_createState();
    if (state == NULL) hd_out_of_memory();
    XXH3_128bits_reset(state);
    char *buffer = hd_alloc(1, 1 << 16);
    for (size_t got; (got = fread(buffer, 1, 1 << 16, in)) > 0; trace->bytes += got)
        XXH3_128bits_update(state, buffer, got);
    bool good = !ferror(in);
    XXH128_hash_t hash = XXH3_128bits_digest(state);
    snprintf(trace->hash, sizeof trace->hash, "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
    XXH3_freeState(state);
    free(buffer);
    fclose(in);
    if (good) trace->path = path;
    return good;
}

/* ---- rows that are made when they are first needed ------------------------------------------- */

static bool project_of(struct hd_store *store, const char *name, int64_t *id,
                       struct hd_error *error) {
    return hd_sql_do(store, error, "INSERT OR IGNORE INTO project (name) VALUES (?1)", "s", name) &&
           hd_sql_number(store, error, id, 0, "SELECT id FROM project WHERE name = ?1", "s", name);
}

static bool series_of(struct hd_store *store, const struct hd_store_run *run, int64_t project,
                      int64_t *id, struct hd_error *error) {
    return hd_sql_do(store, error,
                     "INSERT OR IGNORE INTO series (project, tool, target, settings)"
                     " VALUES (?1, ?2, ?3, ?4)",
                     "isss", project, run->tool, run->target, run->settings) &&
           hd_sql_number(store, error, id, 0,
                         "SELECT id FROM series WHERE project = ?1 AND tool = ?2 AND target = ?3"
                         " AND settings = ?4",
                         "isss", project, run->tool, run->target, run->settings);
}

static bool trace_of(struct hd_store *store, const struct hd_store_run *run, int64_t *id,
                     struct hd_error *error) {
    const struct hd_store_trace *trace = &run->trace;
    return hd_sql_do(store, error,
                     "INSERT OR IGNORE INTO trace (path, hash, bytes, build)"
                     " VALUES (?1, ?2, ?3, ?4)",
                     "ssis", trace->path, trace->hash, (int64_t)trace->bytes, run->build) &&
           hd_sql_number(store, error, id, 0, "SELECT id FROM trace WHERE path = ?1 AND hash = ?2",
                         "ss", trace->path, trace->hash);
}

/* ---- the run --------------------------------------------------------------------------------- */

static bool add_row(struct hd_store *store, const struct hd_store_run *run, int64_t series,
                    size_t findings, int64_t *id, struct hd_error *error) {
    int64_t trace, started = run->started != 0 ? run->started : (int64_t)time(NULL);
    if (!hd_sql_do(store, error,
                   "INSERT INTO run (series, started, version, format, build, status, events,"
                   " threads, findings) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                   "iisssiiii", series, started, run->version, run->format, run->build,
                   (int64_t)run->status, (int64_t)run->events, (int64_t)run->threads,
                   (int64_t)findings))
        return false;
    *id = sqlite3_last_insert_rowid(store->db);
    return run->trace.path == NULL ||
           (trace_of(store, run, &trace, error) &&
            hd_sql_do(store, error, "UPDATE run SET trace = ?1 WHERE id = ?2", "ii", trace, *id));
}

/* Whole: every candidate of the kind has a verdict. */
static bool add_kinds(struct hd_store *store, const struct hd_store_run *run, int64_t id,
                      const struct hd_findings *findings, struct hd_error *error) {
    bool good = true;
    for (unsigned kind = 0; good && kind < HD_FINDING_KIND_COUNT; kind++) {
        const struct hd_finding_summary *summary = &findings->of_kind[kind];
        if (!findings->looked_for[kind]) continue;
        bool whole = !run->partial && summary->verdict[HD_VERDICT_UNDECIDED] == 0 &&
                     summary->left == 0 && !summary->left_at_least;
        good = hd_sql_do(store, error,
                         "INSERT INTO run_kind (run, kind, candidates, whole)"
                         " VALUES (?1, ?2, ?3, ?4)",
                         "isii", id, hd_finding_kind_name((enum hd_finding_kind)kind),
                         (int64_t)summary->candidates, (int64_t)whole);
    }
    return good;
}

static bool add_finding(struct hd_store *store, int64_t project, int64_t run,
                        const struct hd_finding *finding, bool hidden, const char *body,
                        struct hd_store_added *added, struct hd_error *error) {
    int64_t id;
    if (!hd_sql_number(store, error, &id, 0,
                       "SELECT id FROM finding WHERE project = ?1 AND fingerprint = ?2", "is",
                       project, finding->fingerprint))
        return false;
    bool fresh = id == 0, good;
    if (fresh) {
        good = hd_sql_do(store, error,
                         "INSERT INTO finding (project, fingerprint, kind, first_run, last_run,"
                         " body) VALUES (?1, ?2, ?3, ?4, ?4, ?5)",
                         "issis", project, finding->fingerprint,
                         hd_finding_kind_name(finding->kind), run, body);
        id = sqlite3_last_insert_rowid(store->db);
    } else {
        good = hd_sql_do(store, error, "UPDATE finding SET last_run = ?1, body = ?2 WHERE id = ?3",
                         "isi", run, body, id);
    }
    added->fresh += fresh;
    added->known += !fresh;
    /* Two findings of a run with one fingerprint are one. */
    return good && hd_sql_do(store, error,
                             "INSERT INTO sighting (finding, run, verdict, harm, instances, hidden)"
                             " VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE"
                             " SET instances = instances + excluded.instances",
                             "iissii", id, run, hd_finding_verdict_name(finding->verdict),
                             hd_finding_harm_name(finding->harm), (int64_t)finding->instances,
                             (int64_t)hidden);
}

static bool add_all(struct hd_store *store, const struct hd_store_run *run,
                    const struct hd_findings *findings, char *const *body,
                    struct hd_store_added *added, struct hd_error *error) {
    int64_t project, series;
    size_t shown = findings->list.size, all = shown + findings->hidden.size;
    if (!project_of(store, run->project, &project, error) ||
        !series_of(store, run, project, &series, error) ||
        !add_row(store, run, series, all, &added->run, error) ||
        !add_kinds(store, run, added->run, findings, error))
        return false;
    for (size_t i = 0; i < all; i++) {
        const struct hd_finding *finding =
            i < shown ? &findings->list.data[i] : &findings->hidden.data[i - shown];
        if (!add_finding(store, project, added->run, finding, i >= shown, body[i], added, error))
            return false;
    }
    return true;
}

bool hd_store_add_run(struct hd_store *store, const struct hd_store_run *run,
                      const struct hd_findings *findings, hd_store_body *body,
                      struct hd_store_added *added, struct hd_error *error) {
    size_t shown = findings->list.size, all = shown + findings->hidden.size;
    *added = (struct hd_store_added){.run = 0};
    /* Before the transaction: others wait during it. */
    char **text = hd_alloc(all, sizeof *text);
    for (size_t i = 0; i < all; i++)
        text[i] = body(i < shown ? &findings->list.data[i] : &findings->hidden.data[i - shown]);
    bool good = hd_sql_begin(store, error);
    if (good) {
        good = add_all(store, run, findings, text, added, error);
        if (good)
            good = hd_sql_commit(store, error);
        else
            hd_sql_roll_back(store);
    }
    for (size_t i = 0; i < all; i++) free(text[i]);
    free(text);
    return good;
}
