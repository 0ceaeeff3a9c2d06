/* heddle expose: run a program under a strategy until it fails, save what makes it fail. */
#include "base/clock.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/findings_output.h"
#include "cli/names_option.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/runs_option.h"
#include "cli/stop.h"
#include "report/explored.h"
#include "report/page.h"
#include "toolchain/compiler.h"

#include <stdlib.h>

#define COMMAND "expose"

/* ---- progress ------------------------------------------------------------------------------- */

struct drawing {
    struct hd_status_line line;
    struct hd_campaign *campaign; /* NULL: none */
};

static void draw(void *context, const struct hd_explore_progress *progress) {
    struct drawing *drawing = context;
    struct hd_status_line *drawn = &drawing->line;
    if (drawing->campaign != NULL)
        hd_campaign_note(drawing->campaign, progress->failures, progress->what);
    if (!hd_status_line_due(drawn, progress->what)) return;
    char line[512];
    double seconds = (double)(hd_now_ns() - drawn->start_ns) * 1e-9;
    int used = snprintf(line, sizeof line, "%s: %llu run%s", progress->what,
                        (unsigned long long)progress->runs, hd_page_plural(progress->runs));
    if (progress->most_runs != 0)
        used += snprintf(line + used, sizeof line - (size_t)used, " of at most %llu",
                         (unsigned long long)progress->most_runs);
    if (progress->all != 0)
        used += snprintf(line + used, sizeof line - (size_t)used, ", %u of %u", progress->done,
                         progress->all);
    if (seconds > 0.2)
        used += snprintf(line + used, sizeof line - (size_t)used, ", %.0f/s",
                         (double)progress->runs / seconds);
    if (progress->best[0] != '\0')
        snprintf(line + used, sizeof line - (size_t)used, "  %s", progress->best);
    hd_status_line_draw(drawn, line);
}

static void list_candidate(void *context, uint32_t rank, const struct hd_interleaving *it,
                           const char *words) {
    hd_status_line_wipe(context);
    printf("%4u  %-5s  gap %llu in %llu%s  %s\n", rank, it->p ? hd_pattern_name(it->pattern) : "",
           (unsigned long long)it->gap, (unsigned long long)it->pairs,
           it->exercised ? ", seen in the profile" : "", words);
}

/* ---- the command ---------------------------------------------------------------------------- */

struct said {
    const struct hd_exploration *exploration;
    enum hd_strategy strategy;
    bool stats;
};

static void print_text(FILE *out, const struct hd_report_style *style, const void *context) {
    const struct said *said = context;
    hd_report_exposed(out, said->exploration, said->strategy, said->stats, style);
}

static bool fails(const struct hd_finding *finding, enum hd_fail_on what) {
    (void)what; /* it reports nothing but failures */
    return finding->forced != NULL && finding->forced->failed;
}

static int finish(struct hd_exploration *r, const struct hd_explore_options *options,
                  struct hd_findings_options *output, bool stats) {
    hd_findings_hide(&r->findings, &output->hiding);
    int status = hd_exposed_shown(r)            ? HD_EXIT_FINDINGS
                 : r->flaky && r->failures == 0 ? HD_EXIT_FAILED
                                                : HD_EXIT_CLEAN;
    struct hd_explored_input made;
    hd_explored_input(r, &options->program, &made);
    made.input.more_name = COMMAND;
    made.input.more = hd_report_exposed_json(r, options->strategy);
    struct said said = {r, options->strategy, stats};
    status = hd_findings_report(output, &r->findings, &made.input, status, print_text, &said);
    json_decref(made.input.more);
    hd_explored_input_free(&made);
    if (r->child_threads) hd_warn(COMMAND, HD_CHILD_THREADS_WARNING);
    if (r->unsaved.code != HD_OK) hd_warn(COMMAND, "%s", r->unsaved.message);
    return hd_finish_output(COMMAND) ? status : HD_EXIT_FAILED;
}

