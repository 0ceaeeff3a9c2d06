/* heddle predict: what other interleavings of a recorded run would do wrong. */
#include "base/alloc.h"
#include "base/memory.h"
#include "cli/commands.h"
#include "cli/correlations_option.h"
#include "cli/findings_output.h"
#include "cli/full_option.h"
#include "cli/invariants_option.h"
#include "cli/names_option.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/predict_campaign.h"
#include "cli/predict_request.h"
#include "methods/methods.h"
#include "methods/nondet_paper.h"
#include "report/page.h"
#include "report/tables.h"
#include "run/schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COMMAND HD_PREDICT_COMMAND

/* ---- what is said -----------------------------------------------------------------------------
 */

/* What the text report is printed from. */
struct said {
    const struct hd_predict_request *request;
    const struct hd_findings *findings;
    const struct hd_nondet_stats *nondet;
};

static void print_text(FILE *out, const struct hd_report_style *style, const void *context) {
    const struct said *said = context;
    const struct hd_predict_request *request = said->request;
    if (request->nondet) hd_report_determinism(out, said->nondet, &request->options);
    hd_report_text(out, said->findings, (size_t)request->output.most, style);
    hd_report_text_summary(out, said->findings, request->options.instances, style);
}

static int report(struct hd_predict_request *request, const struct hd_model *model,
                  const struct hd_findings *findings, const struct hd_nondet_stats *nondet) {
    const struct hd_trace *trace = model->trace;
    uint32_t count = 0;
    const char **warning = hd_alloc(trace->warnings + (size_t)model->warnings, sizeof *warning);
    for (uint32_t i = 0; i < trace->warnings; i++) warning[count++] = trace->warning[i];
    for (uint32_t i = 0; i < model->warnings; i++) warning[count++] = model->warning[i];
    char build[33];
    struct hd_report_input input = {.path = request->path,
                                    .trace = true,
                                    .build = hd_trace_build(trace, build) ? build : NULL,
                                    .partial = !trace->end.whole,
                                    .format = hd_report_format_name(trace->format),
                                    .command = trace->command,
                                    .events = trace->recorded,
                                    .loaded = model->events,
                                    .threads = model->threads,
                                    .warning = warning,
                                    .warnings = count};
    struct hd_report_number read[] = {{"reads", nondet->reads},
                                      {"may_see_another_write", nondet->loose},
                                      {"undecided", nondet->doubtful}};
    if (request->nondet) {
        bool open = nondet->doubtful > 0 || nondet->left > 0 || input.partial;
        input.determinism = nondet->loose > 0 ? "nondeterministic"
                            : open            ? "undecided"
                                              : "deterministic";
        input.read = read;
        input.reads = sizeof read / sizeof *read;
    }
    struct said said = {request, findings, nondet};
    int status =
        hd_findings_report(&request->output, findings, &input,
                           hd_findings_status(&request->output, findings), print_text, &said);
    free(warning);
    return status;
}

/* ---- schedules --------------------------------------------------------------------------------
 */

/* Writes the schedule of each finding that has a witness, for heddle replay: w1.json, w2.json, ...
 */
static bool save_schedules(const struct hd_predict_request *request,
                           const struct hd_predict *predict, const struct hd_findings *findings) {
    struct hd_error error;
    unsigned saved = 0;
    if (mkdir(request->witness, 0777) != 0 && errno != EEXIST) {
        hd_complain(COMMAND, "--witness: %s can't be made: %s", request->witness, strerror(errno));
        return false;
    }
    for (size_t i = 0; i < findings->list.size; i++) {
        const struct hd_finding *finding = &findings->list.data[i];
        char path[4096];
        if (finding->witness == NULL) continue;
        snprintf(path, sizeof path, "%s/w%u.json", request->witness, ++saved);
        struct hd_schedule schedule = {0};
        bool done = hd_schedule_from_finding(&schedule, predict->model, predict->describe, finding,
                                             &error) &&
                    hd_schedule_save(&schedule, path, &error);
        hd_schedule_free(&schedule);
        if (!done) {
            hd_complain_error(COMMAND, &error);
            return false;
        }
        if (request->output.format == HD_FINDINGS_TEXT)
            printf("%s  %s on %s  (heddle replay %s -- %s)\n", path,
                   hd_finding_kind_name(finding->kind), finding->variable, path,
                   predict->model->trace->command != NULL ? predict->model->trace->command : "CMD");
    }
    return true;
}

