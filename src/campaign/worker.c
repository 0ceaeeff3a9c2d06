/* A worker: every rank but 0. Does what the coordinator sends, in a pool of threads, and sends back
 * what comes of it. Files that its machine lacks it asks for once, and keeps on its own disk under
 * their content's hash. It knows no campaign file, and is crash-only: without its coordinator it
 * ends. */
#include "base/alloc.h"
#include "base/clock.h"
#include "campaign/campaign.h"
#include "campaign/copies.h"
#include "campaign/message.h"
#include "campaign/mpi.h"
#include "campaign/programs.h"
#include "run/job.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A program as this machine has it. */
struct own_program {
    bool told, ready;
    struct hd_job job; /* owner of its strings */
    struct hd_program program;
    struct own_file {
        int word;
        char hash[HD_KEY_TEXT];
        char *name;  /* without directories */
        char *place; /* where it is; NULL: not here yet */
    } * file;
    size_t files;
    HD_VECTOR(struct campaign_task) held; /* that wait for the files */
};

struct worker {
    const struct hd_campaign_options *options;
    struct campaign_pool *pool;
    HD_VECTOR(struct own_program *) program;
    pthread_mutex_t lock;
    HD_VECTOR(struct hd_packed) outbox; /* of the pool's threads */
    double heard, next_beat;
    bool stopped;
};

/* ---- results --------------------------------------------------------------------------------- */

static void done(void *context, uint32_t number, enum campaign_end end,
                 struct campaign_result *result, const struct hd_error *error) {
    struct worker *worker = context;
    struct hd_packed message = message_new(MESSAGE_RESULT);
    /* A message has to fit into 2 GB: a trace that does not is left out. */
    if (result->trace_bytes + result->output_bytes + result->error_bytes > INT_MAX / 2) {
        free(result->trace);
        result->trace = NULL;
        result->trace_bytes = 0;
    }
    message_put_end(&message, number, end, result, error);
    campaign_result_free(result);
    pthread_mutex_lock(&worker->lock);
    hd_vector_push(&worker->outbox, message);
    pthread_mutex_unlock(&worker->lock);
}

static bool send_results(struct worker *worker) {
    pthread_mutex_lock(&worker->lock);
    size_t count = worker->outbox.size;
    struct hd_packed *list = worker->outbox.data;
    worker->outbox.data = NULL;
    worker->outbox.size = worker->outbox.capacity = 0;
    pthread_mutex_unlock(&worker->lock);
    for (size_t i = 0; i < count; i++) message_send(&list[i], 0);
    free(list);
    return count > 0;
}

/* ---- programs -------------------------------------------------------------------------------- */

static void use_place(struct own_program *own, const struct own_file *file) {
    if (file->word == CAMPAIGN_INPUT)
        own->program.input = file->place;
    else if (file->word == CAMPAIGN_REFERENCE)
        own->program.output_like = file->place;
    else if (strcmp(own->program.argv[file->word], file->place) != 0 &&
             (file->word > 0 || strchr(file->place, '/') != NULL))
        own->program.argv[file->word] = file->place;
}

/* All files are there: its runs can begin. */
static void make_ready(struct worker *worker, uint32_t number) {
    struct own_program *own = worker->program.data[number];
    for (size_t i = 0; i < own->files; i++)
        if (own->file[i].place == NULL) return;
    for (size_t i = 0; i < own->files; i++) use_place(own, &own->file[i]);
    own->ready = true;
    campaign_pool_program(worker->pool, number, &own->program);
    for (size_t i = 0; i < own->held.size; i++)
        campaign_pool_put(worker->pool, &own->held.data[i], false);
    own->held.size = 0;
    const struct hd_errand_kind *kind = worker->options->kind;
    if (kind != NULL && kind->ready != NULL) kind->ready(kind->context, &own->program);
}

static struct own_program *program_at(struct worker *worker, uint32_t number) {
    while (worker->program.size <= number)
        /* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers, since the pool keeps them */
        hd_vector_push(&worker->program, hd_zalloc(1, sizeof(struct own_program)));
    return worker->program.data[number];
}

