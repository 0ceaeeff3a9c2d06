/* heddle cover: how much of what threads can do to each other have these runs exercised? */
#include "base/alloc.h"
#include "base/whole_file.h"
#include "cli/commands.h"
#include "cli/full_option.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/store_option.h"
#include "report/cover.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMAND "cover"

struct choices {
    const char *output, *plot;
    struct hd_option_list show;
    struct hd_store_option store;
    bool feasible, costs, open, full;
    uint64_t most;
    unsigned criterion; /* 0: PInv, Def-Use, LR-Inv, LR-Def */
    unsigned json;
};

/* Adds one trace; prints or collects what it measures by itself. */
static bool add_trace(const struct choices *choices, const char *path, struct hd_cover *cover,
                      json_t *measures, struct hd_error *error) {
    struct hd_model model;
    struct hd_model_options lenient = {.lenient = true};
    struct hd_trace_options read = {.keep = hd_full_option_keep(choices->full)};
    if (!hd_model_load(path, &read, &lenient, &model, error)) return false;
    struct hd_describe *describe = hd_describe_open(&model);
    struct hd_cover_measure measure = hd_cover_measure(&model);
    if (choices->json)
        json_array_append_new(measures, hd_measure_json(path, &measure));
    else
        hd_report_measure(stdout, path, &measure, choices->costs);
    struct hd_analysis analysis = {.model = &model, .describe = describe};
    hd_cover_add(cover, &analysis, path, choices->feasible);
    hd_analysis_free(&analysis);
    hd_warn_about(COMMAND, &model, describe);
    hd_describe_close(describe);
    hd_model_free(&model);
    return true;
}

/* One file: all criteria. Several: a line for each, under the chosen criterion. */
static bool write_plot(const struct choices *choices, const struct hd_cover *all,
                       const struct hd_cover *file, struct hd_error *error) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (choices->show.count > 1)
        hd_report_growths_svg(out, file, choices->show.item, choices->show.count,
                              HD_COVER_KEPT + choices->criterion);
    else
        hd_report_growth_svg(out, all, "Interleaving coverage");
    bool good = fclose(out) == 0 && hd_whole_file_write(choices->plot, text, error);
    free(text);
    return good;
}

static void print_text(const struct choices *choices, const struct hd_cover *cover) {
    hd_report_cover(stdout, cover);
    if (choices->open)
        hd_report_open(stdout, cover, HD_COVER_KEPT + choices->criterion, (uint32_t)choices->most);
}

static void print_json(const struct hd_cover *cover, json_t *measures) {
    json_t *all = hd_cover_json(cover);
    json_object_set_new(all, "schema", json_string("heddle-cover/1"));
    json_object_set(all, "traces", measures);
    json_dumpf(all, stdout, JSON_INDENT(2));
    fputc('\n', stdout);
    json_decref(all);
}

/* What files hold already: all of it in *cover, each by itself in file[]. */
static bool load_files(const struct choices *choices, struct hd_cover *cover, struct hd_cover *file,
                       struct hd_error *error) {
    for (unsigned i = 0; i < choices->show.count; i++) {
        if (!hd_cover_load(choices->show.item[i], &file[i], error)) return false;
        hd_cover_merge(cover, &file[i]);
    }
    return choices->output == NULL || access(choices->output, F_OK) != 0 ||
           hd_cover_load(choices->output, cover, error);
}

/* Adds these runs to what the store has of the project; *cover becomes the sum. */
static char *add_runs(const char *old, size_t bytes, void *context, struct hd_error *error) {
    struct hd_cover *cover = context, sum = {0};
    if (old != NULL && !hd_cover_read(old, bytes, "coverage", &sum, error)) return NULL;
    hd_cover_merge(&sum, cover);
    hd_cover_free(cover);
    *cover = sum;
    return hd_cover_write(cover);
}

