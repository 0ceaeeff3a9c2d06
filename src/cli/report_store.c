/* See report_store.h. */
#include "cli/report_store.h"

#include "base/alloc.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "report/changes.h"
#include "report/page.h"
#include "report/safe_stream.h"

#include <stdlib.h>

static void print_text(FILE *out, const struct hd_report_style *style, const void *context) {
    hd_report_changes(out, context, style);
}

/* What is there; with --since, what was there before is hidden as a baseline hides it, and what is
 * gone is gone from the baseline. Findings and strings stay those of the changes. */
static void sort_out(const struct hd_report_store *store, struct hd_findings_options *output,
                     struct hd_findings *findings) {
    const struct hd_changes *changes = store->changes;
    struct hd_baseline *baseline = &output->hiding.baseline;
    for (size_t i = 0; i < changes->run.size; i++)
        for (unsigned kind = 0; kind < HD_FINDING_KIND_COUNT; kind++)
            findings->looked_for[kind] |= (changes->run.data[i].looked_for & 1u << kind) != 0;
    baseline->gone = hd_alloc(changes->list.size, sizeof *baseline->gone);
    for (size_t i = 0; i < changes->list.size; i++) {
        const struct hd_changes_finding *one = &changes->list.data[i];
        struct hd_finding finding = *one->finding;
        if (one->hidden || one->change == HD_CHANGE_EARLIER) continue;
        finding.known = one->change == HD_CHANGE_STILL;
        if (one->change == HD_CHANGE_FIXED)
            baseline->gone[baseline->gones++] = one->finding;
        else if (finding.known)
            hd_vector_push(&findings->hidden, finding);
        else
            hd_vector_push(&findings->list, finding);
    }
    baseline->hidden = (uint32_t)findings->hidden.size;
    if (store->since) baseline->path = store->path;
}

static int report_changes(const struct hd_report_store *store, struct hd_findings_options *output) {
    struct hd_findings findings = {.looked_for = {false}};
    sort_out(store, output, &findings);
    struct hd_report_input input = {.path = store->path,
                                    .format = "store",
                                    .more_name = "changes",
                                    .more = hd_report_changes_json(store)};
    int status = hd_findings_report(output, &findings, &input,
                                    hd_findings_status(output, &findings), print_text, store);
    json_decref(input.more);
    hd_vector_free(&findings.list);
    hd_vector_free(&findings.hidden);
    return status;
}

static int report_runs(const struct hd_report_store *store, bool trends,
                       struct hd_findings_options *output) {
    output->printed = true;
    if (output->format == HD_FINDINGS_JSON) {
        hd_report_json_value(stdout, hd_report_runs_json(store));
        return HD_EXIT_CLEAN;
    }
    struct hd_report_style style = {.color = hd_color(stdout), .standard_output = true};
    FILE *safe = hd_safe_stream(stdout, style.color);
    (trends ? hd_report_trends : hd_report_runs)(safe, store, &style);
    return fclose(safe) == 0 ? HD_EXIT_CLEAN : HD_EXIT_FAILED;
}

static int accept(const char *command, struct hd_store *store, const char *project) {
    struct hd_error error;
    uint32_t count;
    if (!hd_store_accept(store, project, &count, &error)) return hd_complain_error(command, &error);
    printf("%u finding%s accepted: --baseline %s hides %s\n", count, count == 1 ? " was" : "s were",
           hd_store_path(store), count == 1 ? "it" : "them");
    return HD_EXIT_CLEAN;
}

static int report(const char *command, const struct hd_report_store_wanted *wanted,
                  struct hd_findings_options *output, struct hd_store *store) {
    struct hd_error error;
    struct hd_changes changes;
    const char *project = hd_store_option_project(&output->store);
    if (wanted->accept) return accept(command, store, project);
    if (!hd_changes_read(store, project, wanted->since, &changes, &error))
        return hd_complain_error(command, &error);
    struct hd_report_store said = {&changes, hd_store_path(store), project, wanted->since != NULL};
    int status = wanted->runs || wanted->trends ? report_runs(&said, wanted->trends, output)
                                                : report_changes(&said, output);
    hd_changes_free(&changes);
    return status;
}

int hd_report_from_store(const char *command, const struct hd_report_store_wanted *wanted,
                         struct hd_findings_options *output) {
    if (wanted->runs + wanted->trends + wanted->accept > 1)
        return hd_complain(command, "--runs, --trends and --accept are different things");
    if ((wanted->runs || wanted->trends) && output->format != HD_FINDINGS_TEXT &&
        output->format != HD_FINDINGS_JSON)
        return hd_complain(command, "--runs and --trends are text or JSON");
    if (output->baseline != NULL || output->suppressions.count > 0)
        return hd_complain(command, "--suppressions and --baseline are for the runs that are "
                                    "added to a store, or for files of findings");
    struct hd_store *store = hd_store_option_open(command, &output->store, HD_STORE_LOOK);
    if (store == NULL) return HD_EXIT_FAILED;
    int status = report(command, wanted, output, store);
    hd_store_close(store);
    return hd_finish_output(command) ? status : HD_EXIT_FAILED;
}