/* The file where the command line says, or a copy that is there from before. */
static char *find_file(const struct own_program *own, const struct own_file *file) {
    const char *path = file->word >= 0                ? own->program.argv[file->word]
                       : file->word == CAMPAIGN_INPUT ? own->program.input
                                                      : NULL;
    char hash[HD_KEY_TEXT];
    if (path != NULL) {
        char *found = file->word == 0 ? campaign_find_program(path) : hd_strdup(path);
        bool same = campaign_hash_file(found, hash) && strcmp(hash, file->hash) == 0;
        free(found);
        if (same) return hd_strdup(path);
    }
    return campaign_copy_find(file->hash, file->name);
}

static bool look_for_file(struct own_program *own, struct own_file *file,
                          const struct message_file *from) {
    file->word = from->word;
    memcpy(file->hash, from->hash, sizeof file->hash);
    if (file->word == CAMPAIGN_INPUT && own->program.input == NULL) return false;
    int words = 0;
    while (own->program.argv[words] != NULL) words++;
    if (file->word >= words) return false;
    file->name = hd_strdup(from->name);
    file->place = find_file(own, file);
    if (file->place != NULL) return true;
    struct hd_packed need = message_new(MESSAGE_NEED);
    hd_pack_text(&need, file->hash);
    message_send(&need, 0);
    return true;
}

static bool take_program(struct worker *worker, const struct message_program *from) {
    struct hd_error ignored;
    struct own_program *own = program_at(worker, from->number);
    if (own->told || !hd_job_read(from->text, strlen(from->text), "a program", &own->job, &ignored))
        return own->told;
    own->told = true;
    own->program = own->job.program;
    own->files = from->file.size;
    own->file = hd_zalloc(own->files > 0 ? own->files : 1, sizeof *own->file);
    for (size_t i = 0; i < own->files; i++)
        if (!look_for_file(own, &own->file[i], &from->file.data[i])) return false;
    make_ready(worker, from->number);
    return true;
}

static bool hear_program(struct worker *worker, struct hd_unpack *in) {
    struct message_program program;
    if (!message_program(in, &program)) return false;
    bool good = take_program(worker, &program);
    hd_vector_free(&program.file);
    return good;
}

static bool hear_file(struct worker *worker, struct hd_unpack *in) {
    char hash[HD_KEY_TEXT], really[HD_KEY_TEXT];
    snprintf(hash, sizeof hash, "%.32s", hd_unpack_text(in));
    size_t count;
    const char *bytes = hd_unpack_bytes(in, &count);
    if (bytes == NULL) return false;
    campaign_hash(bytes, count, 0, really);
    if (strcmp(hash, really) != 0) return false;
    for (uint32_t i = 0; i < worker->program.size; i++) {
        struct own_program *own = worker->program.data[i];
        bool new = false;
        for (size_t k = 0; k < own->files; k++) {
            struct own_file *file = &own->file[k];
            if (file->place != NULL || strcmp(file->hash, hash) != 0) continue;
            file->place = campaign_copy_make(hash, file->name, bytes, count);
            if (file->place == NULL) return false;
            new = true;
        }
        if (new && !own->ready) make_ready(worker, i);
    }
    return true;
}

static bool hear_news(const struct worker *worker, struct hd_unpack *in) {
    const struct hd_errand_kind *kind = worker->options->kind;
    size_t count;
    const char *bytes = hd_unpack_bytes(in, &count);
    if (bytes == NULL || kind == NULL || kind->told == NULL) return false;
    kind->told(kind->context, bytes, count);
    return true;
}

