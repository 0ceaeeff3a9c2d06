/* Workers that share out items by a counter. */
#include "engine/crew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* Items taken at once. */
#define BATCH 8u

struct shift {
    const struct hd_crew *crew;
    atomic_uint next, done;
    atomic_bool failed;
};

struct worker {
    struct shift *shift;
    void *own;
    struct hd_error error;
    bool failed;
    pthread_t thread;
};

static bool take_batch(struct worker *worker, struct hd_progress *progress) {
    struct shift *shift = worker->shift;
    const struct hd_crew *crew = shift->crew;
    if (atomic_load(&shift->failed) || atomic_load(&shift->next) >= crew->items) return false;
    uint32_t from = atomic_fetch_add(&shift->next, BATCH);
    for (uint32_t i = from; i < crew->items && i - from < BATCH; i++) {
        hd_progress_step(progress, atomic_load(&shift->done));
        if (!crew->work(crew->context, worker->own, i, &worker->error)) {
            worker->failed = true;
            atomic_store(&shift->failed, true);
            return false;
        }
        atomic_fetch_add(&shift->done, 1);
    }
    return true;
}

static void *run_worker(void *argument) {
    while (take_batch(argument, NULL)) continue;
    return NULL;
}

static unsigned jobs_for(const struct hd_crew *crew) {
    unsigned jobs = crew->jobs;
    if (jobs == 0) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        jobs = cores > 0 ? (unsigned)cores : 1;
    }
    return jobs > crew->items / BATCH + 1 ? crew->items / BATCH + 1 : jobs;
}

bool hd_crew_run(const struct hd_crew *crew, unsigned *started, struct hd_error *error) {
    unsigned jobs = jobs_for(crew), workers = 0, running = 1;
    struct shift shift = {.crew = crew};
    struct worker *worker = calloc(jobs, sizeof *worker);
    bool done = worker != NULL;
    for (; done && workers < jobs; workers++) {
        worker[workers].shift = &shift;
        worker[workers].own = crew->begin(crew->context);
        if (worker[workers].own == NULL) done = false;
    }
    if (!done) hd_fail(error, HD_ERR_MEMORY, "out of memory");
    hd_progress_start(crew->progress, crew->what, crew->items);
    for (; done && running < workers; running++) /* fewer threads are fine too */
        if (pthread_create(&worker[running].thread, NULL, run_worker, &worker[running]) != 0) break;
    /* The first worker is this thread, which also reports progress. */
    while (done && take_batch(&worker[0], crew->progress)) continue;
    for (unsigned i = 1; done && i < running; i++) pthread_join(worker[i].thread, NULL);
    if (started != NULL) *started = done ? running : 0;
    for (unsigned i = 0; i < workers; i++) {
        if (worker[i].failed && done) {
            *error = worker[i].error;
            done = false;
        }
        if (worker[i].own != NULL) crew->end(crew->context, worker[i].own);
    }
    free(worker);
    return done;
}
