/* heddle lint: values that go stale between two critical sections, and variables that belong
 * together but are accessed in two, found in the source (MoTH). */
#define _GNU_SOURCE /* get_current_dir_name */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/whole_file.h"
#include "cli/commands.h"
#include "cli/findings_output.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/source_input.h"
#include "lint/lint.h"
#include "report/report.h"
#include "source/source.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMAND "lint"
#define LIBRARY \
    "no main and no thread is created here: every visible function may run in any thread"

struct request {
    struct hd_source_input source;
    int argc, first; /* operands: argv[first .. argc) */
    char **argv;
    struct hd_lint_options options;
    struct hd_findings_options report;
    const char *graph; /* file for --show-graph, NULL */
    struct hd_option_list without, lock, unlock;
    bool stats;
};

/* ---- text ------------------------------------------------------------------------------------ */

/* Lines of source files. */
struct excerpts {
    const char *path; /* of the file that is open */
    FILE *file;
    unsigned line; /* the next one */
};

/* What the text report is printed from. */
struct said {
    const struct request *request;
    const struct hd_source *source;
    const struct hd_lint *lint;
    const struct hd_findings *findings;
};

static void print_excerpt(FILE *out, struct excerpts *excerpts,
                          const struct hd_finding_event *event,
                          const struct hd_report_style *style) {
    char text[512];
    if (excerpts->file == NULL || strcmp(excerpts->path, event->file) != 0 ||
        event->line < excerpts->line) {
        if (excerpts->file != NULL) fclose(excerpts->file);
        *excerpts = (struct excerpts){event->file, fopen(event->file, "r"), 1};
    }
    if (excerpts->file == NULL) return; /* the sources are elsewhere */
    while (excerpts->line <= event->line && fgets(text, sizeof text, excerpts->file) != NULL)
        if (strchr(text, '\n') != NULL) excerpts->line++;
    if (excerpts->line != event->line + 1) return;
    char *from = text + strspn(text, " \t");
    from[strcspn(from, "\n")] = '\0';
    fprintf(out, "                 %s%6u | %s%s\n", style->color ? "\033[2m" : "", event->line,
            from, style->color ? "\033[0m" : "");
}

static const char *lead_of(const struct hd_finding_event *event, unsigned previous) {
    switch (event->role) {
    case HD_FINDING_ROLE_FIRST:
        return "first block:  ";
    case HD_FINDING_ROLE_SECOND:
        return "second block: ";
    case HD_FINDING_ROLE_BETWEEN:
        return previous == HD_FINDING_ROLE_BETWEEN ? "              " : "in between:   ";
    default:
        return previous == HD_FINDING_ROLE_NONE ? "              " : "through:      ";
    }
}

static void print_event(FILE *out, const struct hd_finding_event *event, unsigned previous) {
    fprintf(out, "      %s%s %s %s", lead_of(event, previous), event->function, event->verb,
            event->variable);
    if (event->locks > 0) fprintf(out, " under %s", event->lock[0].name);
    if (event->frames > 1) fprintf(out, " of %s", event->frame[event->frames - 1].function);
    fprintf(out, " (%s)\n", event->site);
}

static void print_finding(FILE *out, size_t number, const struct hd_finding *finding,
                          const struct hd_report_style *style) {
    struct excerpts excerpts = {.path = NULL};
    fprintf(out, "%4zu. %s%s of %s%s\n      %s\n", number, style->color ? "\033[1m" : "",
            hd_finding_title(finding->kind), finding->variable, style->color ? "\033[0m" : "",
            finding->conclusion);
    unsigned previous = HD_FINDING_ROLE_NONE;
    for (uint32_t i = 0; i < finding->events; i++) {
        print_event(out, &finding->event[i], previous);
        print_excerpt(out, &excerpts, &finding->event[i], style);
        previous = finding->event[i].role;
    }
    if (*finding->ranking != '\0') fprintf(out, "      %s\n", finding->ranking);
    fputc('\n', out);
    if (excerpts.file != NULL) fclose(excerpts.file);
}

static size_t count_of(const struct hd_findings *findings, enum hd_finding_kind kind) {
    size_t count = 0;
    for (size_t i = 0; i < findings->list.size; i++) count += findings->list.data[i].kind == kind;
    return count;
}

static void print_summary(FILE *out, const struct said *said, size_t shown) {
    const struct hd_findings *findings = said->findings;
    const struct hd_lint *lint = said->lint;
    size_t views = count_of(findings, HD_FINDING_VIEW),
           stale = count_of(findings, HD_FINDING_STALE_VALUE), unlikely = 0;
    for (size_t i = 0; i < findings->list.size; i++)
        unlikely += !hd_finding_matters(&findings->list.data[i]);
    if (lint->options.stale) fprintf(out, "%zu stale value%s", stale, stale == 1 ? "" : "s");
    if (lint->options.stale && lint->options.views) fputs(", ", out);
    if (lint->options.views) fprintf(out, "%zu inconsistent view%s", views, views == 1 ? "" : "s");
    if (unlikely > 0) fprintf(out, "; %zu of them unlikely", unlikely);
    if (shown < findings->list.size)
        fprintf(out, "; the first %zu are shown (--max 0 shows all)", shown);
    fprintf(out, "\n%zu atomic block%s, %zu kind%s of thread\n", lint->blocks.list.size,
            lint->blocks.list.size == 1 ? "" : "s", lint->views.thread.size,
            lint->views.thread.size == 1 ? "" : "s");
    if (lint->views.library) fprintf(out, "%s\n", LIBRARY);
    char line[512];
    fprintf(out, "%s\n", hd_source_closing_line(said->source, line, sizeof line));
}