/* ---- the command ------------------------------------------------------------------------------
 */

static bool compare_races(const struct hd_predict_request *request, struct hd_predict *predict,
                          struct hd_progress_bar *bar, bool *found, struct hd_error *error) {
    struct hd_comparison comparison;
    if (!hd_compare_races(predict, &comparison, error)) return false;
    hd_progress_bar_end(bar);
    (request->output.format == HD_FINDINGS_JSON ? hd_table_races_json : hd_table_races)(
        stdout, &comparison, predict, request->path);
    *found = comparison.method[HD_COMPARED - 1].races > 0;
    hd_comparison_free(&comparison);
    return true;
}

static bool compare_atomicity(const struct hd_predict_request *request, struct hd_predict *predict,
                              struct hd_progress_bar *bar, bool *found, struct hd_error *error) {
    struct hd_atomicity_comparison comparison;
    if (!hd_compare_atomicity(predict, &comparison, error)) return false;
    hd_progress_bar_end(bar);
    (request->output.format == HD_FINDINGS_JSON ? hd_table_atomicity_json : hd_table_atomicity)(
        stdout, &comparison, predict, request->path);
    *found = comparison.method[HD_ATOMICITY_COMPARED - 1].kept > 0;
    hd_atomicity_comparison_free(&comparison);
    return true;
}

static bool compare_nondet(const struct hd_predict_request *request, struct hd_predict *predict,
                           struct hd_progress_bar *bar, bool *found, struct hd_error *error) {
    struct hd_nondet_comparison comparison;
    if (!hd_nondet_compare(predict, &comparison, error)) return false;
    hd_progress_bar_end(bar);
    if (request->output.format == HD_FINDINGS_JSON)
        hd_table_nondet_json(stdout, &comparison, predict, request->path);
    else
        hd_table_nondet(stdout, &comparison, predict);
    *found = comparison.sound.stats.loose > 0;
    hd_nondet_comparison_free(&comparison);
    return true;
}

static bool compare_correlated(const struct hd_predict_request *request, struct hd_predict *predict,
                               struct hd_progress_bar *bar, bool *found, struct hd_error *error) {
    struct hd_correlated_comparison comparison;
    if (!hd_compare_correlated(predict, &comparison, error)) return false;
    hd_progress_bar_end(bar);
    (request->output.format == HD_FINDINGS_JSON ? hd_table_correlated_json : hd_table_correlated)(
        stdout, &comparison, predict, request->path);
    *found = comparison.method[HD_CORRELATED_COMPARED - 1].found > 0;
    hd_correlated_comparison_free(&comparison);
    return true;
}

static int compare(const struct hd_predict_request *request, struct hd_predict *predict,
                   struct hd_progress_bar *bar) {
    struct hd_error error;
    bool found = false;
    enum hd_finding_kind kind = hd_predict_compared_kind(request);
    bool done = (request->correlations != NULL  ? compare_correlated
                 : kind == HD_FINDING_ATOMICITY ? compare_atomicity
                 : kind == HD_FINDING_NONDETERMINISM
                     ? compare_nondet
                     : compare_races)(request, predict, bar, &found, &error);
    hd_progress_bar_end(bar);
    if (!done) return hd_complain_error(COMMAND, &error);
    hd_warn_about(COMMAND, predict->model, predict->describe);
    if (!hd_finish_output(COMMAND)) return HD_EXIT_FAILED;
    return found ? HD_EXIT_FINDINGS : HD_EXIT_CLEAN;
}