static bool run(const struct choices *choices, int traces, char **trace, struct hd_cover *cover,
                struct hd_cover *file, json_t *measures, struct hd_error *error) {
    if (!load_files(choices, cover, file, error)) return false;
    for (int i = 0; i < traces; i++)
        if (!add_trace(choices, trace[i], cover, measures, error)) return false;
    if (choices->output != NULL && !hd_cover_save(choices->output, cover, error)) return false;
    if (choices->store.path != NULL &&
        !hd_store_option_keep(COMMAND, &choices->store, HD_STORE_COVERAGE, "", add_runs, cover))
        return hd_fail(error, HD_OK, "%s", "");
    if (choices->plot != NULL && !write_plot(choices, cover, file, error)) return false;
    if (choices->json)
        print_json(cover, measures);
    else
        print_text(choices, cover);
    return true;
}

int hd_cmd_cover(int argc, char **argv) {
    struct choices choices = {.most = 20, .criterion = HD_COVER_LR_INV - HD_COVER_KEPT};
    struct hd_option options[] = {
        HD_TEXT("output", 'o', "FILE", &choices.output,
                "add these runs to FILE, which keeps coverage over runs"),
        HD_LIST("show", 0, "FILE", &choices.show,
                "start from what FILE holds and leave it alone; may be repeated"),
        HD_STORE_OPTIONS(&choices.store, "add these runs to FILE, a store, and show all"),
        HD_TEXT("plot", 0, "FILE", &choices.plot, "draw the growth over runs as SVG"),
        HD_FLAG("open", 0, &choices.open, "list what is open, likely bugs first"),
        HD_CHOICE("criterion", 'c', "NAME", &choices.criterion, "pinv|def-use|lr-inv|lr-def",
                  "of which criterion (default lr-inv)"),
        HD_NUMBER("max", 0, "N", &choices.most, 0, UINT32_MAX,
                  "at most so many; 0: all (default 20)"),
        HD_FLAG("feasible", 0, &choices.feasible, "leave out what order and locks make impossible"),
        HD_FULL_OPTION(&choices.full),
        HD_FLAG("costs", 0, &choices.costs, "how many runs each criterion would take"),
        HD_CHOICE("format", 'f', "F", &choices.json, "text|json", "text or json"),
        HD_OPTIONS_END};
    struct hd_usage usage = {
        .command = COMMAND,
        .operands = "[TRACE]...",
        .about = "Measures interleaving coverage under seven criteria: how many properties the\n"
                 "runs have, and how many they covered. PInv, Def-Use, LR-Inv and LR-Def are kept\n"
                 "by sites over any number of runs.\n",
        .example = "  heddle cover app1.hdt app2.hdt\n"
                   "  heddle cover -o app.cover app3.hdt\n"
                   "  heddle cover --show app.cover --plot cover.svg --open\n",
        .options = options,
        .least = 0,
        .most = -1};
    int first, status;
    if (!hd_options_parse(&usage, argc, argv, &first, &status)) return status;
    if (first == argc && choices.show.count == 0 && choices.store.path == NULL)
        return hd_complain(COMMAND, "say which traces, or --show FILE; see 'heddle cover --help'");
    if (choices.store.path != NULL && (choices.show.count > 0 || choices.output != NULL))
        return hd_complain(COMMAND, "--store keeps coverage by itself: no --show or --output");
    if (!hd_store_option_check(COMMAND, &choices.store)) return HD_EXIT_FAILED;
    if (choices.show.count > 0 && choices.output != NULL)
        return hd_complain(COMMAND, "--show leaves its file alone and --output adds to one: give "
                                    "one of them");
    struct hd_error error;
    struct hd_cover cover = {0};
    struct hd_cover *file = hd_zalloc(choices.show.count, sizeof *file);
    json_t *measures = json_array();
    bool good = run(&choices, argc - first, argv + first, &cover, file, measures, &error);
    json_decref(measures);
    for (unsigned i = 0; i < choices.show.count; i++) hd_cover_free(&file[i]);
    free(file);
    free(choices.show.item);
    hd_cover_free(&cover);
    if (!good) return error.code == HD_OK ? HD_EXIT_FAILED : hd_complain_error(COMMAND, &error);
    return hd_finish_output(COMMAND) ? HD_EXIT_CLEAN : HD_EXIT_FAILED;
}
