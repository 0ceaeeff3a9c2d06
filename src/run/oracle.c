/* The oracle: a shell command, run on what the program under test wrote. See oracle.h. */
#define _GNU_SOURCE
#include "run/oracle.h"

#include "run/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_MS 60000

static bool judge(const char *oracle, const struct hd_record_result *result, int *status,
                  struct hd_error *error) {
    int how = result->wait_status;
    *status = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
    if (result->interrupted || (*status <= 125 && !result->timed_out)) return true;
    return hd_fail(error, HD_ERR_USAGE, "the oracle '%s' could not judge: %s", oracle,
                   result->timed_out ? "it did not end within a minute"
                   : *status == 127  ? "command not found"
                   : *status == 126  ? "it can't be run"
                                     : "it was killed by a signal");
}

/* A plain run gives a command a process group, a time limit, and ends what it left running. */
bool hd_oracle_ask(const struct hd_program *program, const struct hd_host *host,
                   struct hd_result *run, int *status, struct hd_error *error) {
    char given[64], output[64], errors[64], own[64];
    snprintf(given, sizeof given, "HEDDLE_STATUS=%d", WEXITSTATUS(run->wait_status));
    snprintf(output, sizeof output, "HEDDLE_STDOUT=/proc/%d/fd/%d", (int)getpid(), run->output);
    snprintf(errors, sizeof errors, "HEDDLE_STDERR=/proc/%d/fd/%d", (int)getpid(), run->error);
    snprintf(own, sizeof own, "/proc/self/fd/%d", run->output);
    int input = open(own, O_RDONLY | O_CLOEXEC);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    bool ok = (input >= 0 && nowhere >= 0) ||
              hd_fail(error, HD_ERR_IO, "cannot read the program's output: %s", strerror(errno));
    if (ok) {
        char shell[] = "/bin/sh", c[] = "-c";
        char *argv[] = {shell, c, (char *)program->oracle, NULL};
        char *environment[] = {given, output, errors, NULL};
        int descriptors[3] = {input, nowhere, STDERR_FILENO};
        struct hd_job job = {.program = {.argv = argv,
                                         .environment = environment,
                                         .directory = program->directory,
                                         .limit_ms = LIMIT_MS,
                                         .keep_aslr = true}};
        struct hd_record_options options = {.job = &job,
                                            .host = host,
                                            .output = "/dev/null",
                                            .descriptors = descriptors,
                                            .apart = true};
        struct hd_record_result result;
        ok = hd_record(&options, &result, error) && judge(program->oracle, &result, status, error);
        run->interrupted = result.interrupted;
        hd_record_result_free(&result);
    }
    if (input >= 0) close(input);
    if (nowhere >= 0) close(nowhere);
    return ok;
}
