/* Kinds of jobs other than a plain run, as data. A campaign keeps, sends and gives out jobs and
 * results as bytes and does not look into them; a kind says what is done with a job's bytes on
 * whatever machine gets it. One start of a campaign has one kind:
 *
 *   share.h                    items of an analysis (heddle predict)
 *   cli/training.h             runs to learn from (heddle learn)
 *   source/unit.h              translation units (heddle mine, heddle lint)
 *
 * What jobs have in common is their subject: a command line, of which every word that names a file
 * is a file that has to be on the machine; it is sent if it is not (programs.h). */
#ifndef HEDDLE_CAMPAIGN_ERRAND_H
#define HEDDLE_CAMPAIGN_ERRAND_H

#include "base/errands.h"
#include "base/packed.h"
#include "run/run.h"

/* A job to be done. */
struct hd_errand {
    const struct hd_program *subject; /* its files are where this machine has them */
    const struct hd_host *host;
    const char *job; /* with a NUL behind it */
    size_t bytes;
};

/* What came of it. */
struct hd_errand_done {
    struct hd_packed result;
    const char *outcome; /* "passed", or how a run of the program ended */
    bool stopped;        /* it was asked to stop, or had no time: nothing to be kept */
};

struct hd_errand_kind {
    const char *name; /* part of every job's key */
    bool runs;        /* the subject is a program, and its build is part of the key */
    void *context;
    /* Does a job; in several threads at once. False: it can't be done. */
    bool (*perform)(void *context, const struct hd_errand *errand, struct hd_errand_done *done,
                    struct hd_error *error);
    /* In a worker, all of them may be NULL: the files of the subject are there; rank 0 told
     * everybody something (hd_campaign_tell); nothing more will come, and threads in `perform` that
     * wait should end. */
    void (*ready)(void *context, const struct hd_program *subject);
    void (*told)(void *context, const char *bytes, size_t count);
    void (*over)(void *context);
};

#endif
