/* Workers that share out items by a counter. */
#include "base/workers.h"

#include "base/alloc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* Items taken at once. */
#define BATCH 8u

/* What the workers share. */
struct queue {
    const struct hd_workers *workers;
    atomic_uint next, done;
    atomic_bool failed;
};

struct worker {
    struct queue *queue;
    void *own;
    struct hd_error error;
    bool failed;
    pthread_t thread;
};

static bool take_batch(struct worker *worker, struct hd_progress *progress) {
    struct queue *queue = worker->queue;
    const struct hd_workers *workers = queue->workers;
    if (atomic_load(&queue->failed) || atomic_load(&queue->next) >= workers->items) return false;
    uint32_t from = atomic_fetch_add(&queue->next, BATCH);
    for (uint32_t i = from; i < workers->items && i - from < BATCH; i++) {
        hd_progress_step(progress, atomic_load(&queue->done));
        if (!workers->work(workers->context, worker->own, i, &worker->error)) {
            worker->failed = true;
            atomic_store(&queue->failed, true);
            return false;
        }
        atomic_fetch_add(&queue->done, 1);
    }
    return true;
}

static void *run_worker(void *argument) {
    while (take_batch(argument, NULL)) continue;
    return NULL;
}

static unsigned jobs_for(const struct hd_workers *workers) {
    unsigned jobs = workers->jobs;
    if (jobs == 0) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        jobs = cores > 0 ? (unsigned)cores : 1;
    }
    return jobs > workers->items / BATCH + 1 ? workers->items / BATCH + 1 : jobs;
}

bool hd_workers_run(const struct hd_workers *workers, unsigned *started, struct hd_error *error) {
    if (workers->sharing != NULL && workers->items > 0) {
        if (started != NULL) *started = 1;
        return workers->sharing->run(workers->sharing->context, workers, error);
    }
    unsigned jobs = jobs_for(workers), running = 1;
    struct queue queue = {.workers = workers};
    struct worker *worker = hd_zalloc(jobs, sizeof *worker);
    for (unsigned i = 0; i < jobs; i++) {
        worker[i].queue = &queue;
        worker[i].own = workers->begin(workers->context);
    }
    hd_progress_start(workers->progress, workers->what, workers->items);
    for (; running < jobs; running++) /* fewer threads are fine too */
        if (pthread_create(&worker[running].thread, NULL, run_worker, &worker[running]) != 0) break;
    /* The first worker is this thread, which also reports progress. */
    while (take_batch(&worker[0], workers->progress)) continue;
    for (unsigned i = 1; i < running; i++) pthread_join(worker[i].thread, NULL);
    if (started != NULL) *started = running;
    bool done = true;
    for (unsigned i = 0; i < jobs; i++) {
        if (worker[i].failed && done) {
            *error = worker[i].error;
            done = false;
        }
        workers->end(workers->context, worker[i].own);
    }
    free(worker);
    return done;
}