static int predict_all(struct hd_predict_request *request, struct hd_predict *predict,
                       struct hd_progress_bar *bar) {
    struct hd_findings findings = hd_findings_begin(&request->output);
    struct hd_error error;
    bool done = true;
    struct hd_predict_stats stats[HD_PREDICT_KIND_COUNT], correlated = {0};
    struct hd_nondet_stats nondet = {0};
    predict->nondet = &nondet;
    for (unsigned k = 0; done && k < HD_PREDICT_KIND_COUNT; k++) {
        if (!request->kind[k]) continue;
        struct hd_finding_summary before = findings.summary;
        memset(&predict->stats, 0, sizeof predict->stats);
        done = hd_predict_kinds[k].run(predict, &findings, &error);
        hd_findings_looked_for(&findings, hd_predict_kinds[k].kind, &before);
        stats[k] = predict->stats;
    }
    if (done && request->correlations != NULL) {
        struct hd_finding_summary before = findings.summary;
        memset(&predict->stats, 0, sizeof predict->stats);
        done = hd_predict_correlated(predict, &findings, &error);
        hd_findings_looked_for(&findings, hd_correlated_kind(request->options.method), &before);
        correlated = predict->stats;
    }
    hd_progress_bar_end(bar);
    if (!done || request->silent) {
        hd_findings_free(&findings);
        return done || request->silent ? HD_EXIT_CLEAN : hd_complain_error(COMMAND, &error);
    }
    hd_findings_sort(&findings);
    hd_findings_fingerprint(&findings);
    hd_findings_hide(&findings, &request->output.hiding);
    int status = report(request, predict->model, &findings, &nondet);
    FILE *aside = request->output.format == HD_FINDINGS_TEXT ? stdout : stderr;
    for (unsigned k = 0; request->stats && k < HD_PREDICT_KIND_COUNT; k++)
        if (request->kind[k]) hd_table_stats(aside, hd_predict_kinds[k].kind, &stats[k]);
    if (request->stats && request->correlations != NULL)
        hd_table_stats(aside, hd_correlated_kind(request->options.method), &correlated);
    if (request->stats && request->nondet) hd_table_nondet_stats(aside, predict, &nondet);
    if (status != HD_EXIT_FAILED && request->witness != NULL &&
        !save_schedules(request, predict, &findings))
        status = HD_EXIT_FAILED;
    hd_findings_free(&findings);
    hd_warn_about(COMMAND, predict->model, predict->describe);
    return hd_finish_output(COMMAND) ? status : HD_EXIT_FAILED;
}

/* Says that a trace is too much before hours are spent on it. */
static bool fits(const struct hd_model *model, const char *path, struct hd_error *error) {
    uint64_t room = hd_memory_limit(), needed = (uint64_t)model->events * HD_EVENT_BYTES_LEAST;
    if (needed <= room) return true;
    bool some = model->events < model->trace->recorded;
    return hd_fail(
        error, HD_ERR_USAGE,
        "%s has %u events%s, which take %llu MB and more to predict from, and %llu MB are "
        "allowed, enough for about %llu events; give more with --memory, or record less",
        path, model->events, some ? " that are needed" : "", (unsigned long long)(needed >> 20),
        (unsigned long long)(room >> 20), (unsigned long long)(room / HD_EVENT_BYTES_LEAST));
}

/* Findings are pairs and triples of accesses that no fork, join or barrier orders. --all also shows
 * what was ruled out, so it takes all of shared memory. Whoever counts events or reads, relates
 * accesses of two variables, or wants every rule checked, wants the other steps, too. */
static enum hd_trace_keep kept(const struct hd_predict_request *request) {
    bool steps = request->compare || request->options.instances || request->nondet ||
                 request->correlations != NULL || request->strict;
    if (request->full) return HD_KEEP_ALL;
    if (steps) return HD_KEEP_STEPS;
    return request->options.all ? HD_KEEP_SHARED : HD_KEEP_CONCURRENT;
}

