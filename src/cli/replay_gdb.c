/* Runs gdb as the program that is recorded: what it starts finds the channel in its environment,
 * and each start follows the schedule from its beginning. See replay_gdb.h. */
#define _GNU_SOURCE
#include "cli/replay_gdb.h"

#include "base/alloc.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "run/record.h"
#include "run/schedule.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMAND "replay"

static void report(const struct hd_record_result *result, const struct hd_schedule *schedule) {
    struct hd_wire_replay_answer answer;
    memcpy(&answer, result->answer, sizeof answer);
    unsigned turns = (unsigned)(schedule->turn.size + schedule->then.size);
    if (result->recorded.size == 0)
        fprintf(stderr, "heddle: replay: the program was not started in gdb\n");
    else if (answer.state == HD_REPLAY_DIVERGED)
        fprintf(stderr, "heddle: replay: the last run diverged at turn %u of %u\n", answer.turn + 1,
                turns);
    else if (answer.state == HD_REPLAY_FOLLOWING)
        fprintf(stderr, "heddle: replay: the last run ended in turn %u of %u\n", answer.turn + 1,
                turns);
    else
        fprintf(stderr, "heddle: replay: the last run followed the schedule to its end\n");
}

int hd_replay_in_gdb(const struct hd_job *job, const struct hd_host *host) {
    const struct hd_program *program = &job->program;
    char name[] = "gdb", quiet[] = "-q", ex[] = "-ex", shell[] = "set startup-with-shell off",
         arguments[] = "--args";
    char *const gdb[] = {name, quiet, ex, shell, arguments};
    size_t own = sizeof gdb / sizeof *gdb, words = 0;
    while (program->argv[words] != NULL) words++;
    char **argv = hd_zalloc(own + words + 1, sizeof *argv);
    memcpy(argv, gdb, sizeof gdb);
    memcpy(argv + own, program->argv, words * sizeof *argv);
    struct hd_job debugger = {.program = {.argv = argv}, .steering = job->steering};
    struct hd_record_options record = {
        .job = &debugger, .host = host, .output = "/dev/null", .command = "gdb", .again = true};
    struct hd_record_result result;
    struct hd_error error;
    int status;
    if (hd_record(&record, &result, &error)) {
        report(&result, job->steering.schedule);
        status = WIFEXITED(result.wait_status) ? WEXITSTATUS(result.wait_status)
                                               : 128 + WTERMSIG(result.wait_status);
    } else {
        status = hd_complain_error(COMMAND, &error);
    }
    hd_record_result_free(&result);
    free(argv);
    return status;
}
