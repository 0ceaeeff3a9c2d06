/* heddle replay: make a program take a schedule, say whether that made it fail. */
#define _GNU_SOURCE
#include "base/alloc.h"
#include "base/clock.h"
#include "base/whole_file.h"
#include "cli/commands.h"
#include "cli/names_option.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/replay_control.h"
#include "cli/replay_gdb.h"
#include "cli/stop.h"
#include "model/describe.h"
#include "run/process.h"
#include "run/run.h"
#include "run/schedule.h"
#include "toolchain/compiler.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMAND "replay"

enum { FORMAT_TEXT, FORMAT_JSON };

struct request {
    struct hd_job job; /* follows the schedule */
    struct hd_host host;
    struct hd_schedule schedule;
    uint64_t times;
    bool check, quiet;
    unsigned format;
    const char *keep; /* where to keep the trace, or NULL */
};

/* ---- getting ready -------------------------------------------------------------------------- */

/* A recorded run is its own schedule. */
static bool is_trace(const char *path) {
    char magic[4] = "";
    FILE *file = strcmp(path, "-") != 0 ? fopen(path, "rb") : NULL;
    if (file == NULL) return false;
    size_t got = fread(magic, 1, sizeof magic, file);
    fclose(file);
    return got == sizeof magic && memchr(magic, '{', sizeof magic) == NULL &&
           (unsigned char)magic[0] > ' ';
}

static bool load_schedule(const char *path, struct hd_schedule *schedule, struct hd_error *error) {
    if (!is_trace(path)) return hd_schedule_load(path, schedule, error);
    struct hd_model model;
    struct hd_model_options options = {.lenient = true};
    if (!hd_model_load(path, NULL, &options, &model, error)) return false;
    struct hd_describe *describe = hd_describe_open(&model);
    bool good = hd_schedule_from_run(schedule, &model, describe, error);
    hd_describe_close(describe);
    hd_model_free(&model);
    return good;
}

/* Several runs read the same input: a pipe is read once, into a file without a name. */
static bool spool_input(struct hd_program *program, char *path, size_t room) {
    if (isatty(STDIN_FILENO)) return true;
    int fd = hd_temporary_file();
    if (fd < 0) return false;
    char bytes[65536];
    ssize_t n;
    while ((n = read(STDIN_FILENO, bytes, sizeof bytes)) != 0) {
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) break;
        if (!hd_write_all(fd, bytes, (size_t)n)) return false;
    }
    snprintf(path, room, "/proc/self/fd/%d", fd);
    program->input = path;
    return true;
}

static int print_schedule(const struct hd_schedule *schedule) {
    char *text = hd_schedule_write(schedule);
    fputs(text, stdout);
    free(text);
    return hd_finish_output(COMMAND) ? HD_EXIT_CLEAN : HD_EXIT_FAILED;
}

static void pass_on(void *context, int stream, const char *bytes, size_t count) {
    const struct request *request = context;
    /* Standard output is the report's if a program reads it. */
    FILE *to = stream == 1 && request->format == FORMAT_TEXT ? stdout : stderr;
    fwrite(bytes, 1, count, to);
    fflush(to);
}

/* ---- one replay ----------------------------------------------------------------------------- */

static int status_of(const struct hd_result *run) {
    if (run->outcome.kind == HD_OUTCOME_DEADLOCK) return HD_EXIT_FINDINGS;
    int status = run->wait_status;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && hd_outcome_failed(&run->outcome))
        return HD_EXIT_FINDINGS; /* its output is wrong, or the oracle says so */
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static json_t *json_outcome(const struct hd_outcome *outcome) {
    return json_pack("{s:s, s:i, s:s*}", "kind", hd_outcome_name(outcome->kind), "status",
                     outcome->status, "words", outcome->words);
}

