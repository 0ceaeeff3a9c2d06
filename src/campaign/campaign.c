/* Jobs, their keys, and who waits for them. See campaign.h. */
#include "campaign/campaign.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/map.h"
#include "campaign/mpi.h"
#include "campaign/workers.h"
#include "store/sql.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* So many runs are known ahead whatever the number of workers: the course of an exploration must
 * not depend on it. Enough for two batches of a second for a hundred workers with runs of 0.2 s. */
#define AHEAD 1024u
#define COMMIT_NS 250000000u
#define STAND_NS 1000000000u

enum state {
    FREE,
    ASKED,  /* given to the workers */
    KEPT,   /* its result is in the file */
    BROKEN, /* it could not be run */
    STOPPED
};

struct ticket {
    enum state state;
    bool dropped; /* nobody waits for it */
    struct campaign_key key;
    uint32_t program;
    int64_t row;
    struct hd_error *error;
};

struct program {
    struct campaign_program of;
    int64_t row;
};

struct hd_campaign {
    struct hd_elsewhere runs;
    struct hd_errands errands;
    const struct hd_errand_kind *kind;
    const char *title;
    const struct hd_host *host;
    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t news;
    struct hd_store *file;
    bool writing; /* in a transaction */
    uint64_t next_commit, next_stand;
    int64_t start;
    struct campaign_standing standing;
    char what[64], build[33];
    HD_VECTOR(struct ticket) ticket;
    HD_VECTOR(uint32_t) unused;
    struct hd_map times; /* a job was asked for, by its key */
    HD_VECTOR(struct program *) program;
    struct campaign_workers workers;
    bool broken; /* nothing more can be run or written: */
    struct hd_error error;
    /* local */
    struct campaign_pool *pool;
    int64_t machine;
    pthread_t keeper;
    bool kept, closing;
};

/* ---- the file -------------------------------------------------------------------------------- */

static void give_up(struct hd_campaign *campaign, const struct hd_error *error) {
    if (!campaign->broken) campaign->error = *error;
    campaign->broken = true;
    pthread_cond_broadcast(&campaign->news);
}

void campaign_break(struct hd_campaign *campaign, const struct hd_error *error) {
    pthread_mutex_lock(&campaign->lock);
    give_up(campaign, error);
    pthread_mutex_unlock(&campaign->lock);
}

/* Between commits everything is one transaction. */
static bool begin_writing(struct hd_campaign *campaign) {
    struct hd_error error;
    if (campaign->writing || campaign->broken) return campaign->writing;
    campaign->writing = hd_sql_begin(campaign->file, &error);
    if (!campaign->writing) give_up(campaign, &error);
    return campaign->writing;
}

static void commit(struct hd_campaign *campaign) {
    struct hd_error error;
    if (campaign->writing && !hd_sql_commit(campaign->file, &error)) give_up(campaign, &error);
    campaign->writing = false;
}

static void stand(struct hd_campaign *campaign) {
    struct hd_error error;
    campaign->standing.what = campaign->what;
    if (begin_writing(campaign) &&
        !campaign_file_stand(campaign->file, campaign->start, &campaign->standing, &error))
        give_up(campaign, &error);
}

void campaign_tick(struct hd_campaign *campaign, bool now) {
    pthread_mutex_lock(&campaign->lock);
    uint64_t time = hd_now_ns();
    if (now || time >= campaign->next_stand) {
        stand(campaign);
        campaign->next_stand = time + STAND_NS;
    }
    if (now || time >= campaign->next_commit) {
        commit(campaign);
        campaign->next_commit = time + COMMIT_NS;
    }
    pthread_mutex_unlock(&campaign->lock);
}

int64_t campaign_machine(struct hd_campaign *campaign, const char *name) {
    struct hd_error error;
    int64_t row = 0;
    pthread_mutex_lock(&campaign->lock);
    if (begin_writing(campaign) && !campaign_file_machine(campaign->file, name, &row, &error))
        give_up(campaign, &error);
    pthread_mutex_unlock(&campaign->lock);
    return row;
}

