/* See schema.h. Times are seconds since 1970; words are those of heddle-findings/1. */
#include "store/schema.h"

/* Runs and what they found.
 *
 * A series is what makes runs comparable: the same command on the same target with the same
 * settings. `whole` of a kind says that the run looked at every candidate of it. `body` is the
 * finding as JSON has it, without its witness, as the last run saw it. */
static const char version_1[] =
    "CREATE TABLE project (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;"
    "CREATE TABLE series (id INTEGER PRIMARY KEY,"
    " project INTEGER NOT NULL REFERENCES project(id), tool TEXT NOT NULL, target TEXT NOT NULL,"
    " settings TEXT NOT NULL, UNIQUE (project, tool, target, settings)) STRICT;"
    "CREATE TABLE trace (id INTEGER PRIMARY KEY, path TEXT NOT NULL, hash TEXT NOT NULL,"
    " bytes INTEGER NOT NULL, build TEXT, UNIQUE (hash, path)) STRICT;"
    "CREATE TABLE run (id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " series INTEGER NOT NULL REFERENCES series(id), started INTEGER NOT NULL,"
    " version TEXT NOT NULL, format TEXT NOT NULL, build TEXT,"
    " trace INTEGER REFERENCES trace(id), status INTEGER NOT NULL, events INTEGER NOT NULL,"
    " threads INTEGER NOT NULL, findings INTEGER NOT NULL) STRICT;"
    "CREATE INDEX run_series ON run (series);"
    "CREATE TABLE run_kind (run INTEGER NOT NULL REFERENCES run(id), kind TEXT NOT NULL,"
    " candidates INTEGER NOT NULL, whole INTEGER NOT NULL, PRIMARY KEY (run, kind))"
    " STRICT, WITHOUT ROWID;"
    "CREATE TABLE finding (id INTEGER PRIMARY KEY,"
    " project INTEGER NOT NULL REFERENCES project(id), fingerprint TEXT NOT NULL,"
    " kind TEXT NOT NULL, first_run INTEGER NOT NULL REFERENCES run(id),"
    " last_run INTEGER NOT NULL REFERENCES run(id), body TEXT NOT NULL,"
    " UNIQUE (project, fingerprint)) STRICT;"
    "CREATE TABLE sighting (finding INTEGER NOT NULL REFERENCES finding(id),"
    " run INTEGER NOT NULL REFERENCES run(id), verdict TEXT NOT NULL, harm TEXT NOT NULL,"
    " instances INTEGER NOT NULL, hidden INTEGER NOT NULL, PRIMARY KEY (finding, run))"
    " STRICT, WITHOUT ROWID;"
    "CREATE INDEX sighting_run ON sighting (run);";

/* What commands keep from run to run, as the files that they would write: invariants, correlations,
 * coverage; and the findings that a person has accepted. */
static const char version_2[] =
    "CREATE TABLE kept (project INTEGER NOT NULL REFERENCES project(id), what TEXT NOT NULL,"
    " target TEXT NOT NULL, changed INTEGER NOT NULL, content TEXT NOT NULL,"
    " PRIMARY KEY (project, what, target)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE baseline (finding INTEGER PRIMARY KEY REFERENCES finding(id),"
    " since INTEGER NOT NULL REFERENCES run(id)) STRICT;";

static const char *const steps[] = {version_1, version_2};

const struct hd_sql_kind hd_store_kind = {.name = "store",
                                          .made_by = "a command makes it with --store",
                                          .application = 0x68647374, /* "hdst" */
                                          .most_value = 64 * 1024 * 1024,
                                          .version = sizeof steps / sizeof *steps,
                                          .step = steps};