static json_t *json_divergence(const struct hd_divergence *d) {
    if (!d->there) return json_null();
    char thread[16];
    snprintf(thread, sizeof thread, "T%u", d->thread);
    json_t *object = json_pack("{s:i, s:s, s:I}", "turn", (int)d->turn, "thread", thread, "call",
                               (json_int_t)d->call);
    json_object_set_new(object, "event",
                        d->event == HD_NO_EVENT ? json_null() : json_integer((json_int_t)d->event));
    json_object_set_new(object, "expected", json_string(d->expected));
    json_object_set_new(object, "came", json_string(d->came));
    return object;
}

static int print_json(json_t *root) {
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    json_decref(root);
    if (text == NULL) hd_out_of_memory();
    puts(text);
    free(text);
    return hd_finish_output(COMMAND) ? HD_EXIT_CLEAN : HD_EXIT_FAILED;
}

static json_t *json_head(const struct request *request) {
    return json_pack("{s:s, s:s, s:s, s:s, s:i, s:i}", "schema", "heddle-replay/1", "kind",
                     request->schedule.kind, "variable", request->schedule.variable, "fingerprint",
                     request->schedule.fingerprint, "turns",
                     (int)(request->schedule.turn.size + request->schedule.then.size), "switches",
                     (int)hd_schedule_switches(&request->schedule));
}

/* What the same schedule gives in a second run. */
static bool check_again(const struct request *request, const struct hd_result *first,
                        struct hd_difference *difference, int *interrupted,
                        struct hd_error *error) {
    struct hd_host silent = request->host;
    silent.echo = NULL;
    struct hd_result second;
    if (!hd_run(&request->job, &silent, &second, error)) return false;
    *interrupted = second.interrupted;
    bool good =
        *interrupted || hd_runs_differ(first->trace_path, second.trace_path, difference, error);
    hd_result_free(&second);
    return good;
}

static int replay_once(const struct request *request) {
    struct hd_result run;
    struct hd_error error;
    if (!hd_run(&request->job, &request->host, &run, &error))
        return hd_complain_error(COMMAND, &error);
    const struct hd_replay *replay = &run.replay;
    int interrupted = run.interrupted;
    struct hd_difference difference = {.there = false};
    bool good = true;
    if (!interrupted && request->check)
        good = check_again(request, &run, &difference, &interrupted, &error);
    if (good && !interrupted && request->keep != NULL)
        good = hd_result_keep_trace(&run, request->keep, &error);
    int status = status_of(&run);
    if (interrupted) {
        hd_result_free(&run);
        return hd_end_by_signal(interrupted, 0);
    }
    if (!good) {
        hd_result_free(&run);
        return hd_complain_error(COMMAND, &error);
    }
    if (request->format == FORMAT_JSON) {
        json_t *root = json_head(request);
        json_object_set_new(root, "verdict", json_string(hd_replay_verdict_name(replay->verdict)));
        json_object_set_new(root, "reached", json_boolean(replay->reached));
        json_object_set_new(root, "outcome", json_outcome(&run.outcome));
        json_object_set_new(root, "divergence", json_divergence(&replay->divergence));
        json_object_set_new(root, "words", json_string(replay->words));
        if (request->check)
            json_object_set_new(root, "differs",
                                difference.there ? json_string(difference.words) : json_null());
        int printed = print_json(root);
        if (printed != HD_EXIT_CLEAN) status = printed;
    } else if (!request->quiet) {
        fprintf(stderr, "heddle: replay: %s\n", replay->words);
        if (run.outcome.kind == HD_OUTCOME_DEADLOCK) hd_print_deadlock(stderr, run.trace_path);
        if (request->check)
            fprintf(stderr, "heddle: replay: %s\n",
                    difference.there ? difference.words
                                     : "a second run of the schedule gave the same events");
    }
    hd_result_free(&run);
    return status;
}

/* ---- many ----------------------------------------------------------------------------------- */

static bool step(void *context, const struct hd_rate *rate) {
    hd_progress_step(context, rate->runs);
    return true;
}