/* ---- tickets --------------------------------------------------------------------------------- */

static void free_ticket(struct hd_campaign *campaign, uint32_t number) {
    struct ticket *ticket = &campaign->ticket.data[number];
    free(ticket->error);
    *ticket = (struct ticket){.state = FREE};
    hd_vector_push(&campaign->unused, number);
}

static uint32_t new_ticket(struct hd_campaign *campaign) {
    struct ticket fresh = {.state = FREE};
    if (campaign->unused.size > 0) return campaign->unused.data[--campaign->unused.size];
    hd_vector_push(&campaign->ticket, fresh);
    return (uint32_t)campaign->ticket.size - 1;
}

void campaign_done(struct hd_campaign *campaign, uint32_t number, int64_t machine,
                   enum campaign_end end, struct campaign_result *result,
                   const struct hd_error *error) {
    struct hd_error failed;
    pthread_mutex_lock(&campaign->lock);
    bool known = number < campaign->ticket.size && campaign->ticket.data[number].state == ASKED;
    struct ticket *ticket = known ? &campaign->ticket.data[number] : NULL;
    if (known && end == CAMPAIGN_RAN && begin_writing(campaign)) {
        if (campaign_file_add(campaign->file, &ticket->key,
                              campaign->program.data[ticket->program]->row, campaign->start,
                              machine, result, &ticket->row, &failed))
            ticket->state = KEPT;
        else
            give_up(campaign, &failed);
    } else if (known) {
        ticket->state = end == CAMPAIGN_BROKEN ? BROKEN : STOPPED;
        ticket->error = hd_zalloc(1, sizeof *ticket->error);
        if (end == CAMPAIGN_BROKEN) *ticket->error = *error;
    }
    if (known) {
        campaign->standing.left -= !ticket->dropped;
        if (ticket->dropped) free_ticket(campaign, number);
    }
    pthread_cond_broadcast(&campaign->news);
    pthread_mutex_unlock(&campaign->lock);
    campaign_result_free(result);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static uint32_t program_of(struct hd_campaign *campaign, const struct hd_program *program) {
    struct hd_error error;
    for (size_t i = 0; i < campaign->program.size; i++)
        if (campaign_program_is(&campaign->program.data[i]->of, program)) return (uint32_t)i;
    struct program *new = hd_zalloc(1, sizeof *new);
    const char *kind = campaign->kind != NULL ? campaign->kind->name : "";
    campaign_program_make(&new->of, program, kind, campaign->build);
    char *command =
        campaign->title != NULL ? hd_strdup(campaign->title) : hd_quote_command(program->argv);
    if (begin_writing(campaign) && !campaign_file_program(campaign->file, new->of.key, command,
                                                          campaign->build, &new->row, &error))
        give_up(campaign, &error);
    free(command);
    uint32_t number = (uint32_t)campaign->program.size;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers, since the workers keep them */
    hd_vector_push(&campaign->program, new);
    if (campaign->workers.program != NULL)
        campaign->workers.program(campaign->workers.context, number, &new->of);
    return number;
}

static uint64_t times_key(const struct campaign_key *key) {
    return strtoull(key->job + HD_KEY_TEXT / 2, NULL, 16);
}

/* Looks for the result. True: it is there, or nothing can be done. */
static bool is_there(struct hd_campaign *campaign, struct ticket *ticket, uint64_t limit_ms) {
    struct hd_error error;
    if (!campaign->broken &&
        !campaign_file_find(campaign->file, &ticket->key, limit_ms, &ticket->row, &error))
        give_up(campaign, &error);
    if (ticket->row != 0) ticket->state = KEPT;
    return campaign->broken || ticket->row != 0;
}

/* Takes the task's text. */
static uint32_t ask_for(struct hd_campaign *campaign, const struct hd_program *of,
                        struct campaign_task *task, bool now) {
    pthread_mutex_lock(&campaign->lock);
    task->program = program_of(campaign, of);
    task->number = new_ticket(campaign);
    struct ticket *ticket = &campaign->ticket.data[task->number];
    *ticket = (struct ticket){.state = ASKED, .program = task->program};
    campaign_job_key(&campaign->program.data[task->program]->of, task->text, task->text_bytes,
                     ticket->key.job);
    ticket->key.nth = (*hd_map_slot(&campaign->times, times_key(&ticket->key), 0))++;
    bool there = is_there(campaign, ticket, task->limit_ms);
    if (ticket->state == ASKED) campaign->standing.left++;
    pthread_mutex_unlock(&campaign->lock);
    uint32_t number = task->number;
    if (there)
        free(task->text);
    else
        campaign->workers.put(campaign->workers.context, task, now);
    return number;
}

static uint32_t ask_run(void *context, const struct hd_job *job, bool now) {
    char *text = campaign_job_text(job);
    struct campaign_task task = {.limit_ms = job->program.limit_ms,
                                 .patience_ms = job->steering.patience_ms,
                                 .text = text,
                                 .text_bytes = strlen(text)};
    return ask_for(context, &job->program, &task, now);
}

static uint32_t ask_errand(void *context, const void *job, size_t bytes) {
    struct hd_campaign *campaign = context;
    const struct hd_program *subject = &campaign->program.data[0]->of.program;
    struct campaign_task task = {
        .limit_ms = subject->limit_ms, .text = hd_alloc(bytes + 1, 1), .text_bytes = bytes};
    memcpy(task.text, job, bytes);
    task.text[bytes] = '\0';
    return ask_for(campaign, subject, &task, false);
}

/* ---- taking ---------------------------------------------------------------------------------- */

static void wait_a_little(struct hd_campaign *campaign) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 20000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_cond_timedwait(&campaign->news, &campaign->lock, &until);
}

