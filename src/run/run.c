/* Runs the program under test once. See run.h. */
#define _GNU_SOURCE
#include "run/run.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "run/judge.h"
#include "run/observer.h"
#include "run/output.h"
#include "run/process.h"
#include "run/record.h"
#include "run/schedule.h"
#include "run/standstill.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_OUTPUT (256ull << 20)
#define STILL_FIRST_NS 200000000u
#define STILL_EVERY_NS 100000000u

/* ---- while it runs -------------------------------------------------------------------------- */

struct watch {
    const struct hd_program *program;
    const struct hd_host *host;
    int output, error;
    uint64_t echoed[2]; /* bytes of each stream that `echo` has got */
    struct hd_standstill still;
    uint64_t next_look; /* at whether it stands still */
    struct hd_end end;
    struct hd_result *result;
};

static void echo(struct watch *watch, int stream) {
    if (watch->host->echo == NULL) return;
    int fd = stream == 1 ? watch->output : watch->error;
    uint64_t *echoed = &watch->echoed[stream - 1];
    char bytes[16384];
    ssize_t n;
    while ((n = pread(fd, bytes, sizeof bytes, (off_t)*echoed)) > 0) {
        watch->host->echo(watch->host->context, stream, bytes, (size_t)n);
        *echoed += (uint64_t)n;
    }
}

static bool look(void *context, pid_t process) {
    struct watch *watch = context;
    const struct hd_program *program = watch->program;
    echo(watch, 1);
    echo(watch, 2);
    uint64_t most = program->most_output ? program->most_output : MOST_OUTPUT;
    watch->end.flooded =
        hd_output_bytes(watch->output) > most || hd_output_bytes(watch->error) > most;
    uint64_t now = hd_now_ns();
    if (now >= watch->next_look) {
        watch->next_look = now + STILL_EVERY_NS;
        watch->end.stuck = hd_standstill_ns(&watch->still, process, now) > HD_STILL_NS;
    }
    return !watch->end.flooded && !watch->end.stuck;
}

/* ---- the run -------------------------------------------------------------------------------- */

static bool open_files(const struct hd_job *job, const struct hd_host *host, struct hd_result *run,
                       int *input, struct hd_error *error) {
    const struct hd_program *program = &job->program;
    *input = -1;
    if (!host->inherit_input) {
        const char *path = program->input != NULL ? program->input : "/dev/null";
        *input = open(path, O_RDONLY | O_CLOEXEC);
        if (*input < 0)
            return hd_fail(error, HD_ERR_IO, "cannot open the program's input %s: %s", path,
                           strerror(errno));
    }
    run->output = hd_temporary_file();
    run->error = hd_temporary_file();
    bool traced = job->steering.scheduler != HD_SCHED_OFF && !job->steering.no_trace;
    if (traced) run->trace = hd_temporary_file();
    if (run->output < 0 || run->error < 0 || (traced && run->trace < 0))
        return hd_fail(error, HD_ERR_IO, "cannot make a temporary file: %s", strerror(errno));
    /* What is appended stays in one piece if the program's processes write at the same time. */
    fcntl(run->output, F_SETFL, O_APPEND);
    fcntl(run->error, F_SETFL, O_APPEND);
    if (traced) snprintf(run->trace_path, sizeof run->trace_path, "/proc/self/fd/%d", run->trace);
    return true;
}

/* A temporary file for a further process's trace. */
static char *name_trace(void *context, size_t number) {
    struct hd_result *result = ((struct watch *)context)->result;
    if (result->trace_path[0] == '\0') return hd_strdup("/dev/null");
    if (number == 0) return hd_strdup(result->trace_path);
    struct hd_result_trace other = {.fd = hd_temporary_file()};
    if (other.fd < 0) return NULL;
    snprintf(other.path, sizeof other.path, "/proc/self/fd/%d", other.fd);
    result->other = hd_realloc(result->other, result->others + (size_t)1, sizeof other);
    result->other[result->others++] = other;
    return hd_strdup(other.path);
}

/* A fault that no parent brings about on purpose. */
static bool is_crash(const struct hd_trace_end *end) {
    static const int fault[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; end->signaled && i < sizeof fault / sizeof *fault; i++)
        if (end->status == fault[i]) return true;
    return false;
}

/* Which process the result is about: the one that the schedule is for; else the first that went
 * wrong by itself, or the program. */
static size_t choose(const struct hd_job *job, const struct hd_record_result *recorded) {
    const struct hd_steering *steering = &job->steering;
    if (steering->scheduler != HD_SCHED_OFF && steering->policy == HD_POLICY_REPLAY)
        return steering->schedule->process < recorded->recorded.size ? steering->schedule->process
                                                                     : 0;
    for (size_t i = 0; i < recorded->recorded.size; i++) {
        const struct hd_trace_end *end = &recorded->recorded.data[i].end;
        if (end->deadlocked || (i > 0 && is_crash(end))) return i;
    }
    return 0;
}

/* Makes a further process's trace that of the result. */
static void take_trace(struct hd_result *result, const struct hd_record_result *recorded,
                       size_t number) {
    for (uint32_t i = 0; i < result->others; i++)
        result->other[i].wire_events = recorded->recorded.data[i + 1].wire_events;
    if (number == 0 || number > result->others) return;
    struct hd_result_trace *other = &result->other[number - 1], first = *other;
    snprintf(other->path, sizeof other->path, "/proc/self/fd/%d", result->trace);
    other->fd = result->trace;
    other->wire_events = recorded->recorded.data[0].wire_events;
    result->trace = first.fd;
    snprintf(result->trace_path, sizeof result->trace_path, "%s", first.path);
}