static int replay_times(const struct request *request) {
    struct hd_progress_bar bar;
    hd_progress_bar_begin(&bar);
    hd_progress_start(&bar.progress, "replaying", request->times);
    struct hd_rate rate;
    struct hd_error error;
    bool good = hd_run_times(&request->job, &request->host, (uint32_t)request->times, NULL, step,
                             &bar.progress, &rate, &error);
    hd_progress_bar_end(&bar);
    if (!good) return hd_complain_error(COMMAND, &error);
    if (rate.interrupted) return hd_end_by_signal(rate.interrupted, 0);
    int status = rate.reproduced > 0 ? HD_EXIT_FINDINGS : HD_EXIT_CLEAN;
    if (request->format == FORMAT_JSON) {
        json_t *root = json_head(request);
        json_object_set_new(root, "runs", json_integer(rate.runs));
        json_object_set_new(root, "reproduced", json_integer(rate.reproduced));
        json_object_set_new(root, "failed", json_integer(rate.failed));
        json_object_set_new(root, "reached", json_integer(rate.reached));
        json_object_set_new(root, "diverged", json_integer(rate.diverged));
        json_object_set_new(root, "time_over", json_boolean(rate.late));
        json_object_set_new(root, "outcome", json_outcome(&rate.outcome));
        json_object_set_new(root, "divergence", json_divergence(&rate.divergence));
        int printed = print_json(root);
        return printed == HD_EXIT_CLEAN ? status : printed;
    }
    if (rate.runs > 0)
        printf("reproduced %u of %u: %s\n", rate.reproduced, rate.runs, rate.outcome.words);
    if (rate.late)
        printf("the time was over after %u of %llu runs\n", rate.runs,
               (unsigned long long)request->times);
    if (rate.failed > rate.reproduced)
        printf("failed in another way: %u\n", rate.failed - rate.reproduced);
    if (rate.diverged > 0)
        printf("diverged: %u, the first at turn %u (T%u, call %llu): expected %s; came: %s\n",
               rate.diverged, rate.divergence.turn + 1, rate.divergence.thread,
               (unsigned long long)rate.divergence.call, rate.divergence.expected,
               rate.divergence.came);
    return hd_finish_output(COMMAND) ? status : HD_EXIT_FAILED;
}

/* ---- the command ---------------------------------------------------------------------------- */