static bool is_stopped(const struct hd_campaign *campaign) {
    return campaign->host->stop != NULL && campaign->host->stop->signal != 0;
}

static enum hd_taken take_kept(struct hd_campaign *campaign, uint32_t number, double until,
                               struct campaign_result *kept, struct hd_error *error) {
    enum hd_taken taken = HD_TAKEN_NOT;
    pthread_mutex_lock(&campaign->lock);
    while (campaign->ticket.data[number].state == ASKED && !campaign->broken &&
           !is_stopped(campaign) && hd_seconds_now() < until)
        wait_a_little(campaign);
    struct ticket *ticket = &campaign->ticket.data[number];
    if (campaign->broken) {
        *error = campaign->error;
        taken = HD_TAKEN_BROKEN;
    } else if (ticket->state == KEPT) {
        bool good = campaign_file_read(campaign->file, ticket->row, kept, error);
        campaign->standing.taken += good;
        taken = good ? HD_TAKEN : HD_TAKEN_BROKEN;
    } else if (ticket->state == BROKEN) {
        *error = *ticket->error;
        taken = HD_TAKEN_BROKEN;
    }
    if (ticket->state == ASKED)
        ticket->dropped = true;
    else
        free_ticket(campaign, number);
    pthread_mutex_unlock(&campaign->lock);
    if (is_stopped(campaign) && campaign->workers.stop != NULL)
        campaign->workers.stop(campaign->workers.context, campaign->host->stop->signal);
    return taken;
}

static enum hd_taken take_run(void *context, uint32_t number, double until,
                              struct hd_result *result, struct hd_error *error) {
    struct hd_campaign *campaign = context;
    struct campaign_result kept;
    enum hd_taken taken = take_kept(campaign, number, until, &kept, error);
    if (taken != HD_TAKEN) return taken;
    char *name = hd_format("%s: a result", hd_store_path(campaign->file));
    bool good = campaign_result_to(&kept, name, result, error);
    free(name);
    campaign_result_free(&kept);
    if (!good) return HD_TAKEN_BROKEN;
    char *fault = campaign->host->runtime_fault;
    if (fault != NULL && fault[0] == '\0' && result->end.runtime_fault)
        snprintf(fault, HD_FAULT_WORDS, "%.255s", result->end.missing);
    return HD_TAKEN;
}

