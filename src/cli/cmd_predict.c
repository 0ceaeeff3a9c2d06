/* heddle predict: what other interleavings of a recorded run would do wrong. */
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/predict_tables.h"
#include "predict/predict.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#define COMMAND "predict"

enum format { FORMAT_TEXT, FORMAT_JSON };

struct request {
    const char *path;
    bool kind[8];
    struct hd_predict_options options;
    unsigned format;
    bool compare, stats, lenient;
};

/* ---- what is asked ----------------------------------------------------------------------------
 */

static bool choose_kinds(struct request *request, const char *words) {
    for (;;) {
        size_t length = strcspn(words, ",");
        unsigned k = 0;
        while (k < hd_predict_kind_count && (strlen(hd_predict_kinds[k].word) != length ||
                                             strncmp(hd_predict_kinds[k].word, words, length) != 0))
            k++;
        if (k == hd_predict_kind_count) {
            const char *names[8];
            for (unsigned i = 0; i < hd_predict_kind_count; i++)
                names[i] = hd_predict_kinds[i].word;
            char word[64];
            snprintf(word, sizeof word, "%.*s", (int)length, words);
            const char *nearest = hd_nearest_word(word, names, hd_predict_kind_count);
            if (nearest != NULL)
                hd_complain(COMMAND, "'%s' is no kind of finding; did you mean '%s'?", word,
                            nearest);
            else
                hd_complain(COMMAND, "'%s' is no kind of finding; 'heddle predict --help' has them",
                            word);
            return false;
        }
        request->kind[k] = true;
        if (words[length] == '\0') return true;
        words += length + 1;
    }
}

/* "100000" counts choices, "2s" and "0.5s" are seconds. */
static bool parse_budget(const char *text, struct hd_budget *budget) {
    char *end;
    double amount = strtod(text, &end);
    if (end == text || !(amount >= 0) || amount > 1e18) return false;
    *budget = (struct hd_budget){0};
    if (strcmp(end, "s") == 0 || (*end == '\0' && strchr(text, '.') != NULL)) {
        if (amount > 1e9) return false;
        budget->nanoseconds = (uint64_t)(amount * 1e9);
        if (amount > 0 && budget->nanoseconds == 0) budget->nanoseconds = 1;
        return true;
    }
    budget->choices = (uint64_t)amount;
    return *end == '\0' && (double)budget->choices == amount;
}

/* ---- what is said -----------------------------------------------------------------------------
 */

static void warn_about(const struct hd_model *model, const struct hd_describe *describe) {
    const struct hd_trace *trace = model->trace;
    for (uint32_t i = 0; i < trace->warnings; i++) hd_warn(COMMAND, "%s", trace->warning[i]);
    if (!trace->end.whole && trace->end.missing[0] != '\0')
        hd_warn(COMMAND, "the trace is not whole: %s", trace->end.missing);
    for (uint32_t i = 0; i < model->warnings; i++) hd_warn(COMMAND, "%s", model->warning[i]);
    if (!trace->exact)
        hd_warn(COMMAND, "the order of this trace is approximate (recorded with --sched free)");
    const char *const *line;
    uint32_t lines = hd_describe_warnings(describe, &line);
    for (uint32_t i = 0; i < lines; i++) hd_warn(COMMAND, "%s", line[i]);
}

static const char *format_name(enum hd_trace_format format) {
    static const char *const name[] = {[HD_FORMAT_BINARY] = "binary",
                                       [HD_FORMAT_TEXT] = "text",
                                       [HD_FORMAT_RAPIDBIN] = "RapidBin"};
    return name[format];
}

static bool print_json(const struct request *request, const struct hd_model *model,
                       const struct hd_findings *findings) {
    const struct hd_trace *trace = model->trace;
    uint32_t count = 0;
    const char **warning =
        malloc((trace->warnings + (size_t)model->warnings + 1) * sizeof *warning);
    if (warning == NULL) return false;
    for (uint32_t i = 0; i < trace->warnings; i++) warning[count++] = trace->warning[i];
    for (uint32_t i = 0; i < model->warnings; i++) warning[count++] = model->warning[i];
    struct hd_report_input input = {.path = request->path,
                                    .format = format_name(trace->format),
                                    .command = trace->command,
                                    .events = model->events,
                                    .threads = model->threads,
                                    .warning = warning,
                                    .warnings = count};
    bool done = hd_report_json(stdout, findings, &input, HEDDLE_VERSION);
    free(warning);
    return done;
}

static void print_text(const struct request *request, const struct hd_findings *findings) {
    struct hd_report_style style = {.color = hd_color(stdout)};
    hd_report_text(stdout, findings, &style);
    hd_report_text_summary(stdout, findings,
                           request->options.instances ? "candidate pairs of events"
                                                      : "candidate pairs of sites",
                           &style);
}

/* ---- the command ------------------------------------------------------------------------------
 */

static int compare(const struct request *request, struct hd_predict *predict,
                   struct hd_progress_bar *bar) {
    struct hd_comparison comparison;
    struct hd_error error;
    bool done = hd_compare_races(predict, &comparison, &error);
    hd_progress_bar_end(bar);
    if (!done) return hd_complain_error(COMMAND, &error);
    if (request->format == FORMAT_JSON)
        hd_print_comparison_json(&comparison, predict, request->path);
    else
        hd_print_comparison(&comparison, predict, request->path);
    bool races = comparison.method[HD_COMPARED - 1].races > 0;
    hd_comparison_free(&comparison);
    warn_about(predict->model, predict->describe);
    if (!hd_finish_output(COMMAND)) return HD_EXIT_FAILED;
    return races ? HD_EXIT_FINDINGS : HD_EXIT_CLEAN;
}

