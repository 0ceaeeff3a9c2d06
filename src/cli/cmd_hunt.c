/* heddle hunt: from a program that passes to a failure that comes back whenever it is asked for. */
#include "base/clock.h"
#include "cli/commands.h"
#include "cli/correlations_option.h"
#include "cli/findings_output.h"
#include "cli/invariants_option.h"
#include "cli/names_option.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/runs_option.h"
#include "cli/stop.h"
#include "report/explored.h"
#include "report/page.h"
#include "toolchain/compiler.h"

#include <jansson.h>
#include <stdlib.h>

#define COMMAND "hunt"

/* ---- while it works ------------------------------------------------------------------------- */

struct drawing {
    struct hd_status_line line;
    struct hd_campaign *campaign; /* NULL: none */
};

static void draw(void *context, const struct hd_explore_progress *progress) {
    struct drawing *drawing = context;
    struct hd_status_line *status = &drawing->line;
    if (drawing->campaign != NULL)
        hd_campaign_note(drawing->campaign, progress->failures, progress->what);
    if (!hd_status_line_due(status, progress->what)) return;
    char line[512];
    int used = snprintf(line, sizeof line, "%s", progress->what);
    if (progress->all > 0) {
        char bar[21];
        unsigned filled = progress->done * 20 / progress->all;
        for (unsigned i = 0; i < 20; i++) bar[i] = i < filled ? '=' : ' ';
        bar[20] = '\0';
        used += snprintf(line + used, sizeof line - (size_t)used, " [%s] %u of %u", bar,
                         progress->done, progress->all);
    }
    double seconds = (double)(hd_now_ns() - status->start_ns) * 1e-9;
    used += snprintf(line + used, sizeof line - (size_t)used, "  %llu runs, %.0f/s, %u failure%s",
                     (unsigned long long)progress->runs, (double)progress->runs / seconds,
                     progress->failures, hd_page_plural(progress->failures));
    if (*progress->best != '\0')
        snprintf(line + used, sizeof line - (size_t)used, "  %s", progress->best);
    hd_status_line_draw(status, line);
}

/* ---- what came of it ------------------------------------------------------------------------ */

struct said {
    const struct hd_exploration *hunt;
    bool all;
    size_t most;
};

static void print_text(FILE *out, const struct hd_report_style *style, const void *context) {
    const struct said *said = context;
    hd_report_hunt(out, said->hunt, said->all, said->most, style);
}

/* A hunt forces what it predicts: what may be intended counts when it fails. */
static bool fails(const struct hd_finding *finding, enum hd_fail_on what) {
    bool failed = finding->forced != NULL && finding->forced->failed;
    bool done = failed || finding->verdict == HD_VERDICT_CONFIRMED || finding->observed;
    if (what == HD_FAIL_ON_ANY) return hd_finding_fails(finding, what);
    return hd_explored_matters(finding) && (done || what == HD_FAIL_ON_PREDICTED);
}

static int finish(struct hd_exploration *hunt, const struct hd_explore_options *options,
                  struct hd_findings_options *output, bool all) {
    if (hunt->plain_failed > 0)
        hd_warn(COMMAND, "%u of %u plain runs failed without being steered: %s", hunt->plain_failed,
                hunt->plain_tries, hunt->plain_outcome.words);
    if (hunt->child_threads) hd_warn(COMMAND, HD_CHILD_THREADS_WARNING);
    hd_findings_hide(&hunt->findings, &output->hiding);
    struct hd_findings shown = hd_explored_shown(hunt, all);
    struct hd_explored_input made;
    hd_explored_input(hunt, &options->program, &made);
    if (hunt->closed.there) {
        made.input.more_name = "exploration";
        made.input.more = hd_report_closed_json(hunt);
    }
    struct said said = {hunt, all, (size_t)output->most};
    int status = hd_findings_status(output, &hunt->findings);
    /* A program that was seen to fail is never said to be well. */
    if (status == HD_EXIT_CLEAN && hunt->plain_failed > 0) status = HD_EXIT_FINDINGS;
    status = hd_findings_report(output, &shown, &made.input, status, print_text, &said);
    json_decref(made.input.more);
    hd_explored_input_free(&made);
    free(shown.list.data);
    if (hunt->unsaved.code != HD_OK) hd_warn(COMMAND, "%s", hunt->unsaved.message);
    return hd_finish_output(COMMAND) ? status : HD_EXIT_FAILED;
}

