/* heddle report: findings that were written before, as a page for a browser or in another format.
 */
#include "base/alloc.h"
#include "cli/commands.h"
#include "cli/findings_output.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/report_store.h"
#include "cover/cover.h"
#include "finding/read.h"
#include "report/cover.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define COMMAND "report"

struct request {
    struct hd_findings_options output;
    struct hd_option_list file; /* --output */
    const char *coverage;
    bool no_source;
    struct hd_report_store_wanted remembered;
    int files;
    char **path;
};

/* What the reports are made from. */
struct collected {
    struct hd_findings_file *file; /* the owners of what the list holds */
    int files;
    struct hd_findings findings;
    struct hd_report_input input;
    struct json_t *coverage;
    HD_VECTOR(const char *) warning;
    char *paths;
};

/* ---- several files as one ------------------------------------------------------------------- */

static int compare_prints(const void *left, const void *right) {
    const struct hd_finding *a = left, *b = right;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    int order = strcmp(a->fingerprint, b->fingerprint);
    /* confirmed before feasible */
    return order != 0 ? order : (int)b->verdict - (int)a->verdict;
}

/* The same finding of two files: that which is known better stays. */
static void drop_doubles(struct hd_findings *findings) {
    size_t kept = 0;
    struct hd_finding *list = findings->list.data;
    if (findings->list.size < 2) return;
    qsort(list, findings->list.size, sizeof *list, compare_prints);
    for (size_t i = 1; i < findings->list.size; i++)
        if (list[i].kind != list[kept].kind || *list[i].fingerprint == '\0' ||
            strcmp(list[i].fingerprint, list[kept].fingerprint) != 0)
            list[++kept] = list[i];
    findings->list.size = kept + 1;
    hd_findings_sort(findings);
}

static void add_summary(struct hd_finding_summary *to, const struct hd_finding_summary *from) {
    to->candidates += from->candidates;
    to->hidden += from->hidden;
    to->left += from->left;
    for (unsigned i = 0; i < HD_VERDICT_COUNT; i++) to->verdict[i] += from->verdict[i];
}

static void add_file(struct collected *all, const struct hd_findings_file *file) {
    const struct hd_findings *from = &file->findings;
    for (size_t i = 0; i < from->list.size; i++)
        hd_vector_push(&all->findings.list, from->list.data[i]);
    add_summary(&all->findings.summary, &from->summary);
    for (unsigned i = 0; i < HD_FINDING_KIND_COUNT; i++) {
        all->findings.looked_for[i] |= from->looked_for[i];
        add_summary(&all->findings.of_kind[i], &from->of_kind[i]);
    }
    for (uint32_t i = 0; i < file->warnings; i++) hd_vector_push(&all->warning, file->warning[i]);
}

/* Source that changed after the trace or the program, or else after the findings were written, is
 * not what ran. */
static time_t time_of(const struct hd_findings_file *file, const char *path) {
    struct stat status;
    bool of_source = file->format != NULL && strcmp(file->format, "source") == 0;
    if (!of_source && stat(file->path, &status) == 0 && S_ISREG(status.st_mode))
        return status.st_mtime;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) ? status.st_mtime : 0;
}

static bool collect(const struct request *request, struct collected *all, struct hd_error *error) {
    all->file = hd_zalloc((size_t)request->files, sizeof *all->file);
    size_t bytes = 1;
    for (int i = 0; i < request->files; i++) {
        if (!hd_findings_read(request->path[i], &all->file[i], error)) return false;
        all->files = i + 1;
        add_file(all, &all->file[i]);
        bytes += strlen(all->file[i].path) + 2;
        time_t newest = time_of(&all->file[i], request->path[i]);
        if (i == 0 || newest < all->input.newest) all->input.newest = newest;
    }
    if (request->files > 1) drop_doubles(&all->findings);
    all->paths = hd_zalloc(bytes, 1);
    for (int i = 0; i < request->files; i++) {
        if (i > 0) strcat(all->paths, ", ");
        strcat(all->paths, all->file[i].path);
    }
    const struct hd_findings_file *first = &all->file[0];
    all->input.path = all->paths;
    all->input.format = first->format;
    all->input.command = first->command;
    all->input.events = first->events;
    all->input.threads = first->threads;
    all->input.warning = all->warning.data;
    all->input.warnings = (uint32_t)all->warning.size;
    all->input.no_source = request->no_source;
    return true;
}

