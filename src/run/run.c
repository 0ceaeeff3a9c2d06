/* Runs the program under test once. See run.h. */
#define _GNU_SOURCE
#include "run/run.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/map.h"
#include "run/oracle.h"
#include "run/process.h"
#include "run/recorder.h"
#include "run/standstill.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#define MOST_OUTPUT (256ull << 20)
#define STILL_NS 500000000u /* without any thread running: nobody will */
#define STILL_FIRST_NS 200000000u
#define STILL_EVERY_NS 100000000u
#define ERROR_KEPT (1u << 20) /* of standard error, for the judge: its first and its last bytes */

char *hd_quote_command(char *const *argv) {
    static const char plain_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789_-./=:,+@%";
    size_t bytes = 1;
    for (char *const *word = argv; *word != NULL; word++) bytes += 4 * strlen(*word) + 3;
    char *text = hd_alloc(1, bytes), *at = text;
    for (char *const *word = argv; *word != NULL; word++) {
        bool plain = **word != '\0' && strspn(*word, plain_letters) == strlen(*word);
        if (at != text) *at++ = ' ';
        if (!plain) *at++ = '\'';
        for (const char *c = *word; *c != '\0'; c++) {
            if (*c == '\'')
                at = stpcpy(at, "'\\''");
            else
                *at++ = *c;
        }
        if (!plain) *at++ = '\'';
    }
    *at = '\0';
    return text;
}

/* ---- while it runs -------------------------------------------------------------------------- */

struct watch {
    const struct hd_program *program;
    const struct hd_host *host;
    int output, error;
    uint64_t start, told[2]; /* bytes of each stream that `echo` has been told */
    struct hd_standstill still;
    uint64_t next_look; /* at whether it stands still */
    bool timed_out, flooded, stuck;
};

static uint64_t size_of(int fd) {
    struct stat about;
    return fstat(fd, &about) == 0 ? (uint64_t)about.st_size : 0;
}

static void echo(struct watch *watch, int stream) {
    if (watch->host->echo == NULL) return;
    int fd = stream == 1 ? watch->output : watch->error;
    uint64_t *told = &watch->told[stream - 1];
    char bytes[16384];
    ssize_t n;
    while ((n = pread(fd, bytes, sizeof bytes, (off_t)*told)) > 0) {
        watch->host->echo(watch->host->context, stream, bytes, (size_t)n);
        *told += (uint64_t)n;
    }
}

static bool look(void *context, pid_t process) {
    struct watch *watch = context;
    const struct hd_program *program = watch->program;
    echo(watch, 1);
    echo(watch, 2);
    uint64_t most = program->most_output ? program->most_output : MOST_OUTPUT;
    watch->flooded = size_of(watch->output) > most || size_of(watch->error) > most;
    uint64_t now = hd_now_ns();
    watch->timed_out = program->limit_ms != 0 && now - watch->start > program->limit_ms * 1000000u;
    if (now >= watch->next_look) {
        watch->next_look = now + STILL_EVERY_NS;
        watch->stuck = hd_standstill_ns(&watch->still, process, now) > STILL_NS;
    }
    return !watch->flooded && !watch->timed_out && !watch->stuck;
}

/* ---- afterwards ----------------------------------------------------------------------------- */

char *hd_result_text(const struct hd_result *run, int stream, size_t most, size_t *bytes) {
    int fd = stream == 1 ? run->output : run->error;
    uint64_t size = size_of(fd);
    if (size > most) size = most;
    char *text = hd_alloc(1, (size_t)size + 1);
    *bytes = 0;
    while (*bytes < size) {
        ssize_t n = pread(fd, text + *bytes, (size_t)size - *bytes, (off_t)*bytes);
        if (n <= 0) break;
        *bytes += (size_t)n;
    }
    text[*bytes] = '\0';
    return text;
}

/* The first and the last bytes of standard error, as one text. */
static char *error_text(const struct hd_result *run, size_t *bytes) {
    if (run->error_bytes <= 2 * ERROR_KEPT) return hd_result_text(run, 2, 2 * ERROR_KEPT, bytes);
    char *text = hd_alloc(2, ERROR_KEPT);
    ssize_t first = pread(run->error, text, ERROR_KEPT, 0);
    if (first < 0) first = 0;
    ssize_t last =
        pread(run->error, text + first, ERROR_KEPT, (off_t)(run->error_bytes - ERROR_KEPT));
    *bytes = (size_t)first + (size_t)(last > 0 ? last : 0);
    return text;
}

