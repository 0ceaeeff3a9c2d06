/* The coordinator: rank 0's thread that talks to all other ranks. It gives out runs in batches,
 * takes results as they come, sends files to who lacks them, and ends the job when somebody is not
 * heard of any more.
 *
 * A batch should last between 0.2 and 2 s: short enough that little is lost with a worker, and that
 * the last batches end at about the same time; long enough that nobody waits for messages. How long
 * a run takes is measured; how many runs are waiting bounds a batch too (half of a fair share), so
 * batches become smaller when there is less to do. */
#define _GNU_SOURCE
#include "base/alloc.h"
#include "base/clock.h"
#include "base/whole_file.h"
#include "campaign/message.h"
#include "campaign/mpi.h"
#include "campaign/tasks.h"
#include "campaign/workers.h"
#include "run/job.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BATCH_LEAST 0.2
#define BATCH_MOST 2.0
#define MOST_FILE (1ull << 30)
#define END_SECONDS 10 /* for all ranks to end together */

struct rank {
    bool there;      /* it said hello */
    double heard;    /* by hd_seconds_now */
    char name[128];  /* of its machine */
    int64_t machine; /* row */
    uint32_t at_once;
    uint32_t under_way; /* runs that it was given */
    double seconds;     /* that a run takes; 0: not known */
    double last;        /* when its last result came */
};

struct ranks {
    struct hd_campaign *campaign;
    unsigned silence;
    void (*lost)(const char *words);
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t begun_or_not;
    bool begun, failed, closing;
    struct hd_error error;
    struct campaign_tasks waiting;
    uint32_t urgent; /* the first ones of them: somebody waits */
    HD_VECTOR(const struct campaign_program *) program;
    HD_VECTOR(struct hd_packed) news; /* for all workers, from the beginning */
    /* of the thread alone */
    struct rank *rank; /* [0] is not used */
    unsigned ranks;
    size_t told, news_told; /* programs and news that all know */
    double next_beat;
};

/* ---- batches --------------------------------------------------------------------------------- */

static uint32_t batch_for(const struct ranks *ranks, const struct rank *rank) {
    double waiting = (double)campaign_tasks_count(&ranks->waiting),
           share = ceil(waiting / 2 / (ranks->ranks - 1));
    if (rank->seconds <= 0) return rank->at_once < share ? rank->at_once : (uint32_t)share;
    double seconds = share * rank->seconds / rank->at_once;
    seconds = seconds < BATCH_LEAST ? BATCH_LEAST : seconds > BATCH_MOST ? BATCH_MOST : seconds;
    double runs = ceil(seconds / rank->seconds * rank->at_once);
    return runs < share ? (uint32_t)runs : (uint32_t)share;
}

static void send_first(struct ranks *ranks, unsigned to, uint32_t count, bool now) {
    struct hd_packed message = message_new(MESSAGE_JOBS);
    hd_pack_number(&message, now);
    hd_pack_number(&message, count);
    for (uint32_t i = 0; i < count; i++) {
        struct campaign_task task = campaign_tasks_take(&ranks->waiting);
        message_put_task(&message, &task);
        free(task.text);
    }
    ranks->urgent -= now ? count : 0;
    if (ranks->rank[to].under_way == 0) ranks->rank[to].last = hd_seconds_now();
    ranks->rank[to].under_way += count;
    message_send(&message, to);
}

static unsigned least_busy(const struct ranks *ranks) {
    unsigned best = 0;
    for (unsigned i = 1; i < ranks->ranks; i++)
        if (ranks->rank[i].there &&
            (best == 0 || ranks->rank[i].under_way < ranks->rank[best].under_way))
            best = i;
    return best;
}

/* True: something was sent. */
static bool give_out(struct ranks *ranks) {
    bool any = false;
    for (unsigned to; ranks->urgent > 0 && (to = least_busy(ranks)) != 0; any = true)
        send_first(ranks, to, 1, true);
    for (unsigned i = 1; i < ranks->ranks && campaign_tasks_count(&ranks->waiting) > 0; i++) {
        const struct rank *rank = &ranks->rank[i];
        uint32_t batch = rank->there ? batch_for(ranks, rank) : 0;
        if (batch == 0 || rank->under_way > batch / 2) continue;
        send_first(ranks, i, batch, false);
        any = true;
    }
    return any;
}

