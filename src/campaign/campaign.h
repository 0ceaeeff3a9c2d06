/* A campaign: the runs of one exploration, or other jobs of one command, done by this process or by
 * many machines, with one file that is the truth (campaign/file.h).
 *
 *   explorer (explore/)     asks for runs ahead of time, takes results in the order in which it
 *     |                     wants them (run/elsewhere.h): its course depends on results alone, so
 *     |                     it is the same whoever does the runs
 *     | predict, learn,     the same with jobs of another kind (errand.h), as bytes
 *     | mine, lint          (base/errands.h)
 *     v
 *   campaign.c              a job's key (programs.c) is looked up in the file; what is not there is
 *     |                     given to the workers; what they bring is written there
 *     v
 *   pool.c                  threads of this process; or, started by mpirun,
 *   ranks.c                 the coordinator: rank 0, which alone knows the file, and gives batches
 *     |                     of jobs to the others, over
 *   mpi.c                   Open MPI, loaded when it is needed
 *     v
 *   worker.c                every other rank: its own pool.c, and the files that it needs on its
 *                           own disk
 *
 * Nothing is repaired: if a rank, a machine or a link is lost, the whole job ends, and whoever
 * starts it again (heddle campaign --supervise, Slurm) finds all results in the file but those of
 * the batches that were under way. */
#ifndef HEDDLE_CAMPAIGN_CAMPAIGN_H
#define HEDDLE_CAMPAIGN_CAMPAIGN_H

#include "campaign/errand.h"
#include "run/elsewhere.h"

struct hd_campaign_options {
    const char *path;                 /* NULL: nothing is kept */
    const struct hd_program *program; /* what jobs are of; its strings live as long */
    const struct hd_host *host;
    const struct hd_errand_kind *kind; /* of the jobs; NULL: runs of the program */
    const char *title; /* what `heddle campaign` calls it; NULL: the program's command line */
    unsigned at_once;  /* jobs of one process at the same time (1) */
    bool no_server;
    unsigned silence; /* seconds after which who is not heard of is given up; 0: the usual 30 */
    /* Gets why the job ends right now, since somebody was lost; from any thread. May be NULL. */
    void (*lost)(const char *words);
};

static inline unsigned hd_campaign_silence(const struct hd_campaign_options *options) {
    return options->silence > 0 ? options->silence : 30;
}

struct hd_campaign;

/* The campaign that runs in this process, or of which it is rank 0. NULL on failure. If jobs are
 * runs, the program is run once to learn its build. */
struct hd_campaign *hd_campaign_open(const struct hd_campaign_options *options,
                                     struct hd_error *error);
const struct hd_elsewhere *hd_campaign_runs(struct hd_campaign *campaign);
const struct hd_errands *hd_campaign_errands(struct hd_campaign *campaign);
/* Tells all workers something, also those that come later. */
void hd_campaign_tell(struct hd_campaign *campaign, const char *bytes, size_t count);
/* What the file says about the campaign while it runs. */
void hd_campaign_note(struct hd_campaign *campaign, uint32_t failures, const char *what);
/* Writes what is left to write and frees it; `ending` says how it ended, `left` how much is known
 * to be wanted. False if something could not be written. NULL is fine. */
bool hd_campaign_close(struct hd_campaign *campaign, const char *ending, uint64_t left,
                       struct hd_error *error);

/* Was this process started by mpirun, together with others? Which of them is it? */
bool hd_campaign_is_worker(void);
/* All that a worker does. False: it could not begin. */
bool hd_campaign_work(const struct hd_campaign_options *options, struct hd_error *error);

/* ---- looking at a file ----------------------------------------------------------------------- */

struct hd_campaign_state {
    char *command, *build, *what; /* of the last start; malloc'ed */
    uint32_t starts;
    bool running;                    /* the last start is, as far as is known */
    bool ended;                      /* it came to its end: was neither killed nor lost */
    int64_t began, beat;             /* of the last start: seconds since 1970 */
    uint64_t runs;                   /* kept, of all starts and programs */
    uint64_t taken, left, last_runs; /* of the last start */
    uint32_t failures;
    struct hd_campaign_outcome {
        char word[16];
        uint64_t runs;
    } outcome[HD_OUTCOME_COUNT];
    uint32_t outcomes;
    struct hd_campaign_machine {
        char *name;
        uint64_t runs;
    } * machine;
    uint32_t machines;
};
bool hd_campaign_look(const char *path, struct hd_campaign_state *state, struct hd_error *error);
void hd_campaign_state_free(struct hd_campaign_state *state);

/* Adds the results of another file. */
bool hd_campaign_merge(const char *to, const char *from, uint64_t *added, uint64_t *known,
                       struct hd_error *error);

#endif
