/* A store: one SQLite file that remembers runs, what they found, and what commands learned, over
 * years and from any number of processes at once. A run is added in one transaction: it is there
 * with all its findings, or not at all.
 *
 * The file is untrusted input. It must have exactly the tables of its version (store/sql.h), so
 * triggers, views and whatever else SQL can hide in a file are refused before anything of it is
 * used; what is in the tables is checked by those who read it. A damaged file is said to be so and
 * never replaced: hd_store_set_aside moves it away if the user wants that. */
#ifndef HEDDLE_STORE_STORE_H
#define HEDDLE_STORE_STORE_H

#include "base/status.h"
#include "finding/finding.h"

struct hd_store;

enum hd_store_use {
    HD_STORE_LOOK, /* the file must be there */
    HD_STORE_KEEP  /* it is made if it is not */
};

/* NULL on failure. HD_ERR_DAMAGED: it is a store, and damaged. */
struct hd_store *hd_store_open(const char *path, enum hd_store_use use, struct hd_error *error);
void hd_store_close(struct hd_store *store); /* NULL is fine */
const char *hd_store_path(const struct hd_store *store);

/* Begins as a SQLite file does? */
bool hd_store_looks_like_one(const char *path);
/* If the store is damaged, and still so when nobody else is about to do the same: gives it another
 * name, "app.db.damaged-1", which is put into *name (malloc'ed; NULL: it is not damaged any more).
 */
bool hd_store_set_aside(const char *path, char **name, struct hd_error *error);

/* ---- runs (runs.c) -------------------------------------------------------------------------- */

struct hd_store_trace {
    const char *path; /* NULL: the run had no trace */
    char hash[33];    /* of its content */
    uint64_t bytes;
};
/* Reads the file for its hash; false if it can't be read (a pipe that is gone). */
bool hd_store_trace(const char *path, struct hd_store_trace *trace);

/* A run that is to be added. Strings are not NULL unless it says so. */
struct hd_store_run {
    const char *project, *tool, *target, *settings, *version;
    const char *format; /* of the input: "source", "binary", ... */
    const char *build;  /* of the program; NULL: unknown */
    int64_t started;    /* 0: now */
    int status;         /* the command's exit status */
    uint32_t events, threads;
    bool partial; /* not everything was looked at, of any kind */
    struct hd_store_trace trace;
};

/* What adding a run came to. */
struct hd_store_added {
    int64_t run; /* its number, from 1 */
    uint32_t fresh, known;
};

/* A finding as JSON; malloc'ed. */
typedef char *hd_store_body(const struct hd_finding *finding);

/* Adds a run with its findings, hidden ones too. */
bool hd_store_add_run(struct hd_store *store, const struct hd_store_run *run,
                      const struct hd_findings *findings, hd_store_body *body,
                      struct hd_store_added *added, struct hd_error *error);

/* ---- what commands keep (kept.c) ------------------------------------------------------------ */

#define HD_STORE_INVARIANTS "invariants"
#define HD_STORE_CORRELATIONS "correlations"
#define HD_STORE_COVERAGE "coverage"

/* What is to be kept instead of `old` (NULL: nothing was there); malloc'ed. NULL after an error. */
typedef char *hd_store_change(const char *old, size_t bytes, void *context, struct hd_error *error);
/* Changes it while nobody else can. */
bool hd_store_keep(struct hd_store *store, const char *project, const char *what,
                   const char *target, hd_store_change *change, void *context,
                   struct hd_error *error);
/* Calls `use` for each text of a kind that is kept, of one target or (NULL) of all. False after an
 * error, also one of `use`. */
typedef bool hd_store_use(const char *target, const char *text, size_t bytes, void *context,
                          struct hd_error *error);
bool hd_store_each_kept(struct hd_store *store, const char *project, const char *what,
                        const char *target, hd_store_use *use, void *context,
                        struct hd_error *error);

/* ---- baselines (baseline.c) ----------------------------------------------------------------- */

/* Accepts all findings that are there (store/changes.h) after the last run; how many are new among
 * those accepted goes into *count. */
bool hd_store_accept(struct hd_store *store, const char *project, uint32_t *count,
                     struct hd_error *error);
/* The accepted findings as a list of heddle-findings/1; malloc'ed. */
char *hd_store_accepted(struct hd_store *store, const char *project, struct hd_error *error);

#endif