/* ---- programs and files ---------------------------------------------------------------------- */

static void tell_program(const struct ranks *ranks, uint32_t number, unsigned to) {
    const struct campaign_program *program = ranks->program.data[number];
    struct hd_job job = {.program = program->program};
    struct hd_packed message = message_new(MESSAGE_PROGRAM);
    char *text = campaign_job_text(&job);
    hd_pack_number(&message, number);
    hd_pack_text(&message, text);
    hd_pack_number(&message, program->needed.size);
    for (size_t i = 0; i < program->needed.size; i++) {
        const struct campaign_needed *needed = &program->needed.data[i];
        const char *slash = strrchr(needed->path, '/');
        hd_pack_number(&message, (uint64_t)(needed->word - CAMPAIGN_LEAST));
        hd_pack_text(&message, needed->hash);
        hd_pack_text(&message, slash != NULL ? slash + 1 : needed->path);
    }
    free(text);
    message_send(&message, to);
}

static void tell_programs(struct ranks *ranks) {
    for (; ranks->told < ranks->program.size; ranks->told++)
        for (unsigned i = 1; i < ranks->ranks; i++)
            if (ranks->rank[i].there) tell_program(ranks, (uint32_t)ranks->told, i);
}

static void tell_news(const struct ranks *ranks, size_t number, unsigned to) {
    const struct hd_packed *news = &ranks->news.data[number];
    struct hd_packed message = message_new(MESSAGE_TELL);
    hd_pack_bytes(&message, news->bytes.data, news->bytes.size);
    message_send(&message, to);
}

static void tell_all_news(struct ranks *ranks) {
    for (; ranks->news_told < ranks->news.size; ranks->news_told++)
        for (unsigned i = 1; i < ranks->ranks; i++)
            if (ranks->rank[i].there) tell_news(ranks, ranks->news_told, i);
}

static void send_file(struct ranks *ranks, const char *hash, unsigned to) {
    struct hd_error error;
    for (size_t i = 0; i < ranks->program.size; i++) {
        const struct campaign_program *program = ranks->program.data[i];
        for (size_t k = 0; k < program->needed.size; k++) {
            if (strcmp(program->needed.data[k].hash, hash) != 0) continue;
            size_t bytes;
            char *text =
                hd_whole_file_read(program->needed.data[k].path, MOST_FILE, &bytes, &error);
            if (text == NULL) {
                campaign_break(ranks->campaign, &error);
                return;
            }
            struct hd_packed message = message_new(MESSAGE_FILE);
            hd_pack_text(&message, hash);
            hd_pack_bytes(&message, text, bytes);
            free(text);
            message_send(&message, to);
            return;
        }
    }
}

/* ---- what they say --------------------------------------------------------------------------- */

static void hear_hello(struct ranks *ranks, unsigned from, struct hd_unpack *in) {
    struct rank *rank = &ranks->rank[from];
    snprintf(rank->name, sizeof rank->name, "%.120s", hd_unpack_text(in));
    uint64_t at_once = hd_unpack_number(in);
    rank->at_once = at_once > 0 && at_once < 65536 ? (uint32_t)at_once : 1;
    rank->machine = campaign_machine(ranks->campaign, rank->name);
    rank->there = in->good;
    pthread_mutex_lock(&ranks->lock);
    for (uint32_t i = 0; i < ranks->told; i++) tell_program(ranks, i, from);
    for (size_t i = 0; i < ranks->news_told; i++) tell_news(ranks, i, from);
    pthread_mutex_unlock(&ranks->lock);
}

static void hear_result(struct ranks *ranks, unsigned from, struct hd_unpack *in) {
    struct rank *rank = &ranks->rank[from];
    struct message_end end;
    if (!message_read_end(in, &end)) return;
    if (rank->under_way == 0) {
        campaign_result_free(&end.result);
        return;
    }
    double now = hd_seconds_now(), took = (now - rank->last) * rank->at_once;
    rank->seconds = rank->seconds > 0 ? 0.9 * rank->seconds + 0.1 * took : took;
    rank->last = now;
    rank->under_way--;
    campaign_done(ranks->campaign, end.number, rank->machine, end.end, &end.result, &end.error);
}

