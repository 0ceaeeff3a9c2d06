/* The oracle: a shell command, run on what the program under test wrote. See oracle.h. */
#define _GNU_SOURCE
#include "run/oracle.h"

#include "base/clock.h"
#include "run/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_MS 60000

static int64_t milliseconds(void) { return (int64_t)(hd_now_ns() / 1000000u); }

static bool look(void *context, pid_t process) {
    (void)process;
    const int64_t *end = context;
    return milliseconds() < *end;
}

/* The recorder's plain run gives a command a process group, a time limit and a sure end. What the
 * oracle needs to know goes through `env`, so that our own environment stays as it is. */
bool hd_oracle_ask(const struct hd_program *program, struct hd_result *run, int *status,
                   struct hd_error *error) {
    char given[64], output[64], errors[64], own[64];
    snprintf(given, sizeof given, "HEDDLE_STATUS=%d", WEXITSTATUS(run->wait_status));
    snprintf(output, sizeof output, "HEDDLE_STDOUT=/proc/%d/fd/%d", (int)getpid(), run->output);
    snprintf(errors, sizeof errors, "HEDDLE_STDERR=/proc/%d/fd/%d", (int)getpid(), run->error);
    snprintf(own, sizeof own, "/proc/self/fd/%d", run->output);
    int input = open(own, O_RDONLY | O_CLOEXEC);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (input < 0 || nowhere < 0)
        return hd_fail(error, HD_ERR_IO, "cannot read the program's output: %s", strerror(errno));
    char env[] = "env", shell[] = "/bin/sh", c[] = "-c";
    char *text = strdup(program->oracle);
    struct hd_record_result *result = malloc(sizeof *result);
    bool ok = text != NULL && result != NULL;
    if (!ok) {
        hd_fail(error, HD_ERR_MEMORY, "out of memory");
    } else {
        char *argv[] = {env, given, output, errors, shell, c, text, NULL};
        int descriptors[3] = {input, nowhere, STDERR_FILENO};
        int64_t end = milliseconds() + LIMIT_MS;
        struct hd_record_options options = {.output = "/dev/null",
                                            .argv = argv,
                                            .keep_aslr = true,
                                            .descriptors = descriptors,
                                            .apart = true,
                                            .plain = true,
                                            .look = look,
                                            .context = &end};
        ok = hd_record(&options, result, error);
        if (ok) {
            int how = result->wait_status;
            run->interrupted = result->interrupted;
            *status = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
            if (!run->interrupted && (*status > 125 || result->stopped))
                ok = hd_fail(error, HD_ERR_USAGE, "the oracle '%s' could not judge: %s",
                             program->oracle,
                             result->stopped  ? "it did not end within a minute"
                             : *status == 127 ? "command not found"
                             : *status == 126 ? "it can't be run"
                                              : "it was killed by a signal");
        }
        hd_record_result_free(result);
    }
    close(input);
    close(nowhere);
    free(result);
    free(text);
    return ok;
}
