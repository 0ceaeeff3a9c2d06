/* heddle record: run a program, write its trace, pass its status on. */
#define _GNU_SOURCE
#include "base/alloc.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/stop.h"
#include "run/process.h"
#include "run/record.h"
#include "toolchain/compiler.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMAND "record"

/* Threads that are in a child are not seen without being asked for. */
static void report_children(const struct hd_record_result *result, bool children) {
    if (children || !result->forked || result->recorded.size != 1) return;
    if (result->child_threads)
        hd_warn(COMMAND, HD_CHILD_THREADS_WARNING);
    else if (result->recorded.data[0].threads <= 1)
        hd_warn(COMMAND, "the program forked, and only its parent, with one thread, was recorded: "
                         "--follow-fork records the children too");
}

static void report(const struct hd_record_result *result, double seconds, bool quiet) {
    for (size_t i = 0; i < result->recorded.size; i++) {
        const struct hd_recorded *r = &result->recorded.data[i];
        if (r->end.lost_events > 0)
            hd_warn(COMMAND, "%s: about %llu events were lost", r->path,
                    (unsigned long long)r->end.lost_events);
        if (r->end.misused) hd_warn(COMMAND, "%s: %s", r->path, r->end.misuse);
        if (quiet) continue;
        fprintf(stderr, "heddle: record: %s written", r->path);
        if (r->end.runtime_fault)
            fprintf(stderr, " in part");
        else if (r->end.deadlocked)
            fprintf(stderr, "; the program deadlocked and was ended");
        else if (result->timed_out)
            fprintf(stderr, "; the program was stopped after %g second%s (--time)", seconds,
                    seconds == 1 ? "" : "s");
        else if (r->end.signaled)
            fprintf(stderr, "; the program was killed by signal %d (%s)", r->end.status,
                    strsignal(r->end.status));
        else if (r->end.exited && r->end.status != 0)
            fprintf(stderr, "; the program exited with status %d", r->end.status);
        fputc('\n', stderr);
    }
}