static bool hear(struct ranks *ranks) {
    unsigned from;
    size_t count;
    char *bytes = hd_mpi_receive(&from, &count);
    if (bytes == NULL) return false;
    bytes[count] = '\0';
    struct hd_unpack in = hd_unpack_begin(bytes, count);
    if (from > 0 && from < ranks->ranks) {
        ranks->rank[from].heard = hd_seconds_now();
        switch (hd_unpack_number(&in)) {
        case MESSAGE_HELLO:
            hear_hello(ranks, from, &in);
            break;
        case MESSAGE_RESULT:
            hear_result(ranks, from, &in);
            break;
        case MESSAGE_NEED:
            pthread_mutex_lock(&ranks->lock);
            send_file(ranks, hd_unpack_text(&in), from);
            pthread_mutex_unlock(&ranks->lock);
            break;
        default:
            break;
        }
    }
    free(bytes);
    return true;
}

/* ---- heartbeats ------------------------------------------------------------------------------ */

static void beat(struct ranks *ranks) {
    double now = hd_seconds_now();
    if (now < ranks->next_beat) return;
    ranks->next_beat = now + 1;
    for (unsigned i = 1; i < ranks->ranks; i++) {
        struct hd_packed message = message_new(MESSAGE_BEAT);
        message_send(&message, i);
        if (now - ranks->rank[i].heard < ranks->silence) continue;
        char words[256];
        snprintf(words, sizeof words,
                 "rank %u%s%s was not heard of for %u s: the job ends, all results that came are "
                 "kept",
                 i, ranks->rank[i].there ? " on " : "", ranks->rank[i].name, ranks->silence);
        campaign_tick(ranks->campaign, true);
        if (ranks->lost != NULL) ranks->lost(words);
        hd_mpi_abort();
    }
}

/* ---- the thread ------------------------------------------------------------------------------ */

static bool step(struct ranks *ranks) {
    bool busy = false;
    for (unsigned i = 0; i < 64 && hear(ranks); i++) busy = true;
    pthread_mutex_lock(&ranks->lock);
    tell_programs(ranks);
    tell_all_news(ranks);
    busy |= give_out(ranks);
    pthread_mutex_unlock(&ranks->lock);
    hd_mpi_sending();
    beat(ranks);
    campaign_tick(ranks->campaign, false);
    return busy;
}

static void say_stop(struct ranks *ranks) {
    for (unsigned i = 1; i < ranks->ranks; i++) {
        struct hd_packed message = message_new(MESSAGE_STOP);
        message_send(&message, i);
    }
    while (hd_mpi_sending() > 0) {
        while (hear(ranks)) continue;
        usleep(100);
    }
}

static void *coordinate(void *context) {
    struct ranks *ranks = context;
    struct hd_error error;
    bool good = hd_mpi_begin(&ranks->ranks, &error);
    pthread_mutex_lock(&ranks->lock);
    ranks->begun = good;
    ranks->failed = !good;
    if (!good) ranks->error = error;
    pthread_cond_broadcast(&ranks->begun_or_not);
    pthread_mutex_unlock(&ranks->lock);
    if (!good) return NULL;
    ranks->rank = hd_zalloc(ranks->ranks, sizeof *ranks->rank);
    for (unsigned i = 0; i < ranks->ranks; i++) ranks->rank[i].heard = hd_seconds_now();
    for (unsigned idle = 0;;) {
        pthread_mutex_lock(&ranks->lock);
        bool closing = ranks->closing;
        pthread_mutex_unlock(&ranks->lock);
        if (closing) break;
        idle = step(ranks) ? 0 : idle + 1;
        if (idle > 0) usleep(idle < 20 ? 50 : 500);
    }
    say_stop(ranks);
    hd_mpi_end();
    return NULL;
}

/* ---- for the campaign ------------------------------------------------------------------------ */