static enum hd_taken take_errand(void *context, uint32_t number, double until, char **result,
                                 size_t *bytes, struct hd_error *error) {
    struct campaign_result kept;
    enum hd_taken taken = take_kept(context, number, until, &kept, error);
    if (taken != HD_TAKEN) return taken;
    *result = kept.output != NULL ? kept.output : hd_strdup("");
    *bytes = kept.output_bytes;
    kept.output = NULL;
    campaign_result_free(&kept);
    return HD_TAKEN;
}

static void drop(void *context, uint32_t number) {
    struct hd_campaign *campaign = context;
    bool cancelled = campaign->workers.cancel(campaign->workers.context, number);
    pthread_mutex_lock(&campaign->lock);
    struct ticket *ticket = &campaign->ticket.data[number];
    campaign->standing.left -= ticket->state == ASKED;
    uint32_t *times = hd_map_slot(&campaign->times, times_key(&ticket->key), 0);
    /* If it is asked for again, it is this one. */
    if (*times == ticket->key.nth + 1) --*times;
    if (ticket->state == ASKED && !cancelled)
        ticket->dropped = true;
    else
        free_ticket(campaign, number);
    pthread_mutex_unlock(&campaign->lock);
}

/* ---- in this process ------------------------------------------------------------------------- */

static void local_done(void *context, uint32_t number, enum campaign_end end,
                       struct campaign_result *result, const struct hd_error *error) {
    struct hd_campaign *campaign = context;
    campaign_done(campaign, number, campaign->machine, end, result, error);
}
static void local_program(void *context, uint32_t number, const struct campaign_program *program) {
    campaign_pool_program(context, number, &program->program);
}
static void local_put(void *context, const struct campaign_task *task, bool now) {
    campaign_pool_put(context, task, now);
}
static bool local_cancel(void *context, uint32_t number) {
    return campaign_pool_cancel(context, number);
}
static void local_stop(void *context, int number) { campaign_pool_stop(context, number); }
static void local_free(void *context) { campaign_pool_free(context); }

static void *keep(void *context) {
    struct hd_campaign *campaign = context;
    for (bool closing = false; !closing;) {
        usleep(50000);
        campaign_tick(campaign, false);
        pthread_mutex_lock(&campaign->lock);
        closing = campaign->closing;
        pthread_mutex_unlock(&campaign->lock);
    }
    return NULL;
}

