/* heddle mine: which variables of a program belong together, and who updates one without the other.
 */
#define _GNU_SOURCE /* get_current_dir_name */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/whole_file.h"
#include "cli/commands.h"
#include "cli/findings_output.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/source_input.h"
#include "mine/mine.h"
#include "report/report.h"
#include "source/source.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define COMMAND "mine"

struct request {
    struct hd_source_input source;
    int argc, first; /* operands: argv[first .. argc) */
    char **argv;
    struct hd_mine_options options;
    struct hd_findings_options report;
    const char *output; /* correlation file, NULL */
    const char *show;   /* correlation file to look into, NULL */
    bool correlations, stats, all;
};

/* ---- a correlation file, looked into ----------------------------------------------------------
 */

static void print_rule(FILE *out, const struct hd_corr_rule *rule) {
    fprintf(out, "%s %s => %s %s", hd_mine_mode_name(rule->a1), rule->x,
            hd_mine_mode_name(rule->a2), rule->y);
    if (rule->functions > 0)
        fprintf(out, "  (%u of %u functions, %.0f %%)", rule->support, rule->functions,
                100.0 * rule->support / rule->functions);
    fputc('\n', out);
}

static bool print_set(FILE *out, const struct hd_corr_file *file, const struct hd_corr_set *set,
                      const char *variable) {
    bool in = false;
    for (uint32_t i = 0; i < set->count; i++)
        in = in || hd_corr_name_fits(file->member.data[set->first + i], variable);
    if (!in) return false;
    fprintf(out, "set %s", hd_mine_mode_name(set->mode));
    for (uint32_t i = 0; i < set->count; i++)
        fprintf(out, " %s", file->member.data[set->first + i]);
    if (set->functions > 0) fprintf(out, "  (%u of %u functions)", set->support, set->functions);
    fputc('\n', out);
    return true;
}

/* [ACCESS] VARIABLE: the rules that begin with it, and the sets that it is in. */
static int show(const struct request *request, int count, char **word) {
    unsigned mode = count == 2 ? hd_mine_mode_of(word[0], strlen(word[0])) : HD_MINE_ANY;
    if (count < 1 || count > 2)
        return hd_complain(COMMAND, "--show takes a file and then [read|write|any] VARIABLE");
    if (mode == 0)
        return hd_complain(COMMAND, "'%s' is no access: say read, write or any", word[0]);
    struct hd_corr_file file;
    struct hd_error error;
    if (!hd_corr_load(request->show, &file, &error)) return hd_complain_error(COMMAND, &error);
    const char *variable = word[count - 1];
    unsigned found = 0;
    for (size_t i = 0; i < file.rule.size; i++) {
        const struct hd_corr_rule *rule = &file.rule.data[i];
        if (!hd_corr_name_fits(rule->x, variable) || (count == 2 && rule->a1 != mode)) continue;
        print_rule(stdout, rule);
        found++;
    }
    for (size_t i = 0; i < file.set.size; i++)
        if (count == 1 || file.set.data[i].mode == mode)
            found += print_set(stdout, &file, &file.set.data[i], variable);
    if (found == 0) printf("nothing goes with %s in %s\n", variable, request->show);
    hd_corr_free(&file);
    return hd_finish_output(COMMAND) ? HD_EXIT_CLEAN : HD_EXIT_FAILED;
}

/* ---- text -------------------------------------------------------------------------------------
 */

static void print_update(FILE *out, size_t number, const struct hd_finding *finding,
                         const struct hd_report_style *style) {
    const struct hd_finding_event *event = finding->event;
    fprintf(out, "%4zu. %s%s%s updates %s (%s)\n", number, style->color ? "\033[1m" : "",
            event->function, style->color ? "\033[0m" : "", event->variable, event->site);
    fprintf(out, "      %s\n", finding->conclusion);
    if (*finding->support != '\0') fprintf(out, "      %s\n", finding->support);
    fprintf(out, "      %s\n", finding->ranking);
}

/* "struct" of `struct::field`; "" of a global. */
static size_t group_length(const char *variable) {
    size_t length = 0;
    for (const char *at = variable, *next; (next = strstr(at, "::")) != NULL; at = next + 2)
        length = (size_t)(next - variable);
    return length;
}

static bool same_group(const char *one, const char *other) {
    size_t length = group_length(one);
    return length == group_length(other) && memcmp(one, other, length) == 0;
}

/* By struct, in the order of the best update of each. */
static void print_updates(FILE *out, const struct hd_findings *findings, size_t count,
                          const struct hd_report_style *style) {
    bool *done = hd_zalloc(count, sizeof *done);
    for (size_t i = 0; i < count; i++) {
        const char *variable = findings->list.data[i].variable;
        if (done[i]) continue;
        size_t length = group_length(variable);
        fprintf(out, "%.*s\n", length > 0 ? (int)length : 16,
                length > 0 ? variable : "global variables");
        for (size_t k = i; k < count; k++) {
            if (done[k] || !same_group(variable, findings->list.data[k].variable)) continue;
            print_update(out, k + 1, &findings->list.data[k], style);
            done[k] = true;
        }
        fputc('\n', out);
    }
    free(done);
}

