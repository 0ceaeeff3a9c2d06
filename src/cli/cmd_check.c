/* heddle check: run a program and report, as they happen, accesses that break learned invariants.
 */
#include "base/alloc.h"
#include "cli/check_trace.h"
#include "cli/commands.h"
#include "cli/findings_output.h"
#include "cli/invariants_option.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/stop.h"
#include "explore/checked.h"
#include "toolchain/compiler.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define COMMAND "check"

struct request {
    struct hd_findings_options output;
    unsigned granularity, scheduler, policy;
    uint64_t seed, quantum, seconds;
    const char *invariants, *record;
    struct hd_check_trace trace;
    bool all, abort, aslr, quiet;
    char **command;
    /* while it runs */
    struct hd_checked checked;
    struct hd_findings findings;
    size_t shown;
    bool stopped;
};

static bool is_text(const struct request *request) {
    return request->output.format == HD_FINDINGS_TEXT;
}

/* ---- while the program runs ------------------------------------------------------------------ */

/* The program's own output goes where it belongs, unless a report for programs is wanted there. */
static void echo(void *context, int stream, const char *bytes, size_t count) {
    const struct request *request = context;
    FILE *out = stream == 1 && is_text(request) ? stdout : stderr;
    fwrite(bytes, 1, count, out);
    fflush(out);
}

/* A page for the last finding, unless it is hidden: false. How often it happens is not known yet.
 */
static bool show_last(struct request *request) {
    struct hd_findings page = {0};
    struct hd_finding *last = &request->findings.list.data[request->findings.list.size - 1];
    struct hd_report_style style = {.color = hd_color(stderr)};
    hd_finding_fingerprint(last);
    hd_vector_push(&page.list, *last);
    hd_findings_hide(&page, &request->output.hiding);
    bool shown = page.list.size > 0;
    bool room = request->output.most == 0 || request->shown < request->output.most;
    if (shown && is_text(request) && room) {
        request->shown++;
        fflush(stdout);
        hd_report_text(stderr, &page, 0, &style);
    }
    hd_findings_free(&page);
    return shown;
}

static bool violated(void *context, const struct hd_observed *observed) {
    struct request *request = context;
    const struct hd_observed_violation *last =
        &observed->violation.data[observed->violation.size - 1];
    if (!hd_checked_add(&request->checked, observed, last, &request->findings)) return true;
    bool shown = show_last(request);
    const struct hd_finding *finding =
        &request->findings.list.data[request->findings.list.size - 1];
    request->stopped = request->abort && shown && finding->harm == HD_HARM_ITSELF;
    return !request->stopped;
}

/* ---- after it -------------------------------------------------------------------------------- */

/* Findings are in the order of those violations that were added: their numbers are known now. */
static void set_instances(struct request *request, const struct hd_observed *observed) {
    struct hd_findings again = {0};
    for (size_t i = 0, at = 0; i < observed->violation.size; i++) {
        const struct hd_observed_violation *violation = &observed->violation.data[i];
        if (!hd_checked_add(&request->checked, observed, violation, &again)) continue;
        if (at < request->findings.list.size)
            request->findings.list.data[at++].instances = violation->instances;
    }
    hd_findings_free(&again);
}

static void say_summary(const struct request *request, const struct hd_observed *observed,
                        const struct hd_result *result) {
    const struct hd_finding_summary *summary = &request->findings.summary;
    if (request->stopped)
        fprintf(stderr, "heddle: check: the program was stopped there (--abort)\n");
    if (observed->truncated)
        hd_warn(COMMAND, "there was more than the tables hold: the rest was not checked");
    if (!request->stopped && hd_outcome_failed(&result->outcome))
        fprintf(stderr, "heddle: check: the program did not pass: %s\n", result->outcome.words);
    if (request->quiet) return;
    fprintf(stderr,
            "heddle: check: %llu unserializable interleaving%s of sites: %llu reported, %llu where "
            "no invariant holds\n",
            (unsigned long long)summary->candidates, summary->candidates == 1 ? "" : "s",
            (unsigned long long)summary->verdict[HD_VERDICT_CONFIRMED],
            (unsigned long long)summary->hidden);
}