static bool hear_jobs(struct worker *worker, struct hd_unpack *in) {
    bool now = hd_unpack_number(in) != 0;
    uint64_t count = hd_unpack_number(in);
    for (uint64_t i = 0; i < count; i++) {
        struct campaign_task task;
        if (!message_task(in, &task)) return false;
        struct own_program *own = program_at(worker, task.program);
        if (own->ready)
            campaign_pool_put(worker->pool, &task, now);
        else
            hd_vector_push(&own->held, task);
    }
    return in->good;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* False: it makes no sense, or a file can't be kept. */
static bool hear(struct worker *worker, bool *any) {
    unsigned from;
    size_t count;
    char *bytes = hd_mpi_receive(&from, &count);
    *any = bytes != NULL;
    if (bytes == NULL) return true;
    bytes[count] = '\0';
    struct hd_unpack in = hd_unpack_begin(bytes, count);
    bool good = true;
    worker->heard = hd_seconds_now();
    switch (hd_unpack_number(&in)) {
    case MESSAGE_PROGRAM:
        good = hear_program(worker, &in);
        break;
    case MESSAGE_FILE:
        good = hear_file(worker, &in);
        break;
    case MESSAGE_JOBS:
        good = hear_jobs(worker, &in);
        break;
    case MESSAGE_TELL:
        good = hear_news(worker, &in);
        break;
    case MESSAGE_STOP:
        worker->stopped = true;
        break;
    default:
        break;
    }
    free(bytes);
    return good;
}

static void beat(struct worker *worker) {
    double now = hd_seconds_now();
    unsigned silence = hd_campaign_silence(worker->options);
    if (now - worker->heard > silence) {
        if (worker->options->lost != NULL)
            worker->options->lost("the coordinator was not heard of for too long");
        hd_mpi_abort();
    }
    if (now < worker->next_beat) return;
    worker->next_beat = now + 1;
    struct hd_packed message = message_new(MESSAGE_BEAT);
    message_send(&message, 0);
}

static void say_hello(const struct worker *worker) {
    char name[256] = "";
    if (gethostname(name, sizeof name - 1) != 0) snprintf(name, sizeof name, "somewhere");
    struct hd_packed message = message_new(MESSAGE_HELLO);
    hd_pack_text(&message, name);
    hd_pack_number(&message, worker->options->at_once > 0 ? worker->options->at_once : 1);
    message_send(&message, 0);
}

static void work(struct worker *worker) {
    say_hello(worker);
    for (unsigned idle = 0; !worker->stopped; idle++) {
        bool any = true;
        while (any && !worker->stopped)
            if (!hear(worker, &any)) {
                if (worker->options->lost != NULL)
                    worker->options->lost("what the coordinator sent can't be used: is its heddle "
                                          "another version, or the disk full?");
                hd_mpi_abort();
            } else if (any) {
                idle = 0;
            }
        if (send_results(worker)) idle = 0;
        hd_mpi_sending();
        beat(worker);
        if (idle > 0) usleep(idle < 20 ? 50 : 500);
    }
}

static void free_worker(struct worker *worker) {
    for (size_t i = 0; i < worker->outbox.size; i++) hd_vector_free(&worker->outbox.data[i].bytes);
    hd_vector_free(&worker->outbox);
    for (size_t i = 0; i < worker->program.size; i++) {
        struct own_program *own = worker->program.data[i];
        for (size_t k = 0; k < own->files; k++) {
            free(own->file[k].name);
            free(own->file[k].place);
        }
        for (size_t k = 0; k < own->held.size; k++) free(own->held.data[k].text);
        hd_vector_free(&own->held);
        free(own->file);
        if (own->told) hd_job_free(&own->job);
        free(own);
    }
    hd_vector_free(&worker->program);
    pthread_mutex_destroy(&worker->lock);
}

bool hd_campaign_is_worker(void) { return hd_mpi_is_there() && hd_mpi_rank() > 0; }

bool hd_campaign_work(const struct hd_campaign_options *options, struct hd_error *error) {
    struct worker worker = {.options = options, .heard = hd_seconds_now()};
    unsigned ranks;
    if (!hd_mpi_begin(&ranks, error)) return false;
    pthread_mutex_init(&worker.lock, NULL);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned at_once = options->at_once > 0 ? options->at_once : 1;
    struct campaign_pool_options how = {.at_once = at_once,
                                        .crowd = 1 + (at_once * hd_mpi_ranks_here() - 1) /
                                                         (cores > 0 ? (unsigned)cores : 1),
                                        .no_server = options->no_server,
                                        .host = options->host,
                                        .kind = options->kind,
                                        .done = done,
                                        .context = &worker};
    worker.pool = campaign_pool_new(&how);
    worker.heard = hd_seconds_now();
    work(&worker);
    if (options->kind != NULL && options->kind->over != NULL)
        options->kind->over(options->kind->context);
    campaign_pool_free(worker.pool);
    /* Results that nobody waits for; the coordinator takes until all have ended. */
    while (hd_mpi_sending() > 0) usleep(100);
    free_worker(&worker);
    hd_mpi_end();
    return true;
}
