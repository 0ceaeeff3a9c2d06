/* The campaign file: one SQLite file that is the truth about a campaign. It has the results of
 * runs, each under its job's key, written once and never changed: a job that is run twice is no
 * harm, and an exploration that asks for the same jobs again gets the same answers without running
 * anything. So a campaign that was ended in whatever way goes on where it stood.
 *
 * The file is untrusted input, as a store is (store/sql.h): what is in its tables is checked when
 * it is read. */
#ifndef HEDDLE_CAMPAIGN_FILE_H
#define HEDDLE_CAMPAIGN_FILE_H

#include "base/vector.h"
#include "campaign/errand.h"
#include "campaign/key.h"
#include "run/run.h"

struct hd_store;

/* A result as it is kept and as it is sent. Of a run: the text of run/job.h, and the files beside
 * it. Of an errand: no text, and its bytes as the output. */
struct campaign_result {
    char *text; /* malloc'ed, as all of them */
    size_t text_bytes;
    char *trace, *output, *error; /* NULL: there is none */
    size_t trace_bytes, output_bytes, error_bytes;
    char outcome[16];  /* how it ended: "passed", "hang" */
    uint64_t limit_ms; /* that the run had */
};
void campaign_result_free(struct campaign_result *result);
/* Reads the files of a result. */
void campaign_result_from(struct campaign_result *to, const struct hd_result *from,
                          uint64_t limit_ms);
/* Takes the bytes. */
void campaign_result_of(struct campaign_result *to, struct hd_errand_done *from, uint64_t limit_ms);
/* The opposite of the first; `name` is what errors call it. */
bool campaign_result_to(const struct campaign_result *from, const char *name, struct hd_result *to,
                        struct hd_error *error);

/* "": a file that nobody sees, and that ends with the process. */
struct hd_store *campaign_file_open(const char *path, bool make, struct hd_error *error);

/* ---- one start of the campaign, and its machines --------------------------------------------- */

/* What a start says about itself, once a second. */
struct campaign_standing {
    uint64_t taken, left,
        running; /* runs: that the exploration used, that it waits for, under way */
    uint32_t failures;
    const char *what; /* it does now, or how it ended */
    bool ended;
};

/* Numbers of rows. False after an error. */
bool campaign_file_program(struct hd_store *file, const char *key, const char *command,
                           const char *build, int64_t *id, struct hd_error *error);
bool campaign_file_start(struct hd_store *file, int64_t program, int64_t *id,
                         struct hd_error *error);
bool campaign_file_machine(struct hd_store *file, const char *name, int64_t *id,
                           struct hd_error *error);
bool campaign_file_stand(struct hd_store *file, int64_t start,
                         const struct campaign_standing *standing, struct hd_error *error);

/* ---- results --------------------------------------------------------------------------------- */

/* Which run of which job. */
struct campaign_key {
    char job[HD_KEY_TEXT];
    uint32_t nth; /* time that it is asked for, from 0 */
};

/* The number of the result's row, 0 if there is none. A hang counts only if the run had at least
 * this much time. */
bool campaign_file_find(struct hd_store *file, const struct campaign_key *key, uint64_t limit_ms,
                        int64_t *row, struct hd_error *error);
bool campaign_file_read(struct hd_store *file, int64_t row, struct campaign_result *result,
                        struct hd_error *error);
/* Adds it, unless one is there: *row is the one that is there then. */
bool campaign_file_add(struct hd_store *file, const struct campaign_key *key, int64_t program,
                       int64_t start, int64_t machine, const struct campaign_result *result,
                       int64_t *row, struct hd_error *error);

/* Adds all that `from` has and `to` has not; *added says how many results. */
bool campaign_file_merge(struct hd_store *to, struct hd_store *from, uint64_t *added,
                         uint64_t *known, struct hd_error *error);

#endif