/* To a file; what standard output would have was shown as it happened. */
static void print_text(FILE *out, const struct hd_report_style *style, const void *context) {
    const struct request *request = context;
    if (style->standard_output) return;
    hd_report_text(out, &request->findings, (size_t)request->output.most, style);
    hd_report_text_summary(out, &request->findings, false, style);
}

static int report(struct request *request, const struct hd_observed *observed,
                  const struct hd_result *result) {
    set_instances(request, observed);
    struct hd_findings *findings = &request->findings;
    struct hd_finding_summary none = {0};
    hd_findings_looked_for(findings, HD_FINDING_INVARIANT, &none);
    hd_findings_sort(findings);
    hd_findings_fingerprint(findings);
    hd_findings_hide(findings, &request->output.hiding);
    say_summary(request, observed, result);
    char *command = hd_quote_command(request->command);
    char build[33];
    /* One run shows what happened in it, never that something can't happen. */
    struct hd_report_input input = {.path = request->command[0],
                                    .format = "run",
                                    .build =
                                        hd_trace_build(&observed->modules, build) ? build : NULL,
                                    .partial = true,
                                    .command = command,
                                    .threads = result->threads};
    int status = hd_findings_status(&request->output, findings);
    status = hd_findings_report(&request->output, findings, &input, status, print_text, request);
    free(command);
    return hd_finish_output(COMMAND) ? status : HD_EXIT_FAILED;
}

static int run(struct request *request) {
    struct hd_error error;
    char *library = hd_runtime_directory(&error);
    if (library == NULL) return hd_complain_error(COMMAND, &error);
    char fault[HD_FAULT_WORDS] = "";
    struct hd_host host = {.library_directory = library,
                           .stop = hd_stop_on_signals(HD_STOP_RUNS),
                           .inherit_input = true,
                           .echo = echo,
                           .context = request,
                           .runtime_fault = fault};
    struct hd_job job = {
        .program = {.argv = request->command,
                    .limit_ms = request->seconds * 1000,
                    .most_output = UINT64_MAX,
                    .keep_aslr = request->aslr},
        .steering = {.scheduler = request->scheduler == 0 ? HD_SCHED_FREE : HD_SCHED_SERIAL,
                     .policy = request->policy == 0 ? HD_POLICY_ROUND_ROBIN : HD_POLICY_RANDOM,
                     .seed = request->seed,
                     .quantum = (uint32_t)request->quantum}};
    struct hd_checking checking = {.granularity = (enum hd_granularity)request->granularity,
                                   .violated = violated,
                                   .context = request,
                                   .wait = request->abort,
                                   .record = request->record != NULL};
    struct hd_result result;
    struct hd_observed observed;
    int status = HD_EXIT_FAILED, interrupted = 0;
    if (!hd_run_checked(&job, &host, &checking, &result, &observed, &error)) {
        hd_complain_error(COMMAND, &error);
    } else {
        interrupted = result.interrupted;
        status = report(request, &observed, &result);
        if (request->record != NULL && !hd_result_keep_trace(&result, request->record, &error))
            status = hd_complain_error(COMMAND, &error);
        hd_result_free(&result);
    }
    hd_observed_free(&observed);
    free(library);
    return hd_end_by_signal(interrupted, hd_complain_runtime(COMMAND, fault, status));
}

static int check(struct request *request) {
    struct hd_invariants invariants = {0};
    if (request->invariants == NULL && !request->all)
        return hd_complain(COMMAND, "say what is meant to be atomic: --invariants FILE, which "
                                    "`heddle learn` writes; or --all for every interleaving");
    if (request->record != NULL && request->scheduler == 0)
        return hd_complain(COMMAND, "--record needs --sched serial: in parallel the order of "
                                    "accesses is only approximate");
    if (!hd_invariants_option_use(COMMAND, request->invariants, request->output.store.project,
                                  request->command[0], &invariants))
        return HD_EXIT_FAILED;
    if (request->invariants != NULL) request->checked.invariants = &invariants;
    request->checked.all = request->all;
    int status = run(request);
    hd_checked_free(&request->checked);
    hd_findings_free(&request->findings);
    hd_invariants_free(&invariants);
    return status;
}