static int predict_all(const struct request *request, struct hd_predict *predict,
                       struct hd_progress_bar *bar) {
    struct hd_findings findings = {0};
    struct hd_error error;
    bool done = true;
    for (unsigned k = 0; done && k < hd_predict_kind_count; k++)
        if (request->kind[k]) done = hd_predict_kinds[k].run(predict, &findings, &error);
    hd_progress_bar_end(bar);
    if (!done) {
        hd_findings_free(&findings);
        return hd_complain_error(COMMAND, &error);
    }
    hd_findings_sort(&findings);
    hd_findings_fingerprint(&findings, predict->model);
    if (findings.out_of_memory) {
        hd_findings_free(&findings);
        return hd_complain(COMMAND, "out of memory");
    }
    bool found = false;
    for (size_t i = 0; i < findings.list.size; i++) {
        enum hd_finding_verdict verdict = findings.list.data[i].verdict;
        found |= verdict == HD_VERDICT_FEASIBLE || verdict == HD_VERDICT_POSSIBLE ||
                 verdict == HD_VERDICT_CONFIRMED;
    }
    bool json = request->format == FORMAT_JSON;
    if (json)
        done = print_json(request, predict->model, &findings);
    else
        print_text(request, &findings);
    if (request->stats) hd_print_predict_stats(json ? stderr : stdout, &predict->stats);
    hd_findings_free(&findings);
    warn_about(predict->model, predict->describe);
    if (!hd_finish_output(COMMAND) || !done) return HD_EXIT_FAILED;
    return found ? HD_EXIT_FINDINGS : HD_EXIT_CLEAN;
}

static int run(struct request *request) {
    struct hd_progress_bar bar;
    struct hd_model model;
    struct hd_error error;
    hd_progress_bar_begin(&bar);
    struct hd_trace_options trace_options = {.progress = &bar.progress};
    struct hd_model_options model_options = {.lenient = request->lenient};
    if (!hd_model_load(request->path, &trace_options, &model_options, &model, &error)) {
        hd_progress_bar_end(&bar);
        return hd_complain_error(COMMAND, &error);
    }
    request->options.progress = &bar.progress;
    struct hd_predict predict = {
        .model = &model, .describe = hd_describe_open(&model), .options = request->options};
    int status =
        request->compare ? compare(request, &predict, &bar) : predict_all(request, &predict, &bar);
    hd_describe_close(predict.describe);
    hd_model_free(&model);
    return status;
}

int hd_cmd_predict(int argc, char **argv) {
    struct request request = {.options = {.method = HD_METHOD_POLY, .reading = HD_CDSR}};
    /* One query that is hopeless must not hold up all others. */
    request.options.budget.nanoseconds = 10000000000u;
    unsigned engine = HD_METHOD_POLY, reading = HD_CDSR;
    const char *budget = NULL;
    uint64_t jobs = 0;
    struct hd_option options[] = {
        HD_CHOICE("engine", 'e', "E", &engine, "lockset|hb|cp|ucg|poly",
                  "who decides (default poly, which is exact)"),
        HD_CHOICE("model", 'm', "M", &reading, "csr|cdsr",
                  "cdsr: every read keeps its write (default); csr: reads may read anything"),
        HD_CHOICE("format", 0, "F", &request.format, "text|json", "a report to read, or JSON"),
        HD_FLAG("compare", 0, &request.compare, "one table: what each engine says"),
        HD_FLAG("instances", 0, &request.options.instances,
                "decide and list every pair of events, not one of each pair of sites"),
        HD_FLAG("all", 'a', &request.options.all, "show every verdict, not only what was found"),
        HD_TEXT("budget", 0, "N|SECONDS", &budget,
                "give up on a candidate after N choices, or after a time (2s, 0.5s; default 10s)"),
        HD_NUMBER("jobs", 'j', "N", &jobs, 0, 1024, "work with N threads (default: the cores)"),
        HD_FLAG("lenient", 0, &request.lenient,
                "repair a trace that is not well-formed, and warn, instead of refusing it"),
        HD_FLAG("stats", 0, &request.stats, "say which step of the method decided how much"),
        HD_OPTIONS_END};
    struct hd_usage usage = {
        .command = COMMAND,
        .operands = "[race] TRACE",
        .about =
            "Decides from one run what other interleavings of its threads could do: for every\n"
            "pair of conflicting accesses, whether both can be next at the same time. Each\n"
            "race comes with a schedule that leads to it. TRACE is a file of any format\n"
            "heddle reads, or - for standard input. Exit status 0: nothing found, 1: findings,\n"
            "2: could not do the job.\n",
        .example = "  heddle predict race app.hdt\n"
                   "  heddle predict race --engine hb --format json trace.std\n"
                   "  heddle predict race --compare app.hdt\n",
        .options = options,
        .least = 1,
        .most = 2};
    int first, status;
    if (!hd_options_parse(&usage, argc, argv, &first, &status)) return status;
    if (argc - first == 1)
        request.kind[0] = true;
    else if (!choose_kinds(&request, argv[first]))
        return HD_EXIT_FAILED;
    if (budget != NULL && !parse_budget(budget, &request.options.budget))
        return hd_complain(COMMAND,
                           "--budget: '%s' is neither a number of choices (100000) nor a "
                           "time (2s, 0.5s)",
                           budget);
    request.path = argv[argc - 1];
    request.options.method = (enum hd_method)engine;
    request.options.reading = (enum hd_reading)reading;
    request.options.jobs = (unsigned)jobs;
    return run(&request);
}