static void print_correlations(FILE *out, const struct hd_mine *mine) {
    struct hd_corr_file file;
    hd_mine_corr(mine, &file);
    for (size_t i = 0; i < file.rule.size; i++) print_rule(out, &file.rule.data[i]);
    for (size_t i = 0; i < file.set.size; i++) {
        const struct hd_corr_set *set = &file.set.data[i];
        print_set(out, &file, set, file.member.data[set->first]);
    }
    if (file.rule.size > 0) fputc('\n', out);
    hd_corr_free(&file);
}

static void print_summary(FILE *out, const struct request *request, const struct hd_source *source,
                          const struct hd_mine *mine, size_t updates, size_t shown,
                          uint64_t hidden) {
    const struct hd_correlations *correlations = &mine->correlations;
    fprintf(out, "%zu inconsistent update%s", updates, updates == 1 ? "" : "s");
    if (shown < updates) fprintf(out, ", the first %zu shown (--max 0 shows all)", shown);
    if (hidden > 0)
        fprintf(out, ", %llu more that may be intended (--all shows them)",
                (unsigned long long)hidden);
    fprintf(out, "; %zu correlation%s, %zu set%s of three variables and more\n",
            correlations->list.size, correlations->list.size == 1 ? "" : "s",
            correlations->set.size, correlations->set.size == 1 ? "" : "s");
    if (correlations->cut_short)
        fprintf(
            out,
            "there are more than %u patterns: sets of variables may be missing, pairs are not\n",
            correlations->patterns);
    if (request->output != NULL && strcmp(request->output, "-") != 0)
        fprintf(out, "correlations are in %s\n", request->output);
    char line[512];
    fprintf(out, "%s\n", hd_source_closing_line(source, line, sizeof line));
}

static void print_stats(const struct hd_mine *mine, double parse, double work) {
    struct rusage self, children;
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    printf("\nfunctions        %u\nvariables        %u, %u left out as popular\n"
           "accesses         %zu\npatterns         %u\ncandidate pairs  %u\n"
           "violations       %u, %u pruned by callers and callees\n"
           "parsing          %.3f s\nmining           %.3f s\n"
           "memory           %ld kB, of a parser %ld kB\n",
           mine->sets.functions, mine->sets.variables, mine->correlations.popular,
           mine->sets.access.size, mine->correlations.patterns, mine->correlations.candidates,
           mine->updates.candidates, mine->updates.pruned, parse, work, self.ru_maxrss,
           children.ru_maxrss);
}

/* ---- the job ----------------------------------------------------------------------------------
 */

static const char *path_of(const struct request *request) {
    return request->source.database != NULL ? request->source.database
                                            : request->argv[request->first];
}

static char *replace(const char *old, size_t bytes, void *context, struct hd_error *error) {
    (void)old;
    (void)bytes;
    (void)error;
    return hd_strdup(context);
}

/* A store has the correlations of the last run over the same files. */
static bool keep_correlations(const struct request *request, char *text) {
    if (request->report.store.path == NULL) return true;
    char *files = hd_store_option_files(path_of(request));
    bool good = hd_store_option_keep(COMMAND, &request->report.store, HD_STORE_CORRELATIONS, files,
                                     replace, text);
    free(files);
    return good;
}

/* Complains and returns false if they can't be written. */
static bool write_correlations(const struct request *request, const struct hd_mine *mine) {
    struct hd_corr_file file;
    struct hd_error error;
    if (request->output == NULL && request->report.store.path == NULL) return true;
    hd_mine_corr(mine, &file);
    char *text = hd_corr_write(&file);
    bool written = true;
    if (request->output != NULL && strcmp(request->output, "-") == 0)
        fputs(text, stdout);
    else if (request->output != NULL && !hd_whole_file_write(request->output, text, &error))
        written = hd_complain_error(COMMAND, &error) == 0;
    written = keep_correlations(request, text) && written;
    free(text);
    hd_corr_free(&file);
    return written;
}

/* What the text report is printed from. */
struct said {
    const struct request *request;
    const struct hd_source *source;
    const struct hd_mine *mine;
    const struct hd_findings *findings;
    uint64_t intended; /* updates that are not shown */
};

static void print_text(FILE *out, const struct hd_report_style *style, const void *context) {
    const struct said *said = context;
    const struct request *request = said->request;
    size_t count = said->findings->list.size, shown = count;
    if (request->report.most > 0 && shown > request->report.most)
        shown = (size_t)request->report.most;
    /* standard output has the correlations, for another program */
    if (style->standard_output && request->output != NULL && strcmp(request->output, "-") == 0)
        return;
    if (request->correlations) print_correlations(out, said->mine);
    print_updates(out, said->findings, shown, style);
    print_summary(out, request, said->source, said->mine, count, shown, said->intended);
}