static void print_text(FILE *out, const struct hd_report_style *style, const void *context) {
    const struct said *said = context;
    size_t shown = said->findings->list.size, most = (size_t)said->request->report.most;
    const char *graph = said->request->graph;
    if (style->standard_output && graph != NULL && strcmp(graph, "-") == 0)
        return; /* it has the graph */
    if (most > 0 && shown > most) shown = most;
    for (size_t i = 0; i < shown; i++)
        print_finding(out, i + 1, &said->findings->list.data[i], style);
    print_summary(out, said, shown);
}

static void print_stats(const struct hd_lint *lint, double parse, double work) {
    static const char *const word[] = {
#define X(name, text, about) text,
        HD_LINT_REFINEMENTS(X)
#undef X
    };
    printf("\nblocks           %zu\nthreads          %zu\nshared variables %zu\n"
           "graph            %u nodes, %zu edges\n",
           lint->blocks.list.size, lint->views.thread.size, lint->shared.list.size,
           lint->graph.nodes, lint->graph.edge.size);
    for (unsigned i = 0; i < HD_REFINEMENTS; i++)
        if (lint->by_refinement[i] > 0)
            printf("taken away by %-10s %u\n", word[i], lint->by_refinement[i]);
    printf("parsing          %.3f s\nanalysis         %.3f s\n", parse, work);
}

/* ---- the job --------------------------------------------------------------------------------- */

static void print_notes(const struct hd_lint *lint, const char *base) {
    for (size_t i = 0; i < lint->blocks.note.size; i++) {
        const struct hd_block_note *note = &lint->blocks.note.data[i];
        uint32_t file = lint->source->function.data[note->function].file;
        hd_warn(COMMAND, "%s:%u: %s", hd_source_relative(lint->source, file, base), note->line,
                note->text);
    }
    if (lint->cut_short > 0)
        hd_warn(COMMAND, "%u values have too many ways to be followed to the end", lint->cut_short);
}

static bool write_graph(const struct request *request, const struct hd_lint *lint,
                        const char *base) {
    struct hd_error error;
    if (request->graph == NULL) return true;
    char *text = hd_lint_dot(lint, base);
    bool written = true;
    if (strcmp(request->graph, "-") == 0)
        fputs(text, stdout);
    else
        written = hd_whole_file_write(request->graph, text, &error);
    free(text);
    if (!written) hd_complain_error(COMMAND, &error);
    return written;
}

static int report(struct request *request, const struct hd_source *source,
                  const struct hd_lint *lint) {
    struct hd_findings findings = {.looked_for = {false}};
    char *base = get_current_dir_name();
    hd_lint_findings(lint, base, &findings);
    print_notes(lint, base);
    bool written = write_graph(request, lint, base);
    free(base);
    hd_findings_hide(&findings, &request->report.hiding);
    char line[512];
    const char *warning[] = {hd_source_closing_line(source, line, sizeof line), LIBRARY};
    const char *path =
        request->source.database != NULL ? request->source.database : request->argv[request->first];
    struct hd_report_input input = {.path = path,
                                    .format = "source",
                                    .partial = !hd_source_input_whole(source),
                                    .warning = warning,
                                    .warnings = lint->views.library ? 2 : 1};
    struct said said = {request, source, lint, &findings};
    int status =
        hd_findings_report(&request->report, &findings, &input,
                           hd_findings_status(&request->report, &findings), print_text, &said);
    hd_findings_free(&findings);
    return written ? status : HD_EXIT_FAILED;
}

/* Locks that the user names. */
static bool declare(const struct request *request, struct hd_source *source) {
    for (unsigned i = 0; i < request->lock.count + request->unlock.count; i++) {
        bool lock = i < request->lock.count;
        const char *name =
            lock ? request->lock.item[i] : request->unlock.item[i - request->lock.count];
        if (hd_source_declare(source, name, lock ? HD_OPERATION_LOCK : HD_OPERATION_UNLOCK))
            continue;
        hd_complain(COMMAND, "--%s %s: no function of that name is called",
                    lock ? "lock" : "unlock", name);
        return false;
    }
    if (request->lock.count + request->unlock.count > 0) hd_source_resolve(source);
    return true;
}