int hd_cmd_expose(int argc, char **argv) {
    unsigned strategy = 0, prune = 0, context = 0;
    struct hd_findings_options report = HD_FINDINGS_DEFAULTS(COMMAND, 0);
    report.fails = fails;
    uint64_t seconds = 60, runs = 0, seed = 1, tries = 20, plain = 3, profile = 6, depth = 3;
    uint64_t timeout = 25, targets = 8, limit = 0, good_status = 0, jobs = 0;
    const char *oracle = NULL, *output = NULL, *input = NULL;
    const char *cover_file = NULL, *targets_file = NULL;
    bool same_output = false, stats = false, aslr = false, list = false, keep_control = false;
    const char *names = NULL;
    struct hd_campaign_option campaign = {.path = NULL};
    struct hd_runs_option how = {.snapshot_at = NULL};
    struct hd_option options[] = {
        HD_CHOICE("strategy", 0, "S", &strategy, "ctrigger|stress|sync|race|pct|pos",
                  "how threads are steered (default ctrigger)"),
        HD_NUMBER("time", 't', "SECONDS", &seconds, 0, 1000000,
                  "stop after so long (default 60; 0: no limit)"),
        HD_NUMBER("runs", 0, "N", &runs, 0, UINT64_MAX, "stop after N runs (default: no limit)"),
        HD_TEXT("oracle", 0, "CMD", &oracle,
                "shell command that judges a run: its input is the program's output"),
        HD_NUMBER("good-status", 0, "N", &good_status, 0, 255,
                  "exit status of a run that did not fail (default 0)"),
        HD_FLAG("same-output", 0, &same_output,
                "a run fails if it prints other lines than the first plain run"),
        HD_TEXT("input", 0, "FILE", &input, "standard input of each run (default /dev/null)"),
        HD_NUMBER("limit", 'l', "SECONDS", &limit, 1, 1000000,
                  "a run that takes longer hangs (default: from the plain runs)"),
        HD_NUMBER("seed", 's', "N", &seed, 0, UINT64_MAX, "seed of the first run (default 1)"),
        HD_NUMBER("jobs", 'j', "N", &jobs, 0, 1024, "pct, pos: N runs at once (default 1)"),
        HD_CAMPAIGN_OPTIONS(&campaign),
        HD_RUNS_OPTIONS(&how),
        HD_TEXT("output", 'o', "FILE", &output,
                "where the reproducer goes (default NAME.expose.json)"),
        HD_NUMBER("repeat", 0, "N", &tries, 0, 100000,
                  "how often to try to reproduce a failure (default 20)"),
        HD_FLAG("control", 0, &keep_control,
                "keep how the failing run was steered, not its schedule"),
        HD_NUMBER("plain", 0, "N", &plain, 1, 100000, "plain runs before all others (default 3)"),
        HD_NUMBER("profile", 0, "N", &profile, 1, 1000,
                  "ctrigger, race: profile at most N runs (default 6)"),
        HD_CHOICE("prune", 0, "P", &prune, "rules|poly|none",
                  "ctrigger: what is left out as impossible (default rules)"),
        HD_CHOICE("context", 0, "C", &context, "none|caller|thread",
                  "ctrigger, race: suspend only in the profiled caller, or thread too"),
        HD_NUMBER("timeout", 0, "MS", &timeout, 1, 60000,
                  "ctrigger, race: longest suspension at first (default 25)"),
        HD_TEXT("cover", 0, "FILE", &cover_file,
                "trace every run, write what was covered to FILE, and stop when nothing is open"),
        HD_TEXT("targets", 0, "FILE", &targets_file,
                "ctrigger: force only what is open in FILE, which heddle cover wrote"),
        HD_NUMBER("at-once", 0, "N", &targets, 1, HD_FORCE_MOST,
                  "ctrigger: interleavings of the first runs (default 8)"),
        HD_FLAG("list", 0, &list, "ctrigger, race: list what would be forced, ranked, and stop"),
        HD_NUMBER("depth", 0, "D", &depth, 1, 64, "pct: depth of the bug looked for (default 3)"),
        HD_FLAG("aslr", 0, &aslr, "leave address space randomisation on"),
        HD_FINDINGS_OPTIONS(&report, "0"),
        HD_FLAG("stats", 0, &stats, "say how many interleavings were left at each step"),
        HD_NAMES_OPTION(&names),
        HD_OPTIONS_END};
    struct hd_usage usage = {
        .command = COMMAND,
        .operands = "[--] CMD [ARG]...",
        .about = "Runs CMD, which `heddle cc` or `heddle c++` has linked, again and again, and\n"
                 "makes its threads take rare interleavings, until a run fails. Saves what made\n"
                 "it fail, for `heddle replay`, and says how often that fails again. Exit status\n"
                 "0: no run failed, 1: exposed, 2: could not do the job, or CMD fails anyway.\n",
        .example = "  heddle expose -- ./app 4 input.txt\n"
                   "  heddle expose --strategy pct --depth 2 --runs 500 -- ./app\n"
                   "  heddle expose --time 600 --oracle 'grep -q \"^total 100$\"' -- ./app\n",
        .options = options,
        .least = 1,
        .most = -1,
        .operands_last = true};
    int first, status;
    if (!hd_options_parse(&usage, argc, argv, &first, &status)) return status;
    if (hd_campaign_option_is_worker(&campaign))
        return hd_campaign_option_work(COMMAND, &campaign, NULL, (unsigned)jobs, how.no_server);
    if (!hd_runs_option_use(COMMAND, &how, &campaign)) return HD_EXIT_FAILED;
    if (!hd_names_option_use(COMMAND, names) || !hd_findings_options_use(&report)) {
        hd_findings_options_free(&report);
        return hd_findings_failed(&report, HD_EXIT_FAILED);
    }
    struct hd_error error;
    char *library = hd_runtime_directory(&error);
    if (library == NULL) return hd_complain_error(COMMAND, &error);
    char *path = hd_explore_path(argv[first], "expose");
    struct drawing drawing = {.campaign = NULL};
    hd_status_line_begin(&drawing.line);
    static const enum hd_pruning pruning[] = {HD_PRUNE_RULES, HD_PRUNE_POLY, HD_PRUNE_NONE};
    char fault[HD_FAULT_WORDS] = "";
    struct hd_host host = {.library_directory = library,
                           .stop = hd_stop_on_signals(HD_STOP_ALL),
                           .runtime_fault = fault};
    struct hd_explore_options wanted = {.program = {.argv = argv + first,
                                                    .input = input,
                                                    .limit_ms = limit * 1000,
                                                    .good_status = (int)good_status,
                                                    .oracle = oracle,
                                                    .keep_aslr = aslr},
                                        .host = &host,
                                        .plan = HD_PLAN_EXPOSE,
                                        .strategy = (enum hd_strategy)strategy,
                                        .seconds = (double)seconds,
                                        .plain_runs = (uint32_t)plain,
                                        .most_recorded = (uint32_t)profile,
                                        .most_runs = runs,
                                        .repeats = (uint32_t)tries,
                                        .seed = seed,
                                        .at_once = (unsigned)jobs,
                                        .no_server = how.no_server,
                                        .follow_fork = how.follow_fork,
                                        .snapshot_at = how.snapshot_at,
                                        .output = same_output ? HD_OUTPUT_SAME : HD_OUTPUT_NOTED,
                                        .first = true,
                                        .keep_control = keep_control,
                                        .depth = (uint32_t)depth,
                                        .pruning = pruning[prune],
                                        .context = (enum hd_context)context,
                                        .timeout_ms = (uint32_t)timeout,
                                        .targets = (uint32_t)targets,
                                        .reproducer = output != NULL ? output : path,
                                        .list = list ? list_candidate : NULL,
                                        .report = draw,
                                        .report_context = &drawing};
    struct hd_cover cover = {0}, open = {0};
    wanted.cover = &cover;
    wanted.trace_all = wanted.until_covered = cover_file != NULL;
    if (targets_file != NULL) wanted.targets_cover = &open;
    struct hd_exploration exploration;
    bool done = (targets_file == NULL || hd_cover_load(targets_file, &open, &error)) &&
                hd_campaign_option_open(&campaign, &wanted, &drawing.campaign, &error) &&
                hd_explore(&wanted, &exploration, &error);
    hd_status_line_wipe(&drawing.line);
    int interrupted = 0;
    if (done) {
        interrupted = exploration.interrupted;
        status = finish(&exploration, &wanted, &report, stats);
        if (!hd_campaign_option_close(COMMAND, drawing.campaign, &exploration))
            status = HD_EXIT_FAILED;
        if (cover_file != NULL && !hd_cover_save(cover_file, &cover, &error))
            status = hd_complain_error(COMMAND, &error);
        hd_exploration_free(&exploration);
    } else {
        status = hd_findings_failed(&report, hd_complain_error(COMMAND, &error));
        hd_campaign_option_close(COMMAND, drawing.campaign, NULL);
    }
    hd_findings_options_free(&report);
    hd_cover_free(&cover);
    hd_cover_free(&open);
    free(path);
    free(library);
    return hd_end_by_signal(interrupted, hd_complain_runtime(COMMAND, fault, status));
}