/* What the recording says, for the result. */
static bool take_result(const struct hd_job *job, const struct hd_record_result *recorded,
                        struct hd_result *result, struct hd_error *error) {
    result->wait_status = recorded->wait_status;
    result->interrupted = recorded->interrupted;
    memcpy(result->answer, recorded->answer, sizeof result->answer);
    result->forked = recorded->forked;
    result->child_threads = recorded->child_threads;
    if (recorded->recorded.size > 0) {
        size_t chosen = choose(job, recorded);
        const struct hd_recorded *program = &recorded->recorded.data[chosen];
        take_trace(result, recorded, chosen);
        memcpy(result->answer, program->answer, sizeof result->answer);
        if (chosen > 0 && is_crash(&program->end)) result->wait_status = program->end.status;
        result->process = (uint32_t)chosen;
        result->recorded = true;
        result->end = program->end;
        result->wire_events = program->wire_events;
        result->threads = program->threads;
        return true;
    }
    return job->steering.scheduler == HD_SCHED_OFF || recorded->interrupted || recorded->stopped ||
           recorded->timed_out ||
           hd_fail(error, HD_ERR_USAGE,
                   hd_is_privileged(job->program.argv[0])
                       ? "%s is a setuid or setgid program, and the loader keeps heddle's runtime "
                         "from it; run a copy without these bits"
                       : "%s is not linked with `heddle cc` or `heddle c++`, so its threads can't "
                         "be steered",
                   job->program.argv[0]);
}

static bool record(const struct hd_job *job, struct watch *watch, struct hd_observer *observer,
                   struct hd_result *result, int input, struct hd_error *error) {
    int descriptors[3] = {input < 0 ? STDIN_FILENO : input, result->output, result->error};
    struct hd_record_options options = {
        .job = job,
        .host = watch->host,
        .output = result->trace_path[0] != '\0' ? result->trace_path : "/dev/null",
        .descriptors = descriptors,
        .apart = true,
        .foreground = input < 0 && isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp(),
        .look = look,
        .name_trace = name_trace,
        .context = watch,
        .observer = observer};
    struct hd_record_result recorded;
    uint64_t start = hd_now_ns();
    watch->next_look = start + STILL_FIRST_NS;
    bool ok = hd_record(&options, &recorded, error);
    result->nanoseconds = hd_now_ns() - start;
    echo(watch, 1);
    echo(watch, 2);
    if (!recorded.stopped) watch->end = (struct hd_end){0};
    watch->end.timed_out = recorded.timed_out;
    ok = ok && take_result(job, &recorded, result, error);
    /* Ctrl-C at a terminal that the program had for itself. */
    if (options.foreground && WIFSIGNALED(recorded.wait_status) && !recorded.stopped &&
        (WTERMSIG(recorded.wait_status) == SIGINT || WTERMSIG(recorded.wait_status) == SIGQUIT))
        result->interrupted = WTERMSIG(recorded.wait_status);
    hd_record_result_free(&recorded);
    return ok;
}

static bool run(const struct hd_job *job, const struct hd_host *host, struct hd_observer *observer,
                struct hd_result *result, struct hd_error *error) {
    static const struct hd_host usual;
    if (host == NULL) host = &usual;
    *result = (struct hd_result){.output = -1, .error = -1, .trace = -1};
    int input = -1;
    bool ok = open_files(job, host, result, &input, error);
    if (ok) {
        struct watch watch = {.program = &job->program,
                              .host = host,
                              .output = result->output,
                              .error = result->error,
                              .result = result};
        ok = record(job, &watch, observer, result, input, error) &&
             (result->interrupted || hd_judge(job, host, &watch.end, result, error));
    }
    if (input >= 0) close(input);
    if (!ok) hd_result_free(result);
    return ok;
}

bool hd_run(const struct hd_job *job, const struct hd_host *host, struct hd_result *result,
            struct hd_error *error) {
    return run(job, host, NULL, result, error);
}

bool hd_run_checked(const struct hd_job *job, const struct hd_host *host,
                    const struct hd_checking *checking, struct hd_result *result,
                    struct hd_observed *observed, struct hd_error *error) {
    memset(observed, 0, sizeof *observed);
    struct hd_job checked = *job;
    checked.steering.check = true;
    checked.steering.check_waits = checking->wait && checking->violated != NULL;
    checked.steering.granularity = checking->granularity;
    checked.steering.no_trace = !checking->record;
    struct hd_observer observer = {.checking = checking, .observed = observed};
    return run(&checked, host, &observer, result, error);
}

void hd_result_free(struct hd_result *run) {
    if (run->output >= 0) close(run->output);
    if (run->error >= 0) close(run->error);
    if (run->trace >= 0) close(run->trace);
    run->output = run->error = run->trace = -1;
    for (uint32_t i = 0; i < run->others; i++) close(run->other[i].fd);
    free(run->other);
    run->other = NULL;
    run->others = 0;
    run->trace_path[0] = '\0';
}