static void add_program(void *context, uint32_t number, const struct campaign_program *program) {
    struct ranks *ranks = context;
    pthread_mutex_lock(&ranks->lock);
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): a list of pointers */
    if (number == ranks->program.size) hd_vector_push(&ranks->program, program);
    pthread_mutex_unlock(&ranks->lock);
}

static void add_news(void *context, const char *bytes, size_t count) {
    struct ranks *ranks = context;
    struct hd_packed news = {.bytes = {0}};
    hd_vector_reserve(&news.bytes, count + 1);
    memcpy(news.bytes.data, bytes, count);
    news.bytes.size = count;
    pthread_mutex_lock(&ranks->lock);
    hd_vector_push(&ranks->news, news);
    pthread_mutex_unlock(&ranks->lock);
}

static void put(void *context, const struct campaign_task *task, bool now) {
    struct ranks *ranks = context;
    pthread_mutex_lock(&ranks->lock);
    if (now)
        campaign_tasks_put(&ranks->waiting, task, ranks->urgent++);
    else
        campaign_tasks_add(&ranks->waiting, task);
    pthread_mutex_unlock(&ranks->lock);
}

static bool cancel(void *context, uint32_t number) {
    struct ranks *ranks = context;
    pthread_mutex_lock(&ranks->lock);
    size_t was;
    bool found = campaign_tasks_cancel(&ranks->waiting, number, &was);
    if (found) ranks->urgent -= was < ranks->urgent;
    pthread_mutex_unlock(&ranks->lock);
    return found;
}

static void stop(void *context, int number) {
    (void)context; /* closing follows, and ends all runs */
    (void)number;
}

/* A job that is over must not hang because one of its ranks does. */
static void end_thread(struct ranks *ranks) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += END_SECONDS;
    if (pthread_timedjoin_np(ranks->thread, NULL, &until) == 0) return;
    campaign_tick(ranks->campaign, true);
    if (ranks->lost != NULL)
        ranks->lost("the ranks do not end together: the job is ended by force");
    hd_mpi_abort();
}

static void free_ranks(void *context) {
    struct ranks *ranks = context;
    pthread_mutex_lock(&ranks->lock);
    ranks->closing = true;
    pthread_mutex_unlock(&ranks->lock);
    if (ranks->failed)
        pthread_join(ranks->thread, NULL);
    else
        end_thread(ranks);
    campaign_tasks_free(&ranks->waiting);
    hd_vector_free(&ranks->program);
    for (size_t i = 0; i < ranks->news.size; i++) hd_vector_free(&ranks->news.data[i].bytes);
    hd_vector_free(&ranks->news);
    pthread_mutex_destroy(&ranks->lock);
    pthread_cond_destroy(&ranks->begun_or_not);
    free(ranks->rank);
    free(ranks);
}

bool campaign_ranks_begin(struct hd_campaign *campaign, const struct hd_campaign_options *options,
                          struct campaign_workers *workers, struct hd_error *error) {
    struct ranks *ranks = hd_zalloc(1, sizeof *ranks);
    ranks->campaign = campaign;
    ranks->silence = hd_campaign_silence(options);
    ranks->lost = options->lost;
    pthread_mutex_init(&ranks->lock, NULL);
    pthread_cond_init(&ranks->begun_or_not, NULL);
    if (pthread_create(&ranks->thread, NULL, coordinate, ranks) != 0) {
        free(ranks);
        return hd_fail(error, HD_ERR_IO, "cannot start a thread: %s", strerror(errno));
    }
    pthread_mutex_lock(&ranks->lock);
    while (!ranks->begun && !ranks->failed) pthread_cond_wait(&ranks->begun_or_not, &ranks->lock);
    bool good = ranks->begun;
    if (!good) *error = ranks->error;
    pthread_mutex_unlock(&ranks->lock);
    if (!good) {
        free_ranks(ranks);
        return false;
    }
    *workers = (struct campaign_workers){.context = ranks,
                                         .program = add_program,
                                         .put = put,
                                         .cancel = cancel,
                                         .stop = stop,
                                         .tell = add_news,
                                         .free = free_ranks};
    return true;
}
