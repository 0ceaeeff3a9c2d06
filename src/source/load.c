/* Loads a program: gives its units to helper processes (heddle-clang), several at once, and reads
 * what they send in the order of the units, so that the result does not depend on who was faster.
 */
#include "base/alloc.h"
#include "base/progress.h"
#include "source/build.h"
#include "source/cache.h"
#include "source/helper.h"
#include "source/unit.h"
#include "source/worker.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NO_JOB UINT32_MAX

struct worker {
    struct hd_helper helper;
    uint32_t job; /* that it reads; NO_JOB */
};

struct job {
    char *text; /* NULL until it is read, and afterwards */
    size_t length;
    bool done, cached;
    bool asked; /* somebody else was asked for it */
    uint32_t ticket;
};

struct loader {
    const struct hd_source_request *request;
    struct hd_source *source;
    struct hd_error *error;
    char *helper;
    struct hd_database database;
    struct hd_source_cache cache;
    struct worker *worker;
    unsigned workers;
    struct job *job;
    uint32_t next, taken; /* the next to give away; the next to take into the program */
    uint32_t finished;
    HD_VECTOR(uint32_t) left; /* by others: to be read here */
};

bool hd_source_available(struct hd_error *error) {
    char *helper = hd_helper_find(error);
    bool there = helper != NULL;
    free(helper);
    return there;
}

/* ---- results
 * --------------------------------------------------------------------------------------- */

/* What the helper sent can't be read: that is a fault of heddle's, and costs the unit. */
static void spoil(struct loader *loader, const char *path, size_t units,
                  const struct hd_error *error) {
    struct hd_source *source = loader->source;
    uint32_t message = hd_source_text_add(source, error->message);
    if (source->unit.size == units) {
        struct hd_source_unit unit = {
            .file = hd_source_file_add(source, hd_source_text_add(source, path))};
        source->file.data[unit.file].header = false;
        hd_vector_push(&source->unit, unit);
    }
    source->unit.data[units].state = HD_UNIT_LOST;
    source->unit.data[units].message = message;
}

/* Takes what is there of the front of the list into the program. */
static void take_results(struct loader *loader) {
    while (loader->taken < loader->database.command.size && loader->job[loader->taken].done) {
        struct job *job = &loader->job[loader->taken];
        const char *path = loader->database.command.data[loader->taken].path;
        size_t units = loader->source->unit.size;
        struct hd_error error;
        if (!hd_source_read_text(loader->source, path, job->text, job->length, &error))
            spoil(loader, path, units, &error);
        free(job->text);
        job->text = NULL;
        if (loader->source->unit.size > units)
            loader->source->unit.data[units].cached = job->cached;
        loader->taken++;
    }
}

static void finish(struct loader *loader, uint32_t number, char *text, size_t length) {
    loader->job[number].text = text;
    loader->job[number].length = length;
    loader->job[number].done = true;
    hd_progress_step(loader->request->progress, ++loader->finished);
}

/* The helper ended while it read the unit: the unit is lost, the others are not. */
static void lose(struct loader *loader, uint32_t number, int status) {
    struct hd_source lost = {0};
    char message[100];
    if (WIFSIGNALED(status))
        snprintf(message, sizeof message, "the parser crashed: %s", strsignal(WTERMSIG(status)));
    else
        snprintf(message, sizeof message, "the parser ended with status %d", WEXITSTATUS(status));
    const char *path = loader->database.command.data[number].path;
    struct hd_source_unit unit = {.file =
                                      hd_source_file_add(&lost, hd_source_text_add(&lost, path)),
                                  .state = HD_UNIT_LOST,
                                  .message = hd_source_text_add(&lost, message)};
    hd_vector_push(&lost.unit, unit);
    size_t length;
    char *text = hd_source_write_text(&lost, &length);
    hd_source_free(&lost);
    finish(loader, number, text, length);
}

static bool send_job(struct loader *loader, struct worker *worker, uint32_t number) {
    struct hd_packed job = {.bytes = {0}};
    hd_unit_job(&job, &loader->database.command.data[number], loader->request->method);
    worker->job = number;
    bool good = hd_worker_send(worker->helper.fd, job.bytes.data, job.bytes.size);
    hd_vector_free(&job.bytes);
    return good;
}

/* What a helper sent; if it broke off instead, its unit is lost. */
static void receive(struct loader *loader, struct worker *worker) {
    char *depends = NULL, *text = NULL;
    size_t depends_length, length;
    uint32_t number = worker->job;
    if (!hd_worker_receive(worker->helper.fd, &depends, &depends_length) ||
        !hd_worker_receive(worker->helper.fd, &text, &length)) {
        free(depends);
        worker->job = NO_JOB;
        lose(loader, number, hd_helper_end(&worker->helper));
        return;
    }
    if (hd_unit_is_good(text))
        hd_source_cache_put(&loader->cache, &loader->database.command.data[number], depends,
                            depends_length, text);
    free(depends);
    worker->job = NO_JOB;
    finish(loader, number, text, length);
}