/* Of the time that is allowed, a reading of the trace may take so much, and there are up to two.
 * What comes before the first question is decided takes ten to fifteen times as long as the second
 * one. */
#define LOADING (1.0 / 32)
#define LOADING_LEAST 0.1 /* seconds */

static double time_to_load(const struct hd_predict_request *request) {
    double seconds = (double)request->seconds * LOADING;
    if (request->seconds == 0 || request->strict) return 0;
    return seconds > LOADING_LEAST ? seconds : LOADING_LEAST;
}

static bool load(const struct hd_predict_request *request, const char *path,
                 struct hd_progress_bar *bar, struct hd_model *model) {
    struct hd_error error;
    uint64_t room = hd_memory_limit() / HD_EVENT_BYTES_ROOM + 1;
    struct hd_trace_options trace_options = {
        .keep = kept(request),
        .most_events = request->strict ? 0 : (uint32_t)(room < UINT32_MAX ? room : UINT32_MAX),
        .or_first = !request->strict,
        .seconds = time_to_load(request),
        .progress = &bar->progress};
    struct hd_model_options model_options = {.lenient = !request->strict};
    if (hd_model_load(path, &trace_options, &model_options, model, &error)) {
        if (model->events == 0 && model->trace->warnings > 0)
            hd_fail(&error, HD_ERR_LIMIT, "%s: %s", path, model->trace->warning[0]);
        else if (model->events == 0)
            hd_fail(&error, HD_ERR_FORMAT, "%s has no events: nothing was recorded", path);
        else if (!model->trace->end.whole && request->strict)
            hd_fail(&error, HD_ERR_DAMAGED, "%s is not whole: %s", path, model->trace->end.missing);
        else if (fits(model, path, &error))
            return true;
        hd_model_free(model);
    }
    hd_progress_bar_end(bar);
    hd_complain_error(COMMAND, &error);
    return false;
}

/* The runs that passed, beside the one that is predicted from. */
struct passing {
    struct hd_model *model;
    struct hd_analysis *analysis, **list;
    uint32_t count;
};

static void forget_passing(struct passing *passing) {
    for (uint32_t i = 0; i < passing->count; i++) {
        hd_analysis_free(&passing->analysis[i]);
        hd_describe_close(passing->analysis[i].describe);
        hd_model_free(&passing->model[i]);
    }
    free(passing->model);
    free(passing->analysis);
    free(passing->list);
}

static bool load_passing(const struct hd_predict_request *request, struct hd_progress_bar *bar,
                         struct passing *passing) {
    size_t room = request->passings;
    *passing = (struct passing){.model = hd_zalloc(room, sizeof *passing->model),
                                .analysis = hd_zalloc(room, sizeof *passing->analysis),
                                .list = hd_zalloc(room, sizeof *passing->list)};
    for (uint32_t i = 0; i < request->passings; i++) {
        if (!load(request, request->passing[i], bar, &passing->model[i])) return false;
        passing->analysis[i] =
            (struct hd_analysis){.model = &passing->model[i],
                                 .describe = hd_describe_open(&passing->model[i]),
                                 .lean = true};
        passing->list[i] = &passing->analysis[i];
        passing->count++;
    }
    return true;
}