static int lint_source(struct request *request) {
    struct hd_source source = {0};
    int status;
    uint64_t start = hd_now_ns();
    if (!hd_source_input_load(&request->source, COMMAND, request->argc, request->argv,
                              request->first, &source, &status))
        return status;
    if (!declare(request, &source)) {
        hd_source_free(&source);
        return HD_EXIT_FAILED;
    }
    uint64_t parsed = hd_now_ns();
    struct hd_lint lint;
    hd_lint_run(&source, &request->options, &lint);
    uint64_t done = hd_now_ns();
    hd_source_input_warn(COMMAND, &source);
    status = report(request, &source, &lint);
    if (request->stats && request->report.format == HD_FINDINGS_TEXT)
        print_stats(&lint, (double)(parsed - start) / 1e9, (double)(done - parsed) / 1e9);
    hd_lint_free(&lint);
    hd_source_free(&source);
    return hd_finish_output(COMMAND) ? status : HD_EXIT_FAILED;
}

/* "views,stale" */
static bool take_checks(const char *text, struct hd_lint_options *options) {
    if (text == NULL) return true;
    options->views = options->stale = false;
    while (*text != '\0') {
        size_t length = strcspn(text, ",");
        if (length == 5 && strncmp(text, "views", 5) == 0)
            options->views = true;
        else if (length == 5 && strncmp(text, "stale", 5) == 0)
            options->stale = true;
        else
            return false;
        text += length + (text[length] == ',');
    }
    return options->views || options->stale;
}

static bool take_without(const struct request *request, struct hd_lint_options *options) {
    static const char *const word[] = {
#define X(name, text, about) text,
        HD_LINT_REFINEMENTS(X)
#undef X
    };
    for (unsigned i = 0; i < request->without.count; i++) {
        unsigned k = 0;
        while (k < HD_REFINEMENTS && strcmp(word[k], request->without.item[i]) != 0) k++;
        if (k == HD_REFINEMENTS) {
            const char *near = hd_nearest_word(request->without.item[i], word, HD_REFINEMENTS);
            hd_complain(COMMAND, "--without %s: there is no such refinement%s%s%s",
                        request->without.item[i], near != NULL ? "; did you mean " : "",
                        near != NULL ? near : "", near != NULL ? "?" : "");
            return false;
        }
        options->refine[k] = false;
    }
    return true;
}

int hd_cmd_lint(int argc, char **argv) {
    struct request request = {.options = hd_lint_defaults(),
                              .report = HD_FINDINGS_DEFAULTS(COMMAND, 100)};
    const char *checks = NULL;
    bool plain = false;
    struct hd_option options[] = {
        HD_TEXT("check", 0, "LIST", &checks, "views, stale, or both with a comma (the default)"),
        HD_FLAG("plain", 0, &plain, "the paper's algorithm, without any refinement"),
        HD_LIST("without", 0, "NAME", &request.without,
                "without this refinement (may be repeated): recheck, versions, taken, claims, "
                "reread, locks, alone, logging, related, whole"),
        HD_CHOICE("threads", 0, "T", &request.options.threads, "auto|found|any",
                  "main and created threads, or every visible function in any thread"),
        HD_LIST("lock", 0, "NAME", &request.lock,
                "the function NAME locks what its first argument points to (may be repeated)"),
        HD_LIST("unlock", 0, "NAME", &request.unlock, "the same for a function that unlocks"),
        HD_CHOICE("method", 0, "M", &request.options.method, "moth|artho",
                  "MoTH, or plain view consistency for comparison"),
        HD_TEXT("show-graph", 0, "FILE", &request.graph,
                "write blocks and dependences to FILE, for graphviz"),
        HD_FINDINGS_OPTIONS(&request.report, "100"),
        HD_FLAG("stats", 0, &request.stats, "what was counted, and the time, at the end"),
        HD_SOURCE_OPTIONS(&request.source),
        HD_OPTIONS_END};
    struct hd_usage usage = {
        .command = COMMAND,
        .operands = "[FILE]... [-- FLAG...]",
        .about = "Reads a C program and finds critical sections that should be one (MoTH): values\n"
                 "that leave a section and are used in another when they may be stale, and\n"
                 "variables that belong together but are accessed in two sections.\n",
        .example = "  heddle lint -p build/compile_commands.json\n"
                   "  heddle lint account.c -- -DNDEBUG -Iinclude\n",
        .options = options,
        .least = 0,
        .most = -1};
    int first, status;
    argc = hd_source_input_flags(&request.source, argc, argv);
    if (!hd_options_parse(&usage, argc, argv, &first, &status)) return status;
    if (plain) memset(request.options.refine, 0, sizeof request.options.refine);
    request.argc = argc;
    request.argv = argv;
    request.first = first;
    status = HD_EXIT_FAILED;
    if (!take_checks(checks, &request.options))
        hd_complain(COMMAND, "--check %s: say views, stale or views,stale", checks);
    else if (take_without(&request, &request.options) && hd_findings_options_use(&request.report))
        status = lint_source(&request);
    status = hd_findings_failed(&request.report, status);
    hd_findings_options_free(&request.report);
    free(request.without.item);
    free(request.lock.item);
    free(request.unlock.item);
    return status;
}