/* A recorded run instead of a program. */
static int check_trace(struct request *request, int operands) {
    if (operands > 0)
        return hd_complain(COMMAND, "a program, or --trace FILE with its options: not both");
    request->trace.invariants = request->invariants;
    request->trace.granularity = (enum hd_granularity)request->granularity;
    request->trace.all = request->all;
    return hd_check_trace(&request->trace, &request->output);
}

int hd_cmd_check(int argc, char **argv) {
    struct request request = {
        .seed = 1, .trace = HD_CHECK_TRACE_DEFAULTS, .output = HD_FINDINGS_DEFAULTS(COMMAND, 100)};
    struct hd_option options[] = {
        HD_INVARIANTS_OPTION(&request.invariants),
        HD_FLAG("all", 'a', &request.all,
                "report every unserializable interleaving, also where no invariant holds"),
        HD_FLAG("abort", 0, &request.abort, "stop CMD where it breaks an invariant"),
        HD_CHOICE("granularity", 'g', "G", &request.granularity, "byte|word|line",
                  "what is the same memory: byte (default), word (8 bytes), line (64)"),
        HD_CHOICE("sched", 0, "S", &request.scheduler, "free|serial",
                  "free: in parallel (default); serial: one thread at a time, exact order"),
        HD_CHOICE("policy", 0, "P", &request.policy, "round-robin|random",
                  "serial: who runs next, and for how long (default round-robin)"),
        HD_NUMBER("seed", 's', "N", &request.seed, 0, UINT64_MAX,
                  "serial: seed of the random policy"),
        HD_NUMBER("quantum", 0, "N", &request.quantum, 1, UINT32_MAX,
                  "serial: time slice, in memory accesses and calls"),
        HD_TEXT("record", 'o', "FILE", &request.record, "serial: record the run too, as a trace"),
        HD_NUMBER("time", 't', "SECONDS", &request.seconds, 1, 1000000,
                  "stop CMD after so long (default: no limit)"),
        HD_CHECK_TRACE_OPTIONS(&request.trace),
        HD_FINDINGS_OPTIONS(&request.output, "100"),
        HD_FLAG("aslr", 0, &request.aslr, "leave address space randomisation on"),
        HD_FLAG("quiet", 'q', &request.quiet, "say nothing but errors and findings"),
        HD_OPTIONS_END};
    struct hd_usage usage = {
        .command = COMMAND,
        .operands = "[--] CMD [ARG]... | --trace FILE",
        .about = "Runs CMD, which `heddle cc` or `heddle c++` has linked, and reports, at the\n"
                 "moment it happens, when another thread's access comes between two accesses\n"
                 "that were never interleaved in such a way in the runs that `heddle learn`\n"
                 "learned from (AVIO). Exit status 0: nothing found, 1: findings, 2: the job\n"
                 "could not be done.\n",
        .example = "  heddle learn -o app.inv --runs 20 -- ./app\n"
                   "  heddle check --invariants app.inv -- ./app\n"
                   "  heddle check --all --sched serial --policy random --seed 7 -- ./app\n",
        .options = options,
        .least = 0,
        .most = -1,
        .operands_last = true};
    int first, status;
    if (!hd_options_parse(&usage, argc, argv, &first, &status)) return status;
    request.command = argv + first;
    if (!hd_findings_options_use(&request.output))
        status = HD_EXIT_FAILED;
    else if (hd_check_trace_wanted(&request.trace) || first == argc)
        status = check_trace(&request, argc - first);
    else
        status = check(&request);
    status = hd_findings_failed(&request.output, status);
    hd_findings_options_free(&request.output);
    return status;
}
