/* Jobs in threads. See pool.h. */
#include "campaign/pool.h"

#include "base/alloc.h"
#include "campaign/tasks.h"
#include "run/job.h"
#include "run/server.h"

#include <pthread.h>

struct campaign_pool {
    struct campaign_pool_options options;
    struct hd_host host;
    struct hd_interrupt stop;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct campaign_tasks waiting;
    HD_VECTOR(const struct hd_program *) program;
    bool closing;
    pthread_t *thread;
    unsigned threads;
};

/* The program that waits before its main is known by its strings' places: a job has to be of the
 * program itself, not of a copy. */
static bool find_program(struct campaign_pool *pool, const struct campaign_task *task,
                         struct hd_program *program, struct hd_error *error) {
    pthread_mutex_lock(&pool->lock);
    bool known = task->program < pool->program.size && pool->program.data[task->program] != NULL;
    if (known) *program = *pool->program.data[task->program];
    pthread_mutex_unlock(&pool->lock);
    program->limit_ms = task->limit_ms * pool->options.crowd;
    return known || hd_fail(error, HD_ERR_FORMAT, "a job is of an unknown program");
}

static bool prepare(struct campaign_pool *pool, const struct campaign_task *task,
                    struct hd_job *job, struct hd_error *error) {
    struct hd_program program;
    if (!find_program(pool, task, &program, error) ||
        !hd_job_read(task->text, task->text_bytes, "a job", job, error))
        return false;
    job->program = program;
    job->steering.patience_ms = task->patience_ms * pool->options.crowd;
    return true;
}

static void run(struct campaign_pool *pool, const struct hd_host *host,
                const struct campaign_task *task) {
    struct hd_job job;
    struct hd_result result;
    struct campaign_result kept = {.text = NULL};
    struct hd_error error = {.code = HD_OK};
    enum campaign_end end = CAMPAIGN_BROKEN;
    if (prepare(pool, task, &job, &error)) {
        struct hd_error ignored;
        hd_server_prepare(host->server, &job, host, &ignored);
        if (hd_run(&job, host, &result, &error)) {
            end = result.interrupted ? CAMPAIGN_STOPPED : CAMPAIGN_RAN;
            if (end == CAMPAIGN_RAN) campaign_result_from(&kept, &result, task->limit_ms);
            hd_result_free(&result);
        }
        hd_job_free(&job);
    }
    pool->options.done(pool->options.context, task->number, end, &kept, &error);
}

static void perform(struct campaign_pool *pool, const struct hd_host *host,
                    const struct campaign_task *task) {
    const struct hd_errand_kind *kind = pool->options.kind;
    struct hd_program subject;
    struct campaign_result kept = {.text = NULL};
    struct hd_error error = {.code = HD_OK};
    enum campaign_end end = CAMPAIGN_BROKEN;
    struct hd_errand errand = {&subject, host, task->text, task->text_bytes};
    struct hd_errand_done done = {.outcome = "passed"};
    if (find_program(pool, task, &subject, &error) &&
        kind->perform(kind->context, &errand, &done, &error)) {
        end = done.stopped ? CAMPAIGN_STOPPED : CAMPAIGN_RAN;
        if (end == CAMPAIGN_RAN) campaign_result_of(&kept, &done, task->limit_ms);
    }
    hd_vector_free(&done.result.bytes);
    pool->options.done(pool->options.context, task->number, end, &kept, &error);
}

static void *work(void *context) {
    struct campaign_pool *pool = context;
    struct hd_host host = pool->host;
    /* A program that waits ends with the thread that started it. */
    host.server =
        pool->options.no_server || pool->options.kind != NULL ? NULL : hd_server_new(NULL);
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (campaign_tasks_count(&pool->waiting) == 0 && !pool->closing)
            pthread_cond_wait(&pool->more, &pool->lock);
        if (pool->closing) break;
        struct campaign_task task = campaign_tasks_take(&pool->waiting);
        pthread_mutex_unlock(&pool->lock);
        (pool->options.kind != NULL ? perform : run)(pool, &host, &task);
        free(task.text);
        pthread_mutex_lock(&pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    hd_server_free(host.server);
    return NULL;
}

struct campaign_pool *campaign_pool_new(const struct campaign_pool_options *options) {
    struct campaign_pool *pool = hd_zalloc(1, sizeof *pool);
    pool->options = *options;
    pool->host = *options->host;
    pool->host.stop = &pool->stop;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->more, NULL);
    unsigned wanted = options->at_once > 0 ? options->at_once : 1;
    pool->thread = hd_alloc(wanted, sizeof *pool->thread);
    for (; pool->threads < wanted; pool->threads++) /* fewer are fine too */
        if (pthread_create(&pool->thread[pool->threads], NULL, work, pool) != 0) break;
    return pool;
}

void campaign_pool_program(struct campaign_pool *pool, uint32_t number,
                           const struct hd_program *program) {
    pthread_mutex_lock(&pool->lock);
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): a list of pointers */
    while (pool->program.size <= number) hd_vector_push(&pool->program, NULL);
    pool->program.data[number] = program;
    pthread_mutex_unlock(&pool->lock);
}

void campaign_pool_put(struct campaign_pool *pool, const struct campaign_task *task, bool now) {
    pthread_mutex_lock(&pool->lock);
    if (now)
        campaign_tasks_put(&pool->waiting, task, 0);
    else
        campaign_tasks_add(&pool->waiting, task);
    pthread_cond_signal(&pool->more);
    pthread_mutex_unlock(&pool->lock);
}

bool campaign_pool_cancel(struct campaign_pool *pool, uint32_t number) {
    pthread_mutex_lock(&pool->lock);
    size_t was;
    bool found = campaign_tasks_cancel(&pool->waiting, number, &was);
    pthread_mutex_unlock(&pool->lock);
    return found;
}

void campaign_pool_stop(struct campaign_pool *pool, int number) {
    pool->stop.signal = number;
    pool->stop.times = pool->stop.times + 1;
}

void campaign_pool_free(struct campaign_pool *pool) {
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_cond_broadcast(&pool->more);
    pthread_mutex_unlock(&pool->lock);
    campaign_pool_stop(pool, SIGKILL);
    for (unsigned i = 0; i < pool->threads; i++) pthread_join(pool->thread[i], NULL);
    campaign_tasks_free(&pool->waiting);
    hd_vector_free(&pool->program);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->more);
    free(pool->thread);
    free(pool);
}