static bool read_coverage(const struct request *request, struct collected *all,
                          struct hd_error *error) {
    struct hd_cover cover = {0};
    if (request->coverage == NULL) return true;
    bool good = hd_cover_load(request->coverage, &cover, error);
    if (good) {
        const char *name;
        json_t *criterion;
        all->coverage = all->input.coverage = hd_cover_json(&cover);
        /* the page shows how many are open, not which */
        json_object_foreach(json_object_get(all->coverage, "criteria"), name, criterion)
            json_object_del(criterion, "open");
    }
    hd_cover_free(&cover);
    return good;
}

/* ---- the command ---------------------------------------------------------------------------- */

struct said {
    const struct hd_findings *findings;
    size_t most;
};

static void print_text(FILE *out, const struct hd_report_style *style, const void *context) {
    const struct said *said = context;
    hd_report_text(out, said->findings, said->most, style);
    hd_report_text_summary(out, said->findings, false, style);
}

static int report(struct request *request) {
    struct collected all = {.files = 0};
    struct hd_error error;
    int status = HD_EXIT_FAILED;
    if (!collect(request, &all, &error) || !read_coverage(request, &all, &error))
        hd_complain_error(COMMAND, &error);
    else {
        struct hd_findings_options *output = &request->output;
        hd_findings_hide(&all.findings, &output->hiding);
        struct said said = {&all.findings, (size_t)output->most};
        status = hd_findings_report(output, &all.findings, &all.input,
                                    hd_findings_status(output, &all.findings), print_text, &said);
    }
    json_decref(all.coverage);
    hd_vector_free(&all.warning);
    free(all.paths);
    hd_findings_free(&all.findings);
    for (int i = 0; i < all.files; i++) hd_findings_file_free(&all.file[i]);
    free(all.file);
    return hd_finish_output(COMMAND) ? status : HD_EXIT_FAILED;
}

int hd_cmd_report(int argc, char **argv) {
    struct request request = {.output = HD_FINDINGS_DEFAULTS(COMMAND, 0)};
    struct hd_option options[] = {
        HD_LIST("output", 'o', "FILE", &request.file,
                "write the report to FILE instead of standard output, by its ending (.html, ...)"),
        HD_TEXT("coverage", 0, "FILE", &request.coverage,
                "show how coverage grew, from a file of `heddle cover -o`"),
        HD_FLAG("no-source", 0, &request.no_source, "take no lines of source files into the page"),
        HD_REPORT_STORE_OPTIONS(&request.remembered),
        HD_FINDINGS_OPTIONS(&request.output, "0"),
        HD_OPTIONS_END};
    struct hd_usage usage = {
        .command = COMMAND,
        .operands = "FINDINGS... | --store FILE",
        .about =
            "Reads findings that other commands wrote with --format json, and writes one HTML\n"
            "file that opens in any browser, without a network: the list, the good and the\n"
            "bad order of each finding as a picture, source, stacks, locks, how to replay it.\n"
            "Or another format. Several files become one report. With --store: what became of\n"
            "the findings of the runs that FILE remembers.\n",
        .example = "  heddle hunt --report findings.json -- ./app\n"
                   "  heddle report findings.json -o report.html\n"
                   "  heddle report hunt.json lint.json --coverage app.cover -o report.html\n"
                   "  heddle report --store app.db --since last\n",
        .options = options,
        .least = 0,
        .most = -1};
    int first, status;
    if (!hd_options_parse(&usage, argc, argv, &first, &status)) return status;
    const struct hd_report_store_wanted *remembered = &request.remembered;
    bool store = request.output.store.path != NULL;
    if ((first < argc) == store)
        return hd_complain(COMMAND, "give files of findings, or --store FILE; see 'heddle report "
                                    "--help'");
    if (!store &&
        (remembered->since != NULL || remembered->runs || remembered->trends || remembered->accept))
        return hd_complain(COMMAND, "--since, --runs, --trends and --accept need --store FILE");
    request.output.keeps_no_run = true;
    request.path = argv + first;
    request.files = argc - first;
    /* --output is --report that leaves standard output alone */
    request.output.quiet = request.file.count > 0 && request.output.format == HD_FINDINGS_TEXT;
    unsigned reports = request.output.report.count;
    if (request.file.count > 0) {
        request.output.report.item =
            hd_realloc(request.output.report.item, reports + request.file.count,
                       sizeof *request.output.report.item);
        memcpy(request.output.report.item + reports, request.file.item,
               request.file.count * sizeof *request.file.item);
        request.output.report.count += request.file.count;
    }
    status = !hd_findings_options_use(&request.output) ? HD_EXIT_FAILED
             : store ? hd_report_from_store(COMMAND, remembered, &request.output)
                     : report(&request);
    status = hd_findings_failed(&request.output, status);
    hd_findings_options_free(&request.output);
    free(request.file.item);
    return status;
}