static bool begin_local(struct hd_campaign *campaign, const struct hd_campaign_options *options,
                        struct hd_error *error) {
    char name[256] = "";
    if (gethostname(name, sizeof name - 1) != 0) snprintf(name, sizeof name, "here");
    campaign->machine = campaign_machine(campaign, name);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned at_once = options->at_once > 0 ? options->at_once : 1;
    struct campaign_pool_options how = {.at_once = at_once,
                                        .crowd =
                                            1 + (at_once - 1) / (cores > 0 ? (unsigned)cores : 1),
                                        .no_server = options->no_server,
                                        .host = options->host,
                                        .kind = options->kind,
                                        .done = local_done,
                                        .context = campaign};
    if (campaign->broken) {
        *error = campaign->error;
        return false;
    }
    campaign->workers = (struct campaign_workers){.context = campaign_pool_new(&how),
                                                  .program = local_program,
                                                  .put = local_put,
                                                  .cancel = local_cancel,
                                                  .stop = local_stop,
                                                  .free = local_free};
    campaign->kept = pthread_create(&campaign->keeper, NULL, keep, campaign) == 0;
    return campaign->kept ||
           hd_fail(error, HD_ERR_IO, "cannot start a thread: %s", strerror(errno));
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static bool begin(struct hd_campaign *campaign, const struct hd_campaign_options *options,
                  struct hd_error *error) {
    bool runs = options->kind == NULL || options->kind->runs;
    campaign->file = campaign_file_open(options->path != NULL ? options->path : "", true, error);
    if (campaign->file == NULL ||
        (runs && !campaign_build(options->program, options->host, campaign->build, error)))
        return false;
    pthread_mutex_lock(&campaign->lock);
    uint32_t program = program_of(campaign, options->program);
    bool good = !campaign->broken &&
                campaign_file_start(campaign->file, campaign->program.data[program]->row,
                                    &campaign->start, &campaign->error);
    if (!good) *error = campaign->error;
    commit(campaign);
    pthread_mutex_unlock(&campaign->lock);
    if (!good) return false;
    if (hd_mpi_is_there() ? !campaign_ranks_begin(campaign, options, &campaign->workers, error)
                          : !begin_local(campaign, options, error))
        return false;
    for (uint32_t i = 0; i < campaign->program.size; i++)
        campaign->workers.program(campaign->workers.context, i, &campaign->program.data[i]->of);
    return true;
}

static void free_all(struct hd_campaign *campaign) {
    pthread_mutex_lock(&campaign->lock);
    campaign->closing = true;
    pthread_mutex_unlock(&campaign->lock);
    if (campaign->workers.free != NULL) campaign->workers.free(campaign->workers.context);
    if (campaign->kept) pthread_join(campaign->keeper, NULL);
    if (campaign->file != NULL && campaign->writing) commit(campaign);
    hd_store_close(campaign->file);
    for (size_t i = 0; i < campaign->ticket.size; i++) free(campaign->ticket.data[i].error);
    for (size_t i = 0; i < campaign->program.size; i++) {
        campaign_program_free(&campaign->program.data[i]->of);
        free(campaign->program.data[i]);
    }
    hd_vector_free(&campaign->ticket);
    hd_vector_free(&campaign->unused);
    hd_vector_free(&campaign->program);
    hd_map_free(&campaign->times);
    pthread_mutex_destroy(&campaign->lock);
    pthread_cond_destroy(&campaign->news);
    free(campaign);
}

struct hd_campaign *hd_campaign_open(const struct hd_campaign_options *options,
                                     struct hd_error *error) {
    struct hd_campaign *campaign = hd_zalloc(1, sizeof *campaign);
    campaign->host = options->host;
    campaign->kind = options->kind;
    campaign->title = options->title;
    campaign->runs = (struct hd_elsewhere){
        .context = campaign, .ahead = AHEAD, .ask = ask_run, .take = take_run, .drop = drop};
    campaign->errands = (struct hd_errands){
        .context = campaign, .ask = ask_errand, .take = take_errand, .drop = drop};
    pthread_mutex_init(&campaign->lock, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&campaign->news, &clock);
    pthread_condattr_destroy(&clock);
    if (begin(campaign, options, error)) return campaign;
    free_all(campaign);
    return NULL;
}

const struct hd_elsewhere *hd_campaign_runs(struct hd_campaign *campaign) {
    return &campaign->runs;
}

const struct hd_errands *hd_campaign_errands(struct hd_campaign *campaign) {
    return &campaign->errands;
}

void hd_campaign_tell(struct hd_campaign *campaign, const char *bytes, size_t count) {
    if (campaign->workers.tell != NULL)
        campaign->workers.tell(campaign->workers.context, bytes, count);
}

void hd_campaign_note(struct hd_campaign *campaign, uint32_t failures, const char *what) {
    pthread_mutex_lock(&campaign->lock);
    campaign->standing.failures = failures;
    snprintf(campaign->what, sizeof campaign->what, "%s", what);
    pthread_mutex_unlock(&campaign->lock);
}

bool hd_campaign_close(struct hd_campaign *campaign, const char *ending, uint64_t left,
                       struct hd_error *error) {
    if (campaign == NULL) return true;
    pthread_mutex_lock(&campaign->lock);
    snprintf(campaign->what, sizeof campaign->what, "%s", ending);
    campaign->standing.ended = true;
    campaign->standing.left = left;
    pthread_mutex_unlock(&campaign->lock);
    if (campaign->workers.free != NULL) campaign->workers.free(campaign->workers.context);
    campaign->workers.free = NULL;
    campaign_tick(campaign, true);
    bool good = !campaign->broken;
    if (!good) *error = campaign->error;
    free_all(campaign);
    return good;
}