int hd_cmd_record(int argc, char **argv) {
    const char *output = NULL;
    unsigned scheduler = 0, policy = 0;
    uint64_t seed = 1, quantum = 0, watchdog = 5, seconds = 0;
    bool full = false, direct = false, children = false, aslr = false, quiet = false;
    struct hd_option options[] = {
        HD_TEXT("output", 'o', "FILE", &output, "write the trace to FILE (default: NAME.hdt)"),
        HD_CHOICE("sched", 0, "S", &scheduler, "serial|free",
                  "serial: one thread at a time, exact order (default); free: in parallel"),
        HD_CHOICE("policy", 0, "P", &policy, "round-robin|random",
                  "serial: who runs next, and for how long (default round-robin)"),
        HD_NUMBER("seed", 's', "N", &seed, 0, UINT64_MAX, "serial: seed of the random policy"),
        HD_NUMBER("quantum", 0, "N", &quantum, 1, UINT32_MAX,
                  "serial: time slice, in memory accesses and calls"),
        HD_FLAG("direct", 0, &direct,
                "store what could be foreseen, too: slower and larger (for tests)"),
        HD_FLAG("full", 0, &full, "changes nothing: every access is recorded"),
        HD_FLAG("follow-fork", 0, &children,
                "record forked and exec'ed processes too, as FILE.1, FILE.2, ..."),
        HD_FLAG("children", 0, &children, "the same as --follow-fork"),
        HD_NUMBER("time", 't', "SECONDS", &seconds, 1, 1000000,
                  "stop CMD after so long (default: no limit)"),
        HD_FLAG("aslr", 0, &aslr, "leave address space randomisation on"),
        HD_NUMBER("watchdog", 0, "MS", &watchdog, 1, 60000,
                  "serial: every MS milliseconds, find a thread that blocks the others"),
        HD_FLAG("quiet", 'q', &quiet, "say nothing but errors and findings"),
        HD_OPTIONS_END};
    struct hd_usage usage = {
        .command = COMMAND,
        .operands = "[--] CMD [ARG]...",
        .about = "Runs CMD, which `heddle cc` or `heddle c++` has linked, and writes what its\n"
                 "threads do to a trace. Exits with the status of CMD; 128+N if signal N\n"
                 "killed it; 1 if it deadlocked; 2 if it could not be run or recorded.\n"
                 "HEDDLE_OPTIONS holds further options.\n",
        .example = "  heddle cc -g -O2 -o app app.c -lpthread\n"
                   "  heddle record -o app.hdt -- ./app 4 input.txt\n"
                   "  heddle record --policy random --seed 7 -- ./app\n",
        .options = options,
        .least = 1,
        .most = -1,
        .operands_last = true};
    int first, status;
    char *storage = NULL;
    const char *environment = getenv("HEDDLE_OPTIONS");
    if (environment != NULL &&
        !hd_options_parse_text(&usage, "HEDDLE_OPTIONS", environment, &storage, &status)) {
        free(storage);
        return status;
    }
    if (!hd_options_parse(&usage, argc, argv, &first, &status)) {
        free(storage);
        return status;
    }
    char **command = argv + first, *path = NULL;
    if (output == NULL) {
        const char *name = strrchr(command[0], '/');
        output = path = hd_format("%s.hdt", name != NULL ? name + 1 : command[0]);
    }
    struct hd_job job = {
        .program = {.argv = command, .keep_aslr = aslr, .limit_ms = seconds * 1000},
        .steering = {.scheduler = scheduler == 0 ? HD_SCHED_SERIAL : HD_SCHED_FREE,
                     .policy = policy == 0 ? HD_POLICY_ROUND_ROBIN : HD_POLICY_RANDOM,
                     .seed = seed,
                     .quantum = (uint32_t)quantum,
                     .direct = direct,
                     .children = children,
                     .watchdog_ms = (uint32_t)watchdog}};
    struct hd_record_result result;
    struct hd_error error;
    char *library_directory = hd_runtime_directory(&error);
    struct hd_host host = {.library_directory = library_directory,
                           .stop = hd_stop_on_signals(HD_STOP_SHARED)};
    struct hd_record_options record = {.job = &job, .host = &host, .output = output};
    bool ok = hd_record(&record, &result, &error);
    int wait_status = result.wait_status;
    status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
    report(&result, (double)seconds, quiet);
    report_children(&result, children);
    if (!ok) {
        int ended = status;
        status = hd_complain_error(COMMAND, &error);
        if (result.ran)
            hd_warn(COMMAND, "%s ran all the same, and ended with status %d", command[0], ended);
    } else if (result.recorded.size == 0 && hd_is_privileged(command[0])) {
        status =
            hd_complain(COMMAND,
                        "nothing was recorded: %s is a setuid or setgid program, and the loader "
                        "keeps heddle's runtime from it; run a copy without these bits (it ran, "
                        "and ended with status %d)",
                        command[0], status);
    } else if (result.recorded.size == 0) {
        status = hd_complain(COMMAND,
                             "nothing was recorded: %s is not linked with `heddle cc` or "
                             "`heddle c++` (it ran, and ended with status %d)",
                             command[0], status);
    }
    for (size_t i = 0; ok && i < result.recorded.size; i++) {
        const struct hd_recorded *r = &result.recorded.data[i];
        if (r->end.runtime_fault) {
            hd_complain_runtime(COMMAND, r->end.missing, 0);
            status = HD_EXIT_FAILED;
        }
        if (!r->end.deadlocked) continue;
        hd_print_deadlock(stderr, r->path);
        if (status == 128 + SIGKILL || status == 0) status = HD_EXIT_FINDINGS;
    }
    hd_record_result_free(&result);
    free(library_directory);
    free(path);
    free(storage);
    return status;
}