int hd_cmd_hunt(int argc, char **argv) {
    uint64_t seconds = 60, runs = 0, records = 12, repeats = 20, limit = 0, seed = 0, jobs = 0,
             good_status = 0, expose = 50;
    const char *output = NULL, *oracle = NULL, *input = NULL, *cover_file = NULL;
    struct hd_findings_options report = HD_FINDINGS_DEFAULTS(COMMAND, 0);
    report.fails = fails;
    bool first = false, any_output = false, same_output = false, all = false, aslr = false,
         keep_nothing = false, complete = false;
    const char *names = NULL, *correlations = NULL, *from = NULL, *invariants = NULL;
    struct hd_campaign_option campaign = {.path = NULL};
    struct hd_runs_option how = {.snapshot_at = NULL};
    struct hd_option options[] = {
        HD_TEXT("output", 'o', "FILE", &output,
                "write the failing schedule to FILE (default NAME.heddle.json)"),
        HD_FLAG("no-output", 'n', &keep_nothing, "write no file"),
        HD_NUMBER("time", 't', "SECONDS", &seconds, 1, 1000000, "how long to hunt (default 60)"),
        HD_NUMBER("runs", 0, "N", &runs, 1, UINT32_MAX, "force at most N runs (default: no limit)"),
        HD_NUMBER("records", 0, "N", &records, 1, 1000,
                  "record at most N runs to predict from (default 12)"),
        HD_NUMBER("repeat", 0, "N", &repeats, 1, 100000,
                  "replay a failing schedule N times (default 20)"),
        HD_NUMBER("expose", 0, "N", &expose, 0, 1000000,
                  "if nothing failed, N runs under each of expose's strategies (default 50)"),
        HD_NUMBER("limit", 'l', "SECONDS", &limit, 1, 1000000,
                  "a run that takes longer hangs (default: from the program's own runs)"),
        HD_TEXT("oracle", 0, "CMD", &oracle,
                "shell command that judges a run: reads its output, fails if that is wrong"),
        HD_NUMBER("good-status", 0, "N", &good_status, 0, 255,
                  "exit status of a good run (default 0)"),
        HD_FLAG("same-output", 0, &same_output,
                "a run fails if it prints other lines than the plain runs"),
        HD_FLAG("any-output", 0, &any_output,
                "do not report that the output depends on the schedule"),
        HD_TEXT("input", 0, "FILE", &input, "the program's standard input (default: none)"),
        HD_FLAG("complete", 0, &complete,
                "go on until every way in which reads can see writes was run, or say why not"),
        HD_FLAG("first", '1', &first, "stop at the first failure"),
        HD_NUMBER("seed", 's', "N", &seed, 0, UINT64_MAX, "seed of the random runs"),
        HD_NUMBER("jobs", 'j', "N", &jobs, 0, 1024,
                  "predict with N threads (default: the cores), N runs at once (default 1)"),
        HD_CAMPAIGN_OPTIONS(&campaign),
        HD_RUNS_OPTIONS(&how),
        HD_FLAG("aslr", 0, &aslr, "leave address space randomisation on"),
        HD_TEXT("cover", 0, "FILE", &cover_file,
                "write what the traced runs covered to FILE, for heddle cover"),
        HD_TEXT("from", 0, "FILE", &from,
                "force only the findings that `heddle lint --format json` wrote to FILE"),
        HD_FLAG("all", 'a', &all, "list what was forced without harm too"),
        HD_FINDINGS_OPTIONS(&report, "0"),
        HD_CORRELATIONS_OPTION(&correlations),
        HD_INVARIANTS_OPTION(&invariants),
        HD_NAMES_OPTION(&names),
        HD_OPTIONS_END};
    struct hd_usage usage = {
        .command = COMMAND,
        .operands = "[--] CMD [ARG]...",
        .about =
            "Looks for concurrency bugs in CMD, which `heddle cc` or `heddle c++` has linked:\n"
            "records a few runs, predicts from them what could go wrong in other\n"
            "interleavings, makes the program take each of those, and reports what failed,\n"
            "with a schedule that makes it fail again. Exit status 0: nothing found, 1: a\n"
            "failure, or something that is a bug by itself; 2: could not do the job.\n",
        .example = "  heddle cc -g -O1 -o app app.c -pthread\n"
                   "  heddle hunt -- ./app 4\n"
                   "  heddle hunt --time 300 --oracle 'grep -q total=12' -- ./app\n",
        .options = options,
        .least = 1,
        .most = -1,
        .operands_last = true};
    int operands, status;
    if (!hd_options_parse(&usage, argc, argv, &operands, &status)) return status;
    if (hd_campaign_option_is_worker(&campaign))
        return hd_campaign_option_work(COMMAND, &campaign, NULL, (unsigned)jobs, how.no_server);
    if (!hd_runs_option_use(COMMAND, &how, &campaign)) return HD_EXIT_FAILED;
    if (!hd_names_option_use(COMMAND, names) || !hd_findings_options_use(&report)) {
        hd_findings_options_free(&report);
        return hd_findings_failed(&report, HD_EXIT_FAILED);
    }
    struct hd_correlated_rules rules = {.rule = {0}};
    if (correlations != NULL &&
        !hd_correlations_option_use(COMMAND, correlations, report.store.project, &rules)) {
        hd_findings_options_free(&report);
        return hd_findings_failed(&report, HD_EXIT_FAILED);
    }
    struct hd_invariants learned = {.runs = 0};
    if (!hd_invariants_option_use(COMMAND, invariants, report.store.project, argv[operands],
                                  &learned)) {
        hd_correlated_rules_free(&rules);
        hd_findings_options_free(&report);
        return hd_findings_failed(&report, HD_EXIT_FAILED);
    }
    struct hd_error error;
    struct hd_findings_file suspicions = {0};
    char *library = NULL;
    if (from == NULL || hd_suspicions_load(from, &suspicions, &error))
        library = hd_runtime_directory(&error);
    if (library == NULL) {
        hd_findings_file_free(&suspicions);
        hd_correlated_rules_free(&rules);
        hd_invariants_free(&learned);
        hd_findings_options_free(&report);
        return hd_findings_failed(&report, hd_complain_error(COMMAND, &error));
    }
    if (from != NULL && suspicions.findings.list.size == 0)
        hd_warn(COMMAND, "%s has no findings: there is nothing to force", from);
    char *path = hd_explore_path(argv[operands], "heddle");
    struct drawing drawing = {.campaign = NULL};
    hd_status_line_begin(&drawing.line);
    char fault[HD_FAULT_WORDS] = "";
    struct hd_host host = {.library_directory = library,
                           .stop = hd_stop_on_signals(HD_STOP_ALL),
                           .runtime_fault = fault};
    struct hd_explore_options wanted = {.program = {.argv = argv + operands,
                                                    .input = input,
                                                    .limit_ms = limit * 1000,
                                                    .good_status = (int)good_status,
                                                    .oracle = oracle,
                                                    .keep_aslr = aslr},
                                        .host = &host,
                                        .plan = HD_PLAN_HUNT,
                                        .suspicions = from != NULL ? &suspicions.findings : NULL,
                                        .seconds = (double)seconds,
                                        .plain_runs = 3,
                                        .most_recorded = (uint32_t)records,
                                        .most_runs = runs,
                                        .strategy_runs = (uint32_t)expose,
                                        .repeats = (uint32_t)repeats,
                                        .seed = seed,
                                        .jobs = (unsigned)jobs,
                                        .at_once = (unsigned)jobs,
                                        .no_server = how.no_server,
                                        .follow_fork = how.follow_fork,
                                        .snapshot_at = how.snapshot_at,
                                        .output = same_output  ? HD_OUTPUT_SAME
                                                  : any_output ? HD_OUTPUT_ANY
                                                               : HD_OUTPUT_NOTED,
                                        .first = first,
                                        .complete = complete,
                                        .correlations = correlations != NULL ? &rules : NULL,
                                        .invariants = invariants != NULL ? &learned : NULL,
                                        .depth = 3,
                                        .pruning = HD_PRUNE_RULES,
                                        .timeout_ms = 25,
                                        .targets = 8,
                                        .reproducer = keep_nothing     ? NULL
                                                      : output != NULL ? output
                                                                       : path,
                                        .report = draw,
                                        .report_context = &drawing};
    struct hd_cover cover = {0};
    wanted.cover = &cover;
    struct hd_exploration hunt;
    bool done = hd_campaign_option_open(&campaign, &wanted, &drawing.campaign, &error) &&
                hd_explore(&wanted, &hunt, &error);
    hd_status_line_wipe(&drawing.line);
    int interrupted = 0;
    if (done) {
        interrupted = hunt.interrupted;
        status = finish(&hunt, &wanted, &report, all);
        if (!hd_campaign_option_close(COMMAND, drawing.campaign, &hunt)) status = HD_EXIT_FAILED;
        if (cover_file != NULL && !hd_cover_save(cover_file, &cover, &error))
            status = hd_complain_error(COMMAND, &error);
        hd_exploration_free(&hunt);
    } else {
        status = hd_findings_failed(&report, hd_complain_error(COMMAND, &error));
        hd_campaign_option_close(COMMAND, drawing.campaign, NULL);
    }
    hd_findings_options_free(&report);
    hd_cover_free(&cover);
    hd_correlated_rules_free(&rules);
    hd_findings_file_free(&suspicions);
    hd_invariants_free(&learned);
    free(path);
    free(library);
    return hd_end_by_signal(interrupted, hd_complain_runtime(COMMAND, fault, status));
}