static int report(struct request *request, const struct hd_source *source,
                  const struct hd_mine *mine) {
    if (!write_correlations(request, mine)) return HD_EXIT_FAILED;
    struct hd_findings findings = {.looked_for = {false}};
    char *base = get_current_dir_name();
    hd_mine_findings(mine, base, request->all, &findings);
    free(base);
    uint64_t intended = findings.summary.hidden;
    hd_findings_hide(&findings, &request->report.hiding);
    char line[512];
    const char *warning = hd_source_closing_line(source, line, sizeof line);
    struct hd_report_input input = {.path = path_of(request),
                                    .format = "source",
                                    .partial = !hd_source_input_whole(source),
                                    .warning = &warning,
                                    .warnings = 1};
    struct said said = {request, source, mine, &findings, intended};
    int status =
        hd_findings_report(&request->report, &findings, &input,
                           hd_findings_status(&request->report, &findings), print_text, &said);
    hd_findings_free(&findings);
    return status;
}

static int mine_source(struct request *request) {
    struct hd_source source = {0};
    int status;
    uint64_t start = hd_now_ns();
    if (!hd_source_input_load(&request->source, COMMAND, request->argc, request->argv,
                              request->first, &source, &status))
        return status;
    uint64_t parsed = hd_now_ns();
    struct hd_mine mine;
    hd_mine_run(&source, &request->options, &mine);
    uint64_t mined = hd_now_ns();
    hd_source_input_warn(COMMAND, &source);
    status = report(request, &source, &mine);
    if (request->stats && request->report.format == HD_FINDINGS_TEXT)
        print_stats(&mine, (double)(parsed - start) / 1e9, (double)(mined - parsed) / 1e9);
    hd_mine_free(&mine);
    hd_source_free(&source);
    return hd_finish_output(COMMAND) ? status : HD_EXIT_FAILED;
}

static bool take_confidence(const char *text, struct hd_mine_options *options) {
    char *end;
    if (text == NULL) return true;
    options->min_confidence = strtod(text, &end);
    return end != text && *end == '\0' && options->min_confidence >= 0 &&
           options->min_confidence <= 1;
}

int hd_cmd_mine(int argc, char **argv) {
    struct request request = {.options = hd_mine_defaults(),
                              .report = HD_FINDINGS_DEFAULTS(COMMAND, 20)};
    const char *confidence = NULL;
#define X(name, option, value, least, most, about) uint64_t name = value;
    HD_MINE_NUMBERS(X)
#undef X
    struct hd_option options[] = {
        HD_TEXT("output", 'o', "FILE", &request.output, "write the correlations to FILE"),
        HD_TEXT("show", 0, "FILE", &request.show,
                "what goes with a variable, by a correlation file"),
#define X(name, option, value, least, most, about) \
    HD_NUMBER(option, 0, "N", &name, least, most, about " (default " #value ")"),
        HD_MINE_NUMBERS(X)
#undef X
            HD_TEXT("min-confidence", 0, "C", &confidence,
                    "support by functions with the first access, at least (default 0.8)"),
        HD_FLAG("correlations", 0, &request.correlations, "print the correlations too"),
        HD_FINDINGS_OPTIONS(&request.report, "20"),
        HD_FLAG("all", 'a', &request.all, "show also updates that may be intended"),
        HD_FLAG("stats", 0, &request.stats, "what was counted, time and memory, at the end"),
        HD_SOURCE_OPTIONS(&request.source),
        HD_OPTIONS_END};
    struct hd_usage usage = {
        .command = COMMAND,
        .operands = "[FILE]... [-- FLAG...]",
        .about = "Reads a C or C++ program, finds the variables that it accesses together (MUVI),\n"
                 "and reports the functions that update one of them and forget the other.\n"
                 "With --show FILE the operands are [read|write|any] VARIABLE.\n",
        .example = "  heddle mine -p build/compile_commands.json -o app.corr\n"
                   "  heddle mine src/*.c -- -Iinclude\n"
                   "  heddle mine --show app.corr write table\n",
        .options = options,
        .least = 0,
        .most = -1};
    int first, status;
    argc = hd_source_input_flags(&request.source, argc, argv);
    if (!hd_options_parse(&usage, argc, argv, &first, &status)) return status;
#define X(name, option, value, least, most, about) request.options.name = (uint32_t)name;
    HD_MINE_NUMBERS(X)
#undef X
    if (!take_confidence(confidence, &request.options))
        return hd_complain(COMMAND, "--min-confidence %s: a number from 0 to 1 is needed",
                           confidence);
    if (request.show != NULL) return show(&request, argc - first, argv + first);
    request.argc = argc;
    request.argv = argv;
    request.first = first;
    status = hd_findings_options_use(&request.report) ? mine_source(&request) : HD_EXIT_FAILED;
    status = hd_findings_failed(&request.report, status);
    hd_findings_options_free(&request.report);
    return status;
}