static int run(struct hd_predict_request *request) {
    struct hd_progress_bar bar;
    struct hd_model model;
    struct passing passing;
    hd_progress_bar_begin(&bar);
    if (!load(request, request->path, &bar, &model)) return HD_EXIT_FAILED;
    int status = HD_EXIT_FAILED;
    if (request->witness != NULL && model.trace->format != HD_FORMAT_BINARY) {
        hd_progress_bar_end(&bar);
        hd_complain(COMMAND,
                    "--witness: %s is not a recorded trace, and only recorded runs can be replayed",
                    request->path);
        hd_model_free(&model);
        return HD_EXIT_FAILED;
    }
    if (!hd_invariants_option_use(COMMAND, request->invariants, request->output.store.project,
                                  hd_place_program(model.trace), &request->learned)) {
        hd_progress_bar_end(&bar);
        hd_model_free(&model);
        return HD_EXIT_FAILED;
    }
    if (request->invariants != NULL) request->options.invariants = &request->learned;
    if (load_passing(request, &bar, &passing)) {
        request->options.progress = &bar.progress;
        request->options.passing = passing.list;
        request->options.passings = passing.count;
        struct hd_analysis analysis = {.model = &model,
                                       .describe = hd_describe_open(&model),
                                       .progress = &bar.progress,
                                       .most_candidates = request->candidates};
        struct hd_predict predict = {.analysis = &analysis,
                                     .model = &model,
                                     .describe = analysis.describe,
                                     .options = request->options};
        status = request->compare ? compare(request, &predict, &bar)
                                  : predict_all(request, &predict, &bar);
        hd_analysis_free(&analysis);
        hd_describe_close(analysis.describe);
    }
    forget_passing(&passing);
    hd_invariants_free(&request->learned);
    hd_model_free(&model);
    return status;
}

/* "lockset|hb|...": the names of hd_methods as choices of an option. */
static void list_engines(char *text, size_t room) {
    size_t used = 0;
    for (unsigned i = 0; i < HD_METHOD_COUNT && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%s", i > 0 ? "|" : "",
                                 hd_methods[i]->name);
}