int hd_cmd_replay(int argc, char **argv) {
    struct request request = {.times = 0};
    uint64_t seconds = 0, limit = 60, patience = 2000, good_status = 0;
    bool gdb = false, swap = false, print = false;
    const char *oracle = NULL;
    const char *names = NULL;
    struct hd_option options[] = {
        HD_NUMBER("repeat", 'n', "N", &request.times, 1, 1000000,
                  "replay N times and print how often the failure comes"),
        HD_FLAG("check", 'c', &request.check,
                "run the schedule twice and say where the runs differ"),
        HD_FLAG("gdb", 0, &gdb, "run the program in gdb, under the schedule"),
        HD_FLAG("print", 'p', &print, "print the schedule (of a trace, say) and run nothing"),
        HD_FLAG("swap", 0, &swap, "the last two accesses the other way round (races)"),
        HD_NUMBER("time", 't', "SECONDS", &seconds, 1, 1000000,
                  "with --repeat: stop after SECONDS, whatever runs are left"),
        HD_NUMBER("limit", 'l', "SECONDS", &limit, 0, 1000000,
                  "time limit of a run, 0 for none (default 60)"),
        HD_NUMBER("patience", 0, "MS", &patience, 1, 1000000,
                  "wait so long for a thread that is in a system call (default 2000)"),
        HD_TEXT("oracle", 0, "COMMAND", &oracle,
                "shell command that reads the output and says by its status if it is good"),
        HD_NUMBER("good-status", 0, "N", &good_status, 0, 255,
                  "exit status that is no failure (default 0)"),
        HD_TEXT("output", 'o', "FILE", &request.keep, "keep the trace of the run in FILE"),
        HD_CHOICE("format", 0, "F", &request.format, "text|json", "a line to read, or JSON"),
        HD_FLAG("quiet", 'q', &request.quiet, "say nothing but errors"),
        HD_NAMES_OPTION(&names),
        HD_OPTIONS_END};
    struct hd_usage usage = {
        .command = COMMAND,
        .operands = "FILE [--] CMD [ARG]...",
        .about = "Makes CMD take the schedule of FILE (written by predict --witness, expose or\n"
                 "hunt, or the trace of a run), and says on standard error: confirmed, did not\n"
                 "fail, or where it diverged. Exits with the status of CMD; 128+N if signal N\n"
                 "killed it; 1 if it deadlocked; 2 if it could not be run. With --repeat: 1 if\n"
                 "the failure came at least once, 0 if not.\n",
        .example = "  heddle replay w1.json -- ./app 4 input.txt\n"
                   "  heddle replay --repeat 20 w1.json -- ./app 4 input.txt\n"
                   "  heddle replay --gdb w1.json -- ./app 4 input.txt\n",
        .options = options,
        .least = 1,
        .most = -1,
        .operands_last = true};
    int first, status;
    if (!hd_options_parse(&usage, argc, argv, &first, &status)) return status;
    if (!hd_names_option_use(COMMAND, names)) return HD_EXIT_FAILED;
    const char *file = argv[first++];
    if (first < argc && strcmp(argv[first], "--") == 0) first++;
    if (first >= argc && !print)
        return hd_complain(COMMAND, "say what to run: heddle replay FILE -- CMD");
    if (seconds > 0 && request.times == 0)
        return hd_complain(COMMAND, "--time is for --repeat; --limit ends a single run");
    if (seconds > 0) request.host.until = hd_now_ns() + seconds * 1000000000u;
    if (request.keep != NULL && (request.times > 0 || gdb))
        return hd_complain(COMMAND, "--output can't be used with --repeat or --gdb");
    struct hd_error error;
    if (!load_schedule(file, &request.schedule, &error)) return hd_complain_error(COMMAND, &error);
    bool control = request.schedule.has_control;
    char input[64];
    if (control && (request.check || gdb || swap || request.keep != NULL)) {
        status = hd_complain(COMMAND,
                             "%s has a control, not turns (see heddle expose): --check, --gdb, "
                             "--swap and --output can't be used with it",
                             file);
    } else if (swap && !hd_schedule_swap(&request.schedule)) {
        status = hd_complain(COMMAND, "%s: --swap needs two entries in \"then\"", file);
    } else if (print) {
        status = print_schedule(&request.schedule);
    } else {
        char *directory = hd_runtime_directory(&error), fault[HD_FAULT_WORDS] = "";
        request.host.runtime_fault = fault;
        struct hd_program *program = &request.job.program;
        *program = (struct hd_program){.argv = argv + first,
                                       .limit_ms = limit * 1000,
                                       .oracle = oracle,
                                       .good_status = (int)good_status};
        if (*request.schedule.good_output != '\0')
            program->good_output = request.schedule.good_output;
        request.job.steering = hd_schedule_steering(&request.schedule);
        request.job.steering.patience_ms = (uint32_t)patience;
        if (control) request.job.steering.no_trace = true;
        request.host.library_directory = directory;
        request.host.stop = hd_stop_on_signals(gdb ? HD_STOP_SHARED : HD_STOP_RUNS);
        bool many = request.times > 0 || request.check, from_input = strcmp(file, "-") == 0;
        if (!many && !from_input) request.host.inherit_input = true;
        if (request.times == 0) {
            request.host.echo = pass_on;
            request.host.context = &request;
        }
        if (gdb)
            status = hd_replay_in_gdb(&request.job, &request.host);
        else if (many && !from_input && !spool_input(program, input, sizeof input))
            status = hd_complain(COMMAND, "cannot keep standard input: %s", strerror(errno));
        else if (control)
            status = hd_replay_control(&request.schedule, &request.job, &request.host,
                                       (uint32_t)request.times, request.format == FORMAT_JSON,
                                       request.quiet);
        else
            status = request.times > 0 ? replay_times(&request) : replay_once(&request);
        status = hd_complain_runtime(COMMAND, fault, status);
        free(directory);
    }
    hd_schedule_free(&request.schedule);
    return status;
}