static uint64_t hash_of(int fd) {
    XXH3_state_t *state = XXH3_createState();
    if (state == NULL) hd_out_of_memory();
    XXH3_64bits_reset(state);
    char bytes[65536];
    off_t at = 0;
    ssize_t n;
    while ((n = pread(fd, bytes, sizeof bytes, at)) > 0) {
        XXH3_64bits_update(state, bytes, (size_t)n);
        at += n;
    }
    uint64_t hash = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return hash;
}

/* A sum over lines that does not know their order. */
static bool lines_of(int fd, uint64_t *sum) {
    enum { FIRST = 0xcbf29ce4 };
    char bytes[65536];
    uint64_t line = FIRST;
    bool open = false;
    off_t at = 0;
    ssize_t n;
    *sum = 0;
    while ((n = pread(fd, bytes, sizeof bytes, at)) > 0) {
        at += n;
        for (ssize_t i = 0; i < n; i++) {
            open = bytes[i] != '\n';
            line = open ? (line ^ (unsigned char)bytes[i]) * 1099511628211u : line;
            if (!open) *sum += hd_mix64(line);
            if (!open) line = FIRST;
        }
    }
    if (open) *sum += hd_mix64(line);
    return n == 0;
}

bool hd_output_mark(int fd, bool lines, char mark[HD_OUTPUT_MARK]) {
    uint64_t sum = 0;
    bool good = true;
    if (lines)
        good = lines_of(fd, &sum);
    else
        sum = hash_of(fd);
    snprintf(mark, HD_OUTPUT_MARK, "%s:%016llx", lines ? "lines" : "bytes",
             (unsigned long long)sum);
    return good;
}

bool hd_is_output_mark(const char *text) {
    return (strncmp(text, "lines:", 6) == 0 || strncmp(text, "bytes:", 6) == 0) &&
           strlen(text) == 22 && strspn(text + 6, "0123456789abcdef") == 16;
}

/* Compares what the program wrote with a file. */
static bool compare_output(int fd, const char *path, struct hd_outcome_facts *facts,
                           struct hd_error *error) {
    int other = open(path, O_RDONLY | O_CLOEXEC);
    if (other < 0)
        return hd_fail(error, HD_ERR_IO, "cannot open the reference output %s: %s", path,
                       strerror(errno));
    char mine[16384], wanted[16384];
    uint64_t at = 0;
    facts->compared = true;
    for (;;) {
        ssize_t a = pread(fd, mine, sizeof mine, (off_t)at);
        ssize_t b = pread(other, wanted, sizeof wanted, (off_t)at);
        if (a < 0) a = 0;
        if (b < 0) b = 0;
        ssize_t same = 0;
        while (same < a && same < b && mine[same] == wanted[same]) same++;
        at += (uint64_t)same;
        if (same < a || same < b) {
            facts->differs = true;
            facts->differs_at = at;
            break;
        }
        if (a == 0) break;
    }
    close(other);
    return true;
}