int hd_cmd_predict(int argc, char **argv) {
    struct hd_predict_request request = {.model = MODEL_NOT_GIVEN,
                                         .output = HD_FINDINGS_DEFAULTS(COMMAND, 100)};
    /* One query that is hopeless must not hold up all others. */
    request.options.budget.nanoseconds = 10000000000u;
    unsigned engine = HD_METHOD_INDEX_poly;
    char engines[128];
    list_engines(engines, sizeof engines);
    const char *budget = NULL;
    unsigned patterns = 0;
    bool no_branches = false;
    uint64_t jobs = 0, candidates = HD_MOST_CANDIDATES;
    bool events = false;
    struct hd_campaign_option campaign = {.path = NULL};
    struct hd_option options[] = {
        HD_CHOICE("engine", 'e', "E", &engine, engines,
                  "the method that decides (default poly, which is exact)"),
        HD_CHOICE("model", 'm', "M", &request.model, "csr|cdsr|sound|paper",
                  "cdsr: every read keeps its write (default); csr: reads may read anything; "
                  "nondet: sound (exact, default) or paper (its graphs)"),
        HD_TEXT("read", 0, "SITE", &request.options.read_site,
                "nondet: only reads at SITE (file.c:12, file.c)"),
        HD_FLAG("final-state", 0, &request.options.final_state,
                "nondet: what shared variables hold in the end counts as read"),
        HD_FLAG("compare", 0, &request.compare, "one table that compares what each engine says"),
        HD_FLAG("instances", 0, &request.options.instances,
                "decide and list every pair of events, not one for each pair of sites"),
        HD_FLAG("all", 'a', &request.options.all,
                "show every verdict and every rank, not only what was found"),
        HD_FLAG("events", 0, &events,
                "JSON: list all events of a witness, also of more than 1,000"),
        HD_CHOICE("patterns", 0, "P", &patterns, "avio|avfilter",
                  "atomicity: the four patterns of AVIO (default), or W-W-W too"),
        HD_FLAG("relax-branches", 0, &request.options.relax_branches,
                "a read that no branch follows need not keep its write"),
        HD_FLAG("no-branches", 0, &no_branches, "assume that no thread takes a branch"),
        HD_TEXT("witness", 'w', "DIR", &request.witness,
                "write each finding's schedule to DIR/w1.json, ..., for heddle replay"),
        HD_TEXT("budget", 0, "N|SECONDS", &budget,
                "give up on a candidate after N choices, or after a time (2s, 0.5s; default 10s)"),
        HD_NUMBER("time", 't', "SECONDS", &request.seconds, 1, 1000000,
                  "decide nothing more after SECONDS; what is left is undecided, and of a "
                  "recording that is too large for that, only the beginning is looked at"),
        HD_NUMBER("candidates", 0, "N", &candidates, 0, UINT32_MAX,
                  "look at about N candidates of a kind and count the rest, 0 for all (default "
                  "100000)"),
        HD_NUMBER("jobs", 'j', "N", &jobs, 0, 1024, "work with N threads (default: the cores)"),
        HD_FLAG(
            "strict", 0, &request.strict,
            "refuse a trace that is cut or breaks a rule, instead of using the rest and warning"),
        HD_FULL_OPTION(&request.full),
        HD_FLAG("stats", 0, &request.stats, "show which step of the method decided how much"),
        HD_FINDINGS_OPTIONS(&request.output, "100"),
        HD_CORRELATIONS_OPTION(&request.correlations),
        HD_INVARIANTS_OPTION(&request.invariants),
        HD_NAMES_OPTION(&request.names),
        HD_CAMPAIGN_OPTIONS(&campaign),
        HD_OPTIONS_END};
    struct hd_usage usage = {
        .command = COMMAND,
        .operands = "[KIND[,KIND]...] TRACE [PASSING-RUN]...",
        .about = "Finds, from one recorded run, what goes wrong in other interleavings of its\n"
                 "threads, and shows a schedule for each finding. KIND is race (two accesses at\n"
                 "the same time), atomicity (an access between two that belong together), order\n"
                 "(use before initialisation, use after free, missed signal), deadlock, or nondet\n"
                 "(reads that may see another write). Without KIND: all but nondet. TRACE is a\n"
                 "file in any format that heddle reads, or - for standard input. Give traces of\n"
                 "other runs that passed, too: what they did is harmless and is hidden. Exit\n"
                 "status 0: nothing found, 1: findings, 2: the job could not be done.\n"
#define X(word, function, kind, about) " " word
                 "\nKinds:" HD_PREDICT_KINDS(X) "\n",
#undef X
        .example = "  heddle predict app.hdt\n"
                   "  heddle predict race --engine hb --format json trace.std\n"
                   "  heddle predict atomicity --compare app.hdt\n",
        .options = options,
        .least = 1,
        .most = -1};
    int first, status;
    if (!hd_options_parse(&usage, argc, argv, &first, &status)) return status;
    bool helps = hd_campaign_option_is_worker(&campaign);
    if (!helps && !hd_names_option_use(COMMAND, request.names)) return HD_EXIT_FAILED;
    if (budget != NULL && !hd_predict_parse_budget(budget, &request.options.budget))
        return hd_complain(COMMAND,
                           "--budget: '%s' is neither a number of choices (100000) nor a "
                           "time (2s, 0.5s)",
                           budget);
    request.options.method = hd_methods[engine];
    if (request.seconds > 0) hd_predict_limit_time(&request.options.budget, request.seconds);
    request.options.all_patterns = patterns == 1;
    request.options.branches = no_branches ? HD_BRANCHES_NONE : HD_BRANCHES_RECORDED;
    request.options.jobs = (unsigned)jobs;
    request.candidates = candidates > 0 ? candidates : UINT64_MAX;
    request.output.turns = !events;
    if (helps)
        status = hd_predict_help_campaign(&request, &campaign, run);
    else if (!hd_findings_options_use(&request.output) ||
             !hd_predict_understand_operands(&request, argc - first, argv + first))
        status = HD_EXIT_FAILED;
    else
        status = campaign.path != NULL ? hd_predict_with_campaign(&request, &campaign, run)
                                       : run(&request);
    status = hd_findings_failed(&request.output, status);
    hd_findings_options_free(&request.output);
    hd_correlated_rules_free(&request.rules);
    return status;
}
