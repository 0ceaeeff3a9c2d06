/* Judges a run that is over. See judge.h. */
#define _GNU_SOURCE
#include "run/judge.h"

#include "base/alloc.h"
#include "run/oracle.h"
#include "run/output.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ERROR_KEPT (1u << 20) /* of standard error: its first and its last bytes */

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

/* The first of several runs that go on at once. */
static void keep_fault(const struct hd_host *host, const char *words) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (host->runtime_fault == NULL) return;
    pthread_mutex_lock(&lock);
    if (host->runtime_fault[0] == '\0')
        snprintf(host->runtime_fault, HD_FAULT_WORDS, "%.255s", words);
    pthread_mutex_unlock(&lock);
}

bool hd_judge(const struct hd_job *job, const struct hd_host *host, const struct hd_end *end,
              struct hd_result *run, struct hd_error *error) {
    const struct hd_program *program = &job->program;
    run->output_bytes = hd_output_bytes(run->output);
    run->error_bytes = hd_output_bytes(run->error);
    run->output_hash = hd_output_hash(run->output);
    if (run->end.runtime_fault) keep_fault(host, run->end.missing);
    struct hd_outcome_facts facts = {.wait_status = run->wait_status,
                                     .runtime_fault =
                                         run->end.runtime_fault ? run->end.missing : NULL,
                                     .misuse = run->end.misused ? run->end.misuse : NULL,
                                     .deadlocked = run->end.deadlocked || end->stuck,
                                     .child_stuck = run->end.child_stuck,
                                     .timed_out = end->timed_out,
                                     .flooded = end->flooded,
                                     .limit_ms = program->limit_ms,
                                     .good_status = program->good_status};
    char *text = error_text(run, &facts.error_bytes);
    facts.error_text = text;
    bool ok = true;
    if (WIFEXITED(run->wait_status)) {
        if (program->oracle != NULL) {
            facts.asked_oracle = true;
            ok = hd_oracle_ask(program, host, run, &facts.oracle_status, error);
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
    if (ok && !run->interrupted && job->steering.scheduler != HD_SCHED_OFF &&
        job->steering.policy == HD_POLICY_REPLAY)
        hd_replay_judge(&job->steering, run);
    return ok;
}