/* The next unit that is not in the cache; NO_JOB if there is none. */
static uint32_t next_job(struct loader *loader) {
    if (loader->left.size > 0) return loader->left.data[--loader->left.size];
    while (loader->next < loader->database.command.size) {
        uint32_t number = loader->next++;
        size_t length;
        char *text =
            hd_source_cache_get(&loader->cache, &loader->database.command.data[number], &length);
        if (text == NULL) return number;
        loader->job[number].cached = true;
        finish(loader, number, text, length);
    }
    return NO_JOB;
}

static bool give_work(struct loader *loader) {
    for (unsigned i = 0; i < loader->workers; i++) {
        struct worker *worker = &loader->worker[i];
        if (worker->helper.pid != 0 && worker->job != NO_JOB) continue;
        uint32_t number = next_job(loader);
        if (number == NO_JOB) return true;
        if (worker->helper.pid == 0 &&
            !hd_helper_start(&worker->helper, loader->helper, loader->error))
            return false;
        if (!send_job(loader, worker, number)) {
            worker->job = NO_JOB;
            lose(loader, number, hd_helper_end(&worker->helper));
        }
    }
    return true;
}

/* Waits until a helper has something to say. False if all are idle. */
static bool wait_for_results(struct loader *loader) {
    struct pollfd *fds = hd_zalloc(loader->workers, sizeof *fds);
    unsigned busy = 0;
    for (unsigned i = 0; i < loader->workers; i++) {
        const struct worker *worker = &loader->worker[i];
        bool working = worker->helper.pid != 0 && worker->job != NO_JOB;
        fds[i] = (struct pollfd){.fd = working ? worker->helper.fd : -1, .events = POLLIN};
        if (working) busy++;
    }
    if (busy > 0 && poll(fds, loader->workers, -1) > 0)
        for (unsigned i = 0; i < loader->workers; i++)
            if (fds[i].revents != 0) receive(loader, &loader->worker[i]);
    free(fds);
    return busy > 0;
}

/* ---- elsewhere ---------------------------------------------------------------------------------
 */

static void take_from_others(struct loader *loader, uint32_t number) {
    const struct hd_errands *others = loader->request->elsewhere;
    struct hd_error ignored;
    struct hd_packed depends = {.bytes = {0}};
    char *result = NULL, *text = NULL;
    size_t bytes, length;
    if (others->take(others->context, loader->job[number].ticket, INFINITY, &result, &bytes,
                     &ignored) == HD_TAKEN)
        text = hd_unit_take(&loader->cache, result, bytes, &length, &depends);
    free(result);
    if (text != NULL) {
        hd_source_cache_put(&loader->cache, &loader->database.command.data[number],
                            depends.bytes.data, depends.bytes.size, text);
        finish(loader, number, text, length);
    } else {
        hd_vector_push(&loader->left, number);
        loader->source->read_here++;
    }
    hd_vector_free(&depends.bytes);
}

/* What they can't read as we would is left. */
static void ask_others(struct loader *loader) {
    const struct hd_errands *others = loader->request->elsewhere;
    for (uint32_t number; (number = next_job(loader)) != NO_JOB;) {
        struct hd_packed job = {.bytes = {0}};
        hd_unit_job(&job, &loader->database.command.data[number], loader->request->method);
        loader->job[number].ticket = others->ask(others->context, job.bytes.data, job.bytes.size);
        loader->job[number].asked = true;
        hd_vector_free(&job.bytes);
    }
    for (uint32_t i = 0; i < loader->database.command.size; i++) {
        if (loader->job[i].asked) take_from_others(loader, i);
        take_results(loader);
    }
}

/* ---- all units ---------------------------------------------------------------------------------
 */

static bool run(struct loader *loader) {
    if (loader->request->elsewhere != NULL) ask_others(loader);
    for (;;) {
        if (!give_work(loader)) return false;
        /* While the helpers work. */
        take_results(loader);
        if (loader->taken == loader->database.command.size) return true;
        wait_for_results(loader);
    }
}

static unsigned how_many(const struct hd_source_request *request, size_t units) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t jobs = request->jobs != 0 ? request->jobs : (size_t)(cores > 0 ? cores : 1);
    return (unsigned)(jobs < units ? jobs : units);
}

bool hd_source_load(const struct hd_source_request *request, struct hd_source *source,
                    struct hd_error *error) {
    struct loader loader = {
        .request = request, .source = source, .error = error, .helper = hd_helper_find(error)};
    if (loader.helper == NULL) return false;
    if (!hd_database_open(request, &loader.database, error)) {
        free(loader.helper);
        return false;
    }
    size_t units = loader.database.command.size;
    loader.workers = how_many(request, units);
    loader.worker = hd_zalloc(loader.workers, sizeof *loader.worker);
    loader.job = hd_zalloc(units, sizeof *loader.job);
    hd_source_cache_open(&loader.cache, request->cache, loader.helper, request->method);
    hd_progress_start(request->progress, "reading sources", units);
    bool good = run(&loader);
    for (unsigned i = 0; i < loader.workers; i++)
        if (loader.worker[i].helper.pid != 0) hd_helper_end(&loader.worker[i].helper);
    hd_vector_free(&loader.left);
    for (size_t i = 0; i < units; i++) free(loader.job[i].text);
    hd_source_cache_close(&loader.cache);
    hd_database_free(&loader.database);
    free(loader.worker);
    free(loader.job);
    free(loader.helper);
    if (good) hd_source_resolve(source);
    return good;
}