static bool judge(const struct hd_program *program, struct hd_result *run,
                  const struct watch *watch, struct hd_error *error) {
    bool fault = run->end.runtime_fault;
    char *words = watch->host->runtime_fault;
    if (fault && words != NULL && words[0] == '\0')
        snprintf(words, HD_FAULT_WORDS, "%.255s", run->end.missing);
    struct hd_outcome_facts facts = {.wait_status = run->wait_status,
                                     .runtime_fault = fault ? run->end.missing : NULL,
                                     .deadlocked = run->end.deadlocked || watch->stuck,
                                     .timed_out = watch->timed_out,
                                     .flooded = watch->flooded,
                                     .limit_ms = program->limit_ms,
                                     .good_status = program->good_status};
    char *text = error_text(run, &facts.error_bytes);
    facts.error_text = text;
    bool ok = true;
    if (WIFEXITED(run->wait_status)) {
        if (program->oracle != NULL) {
            facts.asked_oracle = true;
            ok = hd_oracle_ask(program, run, &facts.oracle_status, error);
        } else if (program->output_like != NULL) {
            ok = compare_output(run->output, program->output_like, &facts, error);
        } else if (program->good_output != NULL) {
            char mark[HD_OUTPUT_MARK];
            facts.compared = hd_output_mark(run->output, program->good_output[0] == 'l', mark);
            facts.differs = strcmp(mark, program->good_output) != 0;
            facts.differs_at = UINT64_MAX;
        }
    }
    if (ok) hd_outcome_judge(&facts, &run->outcome);
    free(text);
    return ok;
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

static bool record(const struct hd_job *job, const char *command, struct watch *watch,
                   struct hd_result *run, int input, struct hd_error *error) {
    const struct hd_program *program = &job->program;
    size_t plan_bytes;
    void *plan = hd_steering_plan(&job->steering, &plan_bytes);
    int descriptors[3] = {input < 0 ? STDIN_FILENO : input, run->output, run->error};
    struct hd_record_options options = {
        .output = run->trace_path[0] != '\0' ? run->trace_path : "/dev/null",
        .command = command,
        .argv = program->argv,
        .wire = hd_steering_options(&job->steering),
        .keep_aslr = program->keep_aslr,
        .library_directory = watch->host->library_directory,
        .plan = plan,
        .plan_bytes = plan_bytes,
        .descriptors = descriptors,
        .apart = true,
        .foreground = input < 0 && isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp(),
        .plain = job->steering.scheduler == HD_SCHED_OFF,
        .look = look,
        .context = watch};
    struct hd_record_result *result = hd_alloc(1, sizeof *result);
    struct hd_children before;
    hd_children_adopt(&before);
    watch->start = hd_now_ns();
    watch->next_look = watch->start + STILL_FIRST_NS;
    bool ok = hd_record(&options, result, error);
    run->nanoseconds = hd_now_ns() - watch->start;
    hd_children_sweep(&before);
    echo(watch, 1);
    echo(watch, 2);
    run->wait_status = result->wait_status;
    run->interrupted = result->interrupted;
    if (!result->stopped) watch->timed_out = watch->flooded = watch->stuck = false;
    memcpy(run->answer, result->answer, sizeof run->answer);
    if (ok && result->count > 0) {
        run->recorded = true;
        run->end = result->recorded[0].end;
        run->wire_events = result->recorded[0].wire_events;
        run->threads = result->recorded[0].threads;
    } else if (ok && job->steering.scheduler != HD_SCHED_OFF && !run->interrupted &&
               !result->stopped) {
        ok = hd_fail(error, HD_ERR_USAGE,
                     "%s is not linked with `heddle cc` or `heddle c++`, so its threads can't be "
                     "steered",
                     program->argv[0]);
    }
    /* Ctrl-C at a terminal that the program had for itself. */
    if (options.foreground && WIFSIGNALED(run->wait_status) && !result->stopped &&
        (WTERMSIG(run->wait_status) == SIGINT || WTERMSIG(run->wait_status) == SIGQUIT))
        run->interrupted = WTERMSIG(run->wait_status);
    hd_record_result_free(result);
    free(result);
    free(plan);
    return ok;
}

bool hd_run(const struct hd_job *job, const struct hd_host *host, struct hd_result *result,
            struct hd_error *error) {
    static const struct hd_host usual;
    if (host == NULL) host = &usual;
    *result = (struct hd_result){.output = -1, .error = -1, .trace = -1};
    char *command = hd_quote_command(job->program.argv);
    int input = -1;
    bool ok = open_files(job, host, result, &input, error);
    if (ok) {
        struct watch watch = {.program = &job->program,
                              .host = host,
                              .output = result->output,
                              .error = result->error};
        ok = record(job, command, &watch, result, input, error);
        if (ok && !result->interrupted) {
            result->output_bytes = size_of(result->output);
            result->error_bytes = size_of(result->error);
            result->output_hash = hash_of(result->output);
            ok = judge(&job->program, result, &watch, error);
        }
        if (ok && !result->interrupted && job->steering.scheduler != HD_SCHED_OFF &&
            job->steering.policy == HD_POLICY_REPLAY)
            hd_replay_judge(&job->steering, result);
    }
    if (input >= 0) close(input);
    free(command);
    if (!ok) hd_result_free(result);
    return ok;
}

void hd_result_free(struct hd_result *run) {
    if (run->output >= 0) close(run->output);
    if (run->error >= 0) close(run->error);
    if (run->trace >= 0) close(run->trace);
    run->output = run->error = run->trace = -1;
    run->trace_path[0] = '\0';
}

bool hd_result_keep_trace(const struct hd_result *run, const char *path, struct hd_error *error) {
    int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (to < 0) return hd_fail(error, HD_ERR_IO, "cannot write %s: %s", path, strerror(errno));
    off_t at = 0;
    char bytes[65536];
    ssize_t n;
    bool good = true;
    while (good && (n = pread(run->trace, bytes, sizeof bytes, at)) > 0) {
        for (ssize_t done = 0; good && done < n;) {
            ssize_t wrote = write(to, bytes + done, (size_t)(n - done));
            good = wrote > 0 || (wrote < 0 && errno == EINTR);
            if (wrote > 0) done += wrote;
        }
        at += n;
    }
    int why = errno;
    if (close(to) != 0 && good) {
        good = false;
        why = errno;
    }
    if (good) return true;
    unlink(path);
    return hd_fail(error, HD_ERR_IO, "cannot write %s: %s", path, strerror(why));
}
