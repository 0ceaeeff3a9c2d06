/* --store: see store_option.h. */
#include "cli/store_option.h"

#include "base/alloc.h"
#include "cli/output.h"
#include "report/page.h"

#include <stdlib.h>
#include <string.h>

const char *hd_store_option_project(const struct hd_store_option *option) {
    return option->project != NULL ? option->project : "default";
}

static void complain(const char *command, const char *path, const struct hd_error *error) {
    if (error->code == HD_ERR_DAMAGED)
        hd_complain(command,
                    "%s; it is left as it is. --new-store renames it to %s.damaged-1 and "
                    "begins a new one",
                    error->message, path);
    else
        hd_complain_error(command, error);
}

struct hd_store *hd_store_option_open(const char *command, const struct hd_store_option *option,
                                      enum hd_store_use use) {
    struct hd_error error;
    struct hd_store *store = hd_store_open(option->path, use, &error);
    if (store == NULL && error.code == HD_ERR_DAMAGED && option->fresh) {
        char *name;
        if (hd_store_set_aside(option->path, &name, &error)) {
            if (name != NULL)
                hd_warn(command, "the store %s was damaged: it is %s now, and a new one begins",
                        option->path, name);
            free(name);
            store = hd_store_open(option->path, use, &error);
        }
    }
    if (store == NULL) complain(command, option->path, &error);
    return store;
}

bool hd_store_option_check(const char *command, const struct hd_store_option *option) {
    if (option->path == NULL) return true;
    struct hd_store *store = hd_store_option_open(command, option, HD_STORE_KEEP);
    hd_store_close(store);
    return store != NULL;
}

bool hd_store_option_kept(const char *command, const char *path, const char *project,
                          const char *what, const char *target, hd_store_use *use, void *context) {
    struct hd_store_option option = {path, project, false};
    struct hd_error error;
    struct hd_store *store = hd_store_option_open(command, &option, HD_STORE_LOOK);
    if (store == NULL) return false;
    bool good = hd_store_each_kept(store, hd_store_option_project(&option), what, target, use,
                                   context, &error);
    if (!good) complain(command, path, &error);
    hd_store_close(store);
    return good;
}

bool hd_store_option_keep(const char *command, const struct hd_store_option *option,
                          const char *what, const char *target, hd_store_change *change,
                          void *context) {
    struct hd_error error;
    struct hd_store *store = hd_store_option_open(command, option, HD_STORE_KEEP);
    if (store == NULL) return false;
    bool good = hd_store_keep(store, hd_store_option_project(option), what, target, change, context,
                              &error);
    if (!good) complain(command, option->path, &error);
    hd_store_close(store);
    return good;
}

static char *body(const struct hd_finding *finding) {
    json_t *object = hd_report_finding_json(finding);
    char *text = json_dumps(object, JSON_COMPACT);
    if (text == NULL) hd_out_of_memory();
    json_decref(object);
    return text;
}

char *hd_store_option_files(const char *path) {
    char *operands = hd_options_operands();
    char *files = hd_format("%s%s%s", path, *operands != '\0' ? " " : "", operands);
    free(operands);
    return files;
}

/* What does not change which findings there are. */
static const char *const not_settings[] = {
    "format", "report",   "suppressions", "baseline", "max",       "fail-on", "color",
    "store",  "project",  "new-store",    "output",   "no-output", "jobs",    "database",
    "cache",  "no-cache", "quiet",        "stats",    "events",    "witness", NULL};

bool hd_store_option_add(const char *command, const struct hd_store_option *option,
                         const struct hd_report_input *input, const struct hd_findings *findings) {
    struct hd_error error;
    struct hd_store *store = hd_store_option_open(command, option, HD_STORE_KEEP);
    if (store == NULL) return false;
    char *settings = hd_options_given(not_settings);
    bool source = strcmp(input->format, "source") == 0;
    char *files = hd_store_option_files(input->path);
    struct hd_store_run run = {.project = hd_store_option_project(option),
                               .tool = command,
                               .target = source                   ? files
                                         : input->command != NULL ? input->command
                                                                  : input->path,
                               .settings = settings,
                               .version = HEDDLE_VERSION,
                               .format = input->format,
                               .build = input->build,
                               .status = input->status,
                               .events = input->events,
                               .threads = input->threads,
                               .partial = input->partial};
    if (input->trace) hd_store_trace(input->path, &run.trace);
    struct hd_store_added added;
    bool good = hd_store_add_run(store, &run, findings, body, &added, &error);
    if (good)
        fprintf(stderr, "heddle: %s: run %lld of %s: %u new finding%s, %u known\n", command,
                (long long)added.run, option->path, added.fresh, added.fresh == 1 ? "" : "s",
                added.known);
    else
        complain(command, option->path, &error);
    hd_store_close(store);
    free(settings);
    free(files);
    return good;
}
