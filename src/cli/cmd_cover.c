/* heddle cover: how much of what threads can do to each other have these runs exercised? */
#include "base/whole_file.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "report/cover.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMAND "cover"

struct choices {
    const char *output, *show, *plot;
    bool feasible, costs, open;
    uint64_t most;
    unsigned criterion; /* 0: PInv, Def-Use, LR-Inv, LR-Def */
    unsigned json;
};

/* Adds one trace; prints or collects what it measures by itself. */
static bool add_trace(const struct choices *choices, const char *path, struct hd_cover *cover,
                      json_t *measures, struct hd_error *error) {
    struct hd_model model;
    struct hd_model_options lenient = {.lenient = true};
    if (!hd_model_load(path, NULL, &lenient, &model, error)) return false;
    struct hd_describe *describe = hd_describe_open(&model);
    struct hd_cover_measure measure = hd_cover_measure(&model);
    if (choices->json)
        json_array_append_new(measures, hd_measure_json(path, &measure));
    else
        hd_report_measure(stdout, path, &measure, choices->costs);
    hd_cover_add(cover, &model, describe, path, choices->feasible);
    const char *const *line;
    uint32_t lines = hd_describe_warnings(describe, &line);
    for (uint32_t i = 0; i < lines; i++) hd_warn(COMMAND, "%s", line[i]);
    for (uint32_t i = 0; i < model.warnings; i++) hd_warn(COMMAND, "%s", model.warning[i]);
    if (!model.trace->end.whole && model.trace->end.missing[0] != '\0')
        hd_warn(COMMAND, "%s is not whole: %s", path, model.trace->end.missing);
    hd_describe_close(describe);
    hd_model_free(&model);
    return true;
}

static bool write_plot(const char *path, const struct hd_cover *cover, struct hd_error *error) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    hd_report_growth_svg(out, cover, "Interleaving coverage");
    bool good = fclose(out) == 0 && hd_whole_file_write(path, text, error);
    free(text);
    return good;
}

static bool write_file(const char *path, const struct hd_cover *cover, struct hd_error *error) {
    char *text = hd_cover_write(cover);
    bool good = hd_whole_file_write(path, text, error);
    free(text);
    return good;
}

static void print_text(const struct choices *choices, const struct hd_cover *cover) {
    hd_report_cover(stdout, cover);
    for (unsigned c = HD_COVER_KEPT; choices->open && c < HD_CRITERION_COUNT; c++)
        if (choices->criterion == c - HD_COVER_KEPT)
            hd_report_open(stdout, cover, c, (uint32_t)choices->most);
}

static void print_json(const struct hd_cover *cover, json_t *measures) {
    json_t *all = hd_cover_json(cover);
    json_object_set_new(all, "schema", json_string("heddle-cover/1"));
    json_object_set(all, "traces", measures);
    json_dumpf(all, stdout, JSON_INDENT(2));
    fputc('\n', stdout);
    json_decref(all);
}

static int run(const struct choices *choices, int traces, char **trace) {
    struct hd_error error;
    struct hd_cover cover = {0};
    const char *from = choices->show != NULL ? choices->show : choices->output;
    bool there = from != NULL && (choices->show != NULL || access(from, F_OK) == 0);
    if (there && !hd_cover_load(from, &cover, &error)) return hd_complain_error(COMMAND, &error);
    json_t *measures = json_array();
    bool good = true;
    for (int i = 0; good && i < traces; i++)
        good = add_trace(choices, trace[i], &cover, measures, &error);
    if (good && choices->output != NULL) good = write_file(choices->output, &cover, &error);
    if (good && choices->plot != NULL) good = write_plot(choices->plot, &cover, &error);
    if (good && choices->json)
        print_json(&cover, measures);
    else if (good)
        print_text(choices, &cover);
    json_decref(measures);
    hd_cover_free(&cover);
    if (!good) return hd_complain_error(COMMAND, &error);
    return hd_finish_output(COMMAND) ? HD_EXIT_CLEAN : HD_EXIT_FAILED;
}

int hd_cmd_cover(int argc, char **argv) {
    struct choices choices = {.most = 20, .criterion = 2};
    struct hd_option options[] = {
        HD_TEXT("output", 'o', "FILE", &choices.output,
                "add these runs to FILE, which keeps coverage over runs"),
        HD_TEXT("show", 0, "FILE", &choices.show, "start from what FILE holds; leave it alone"),
        HD_TEXT("plot", 0, "FILE", &choices.plot, "draw the growth over runs as SVG"),
        HD_FLAG("open", 0, &choices.open, "list what is open, likely bugs first"),
        HD_CHOICE("criterion", 'c', "NAME", &choices.criterion, "pinv|def-use|lr-inv|lr-def",
                  "of which criterion (default lr-inv)"),
        HD_NUMBER("max", 0, "N", &choices.most, 0, UINT32_MAX,
                  "at most so many; 0: all (default 20)"),
        HD_FLAG("feasible", 0, &choices.feasible, "leave out what order and locks make impossible"),
        HD_FLAG("costs", 0, &choices.costs, "how many runs each criterion would take"),
        HD_CHOICE("format", 'f', "F", &choices.json, "text|json", "text or json"),
        HD_OPTIONS_END};
    struct hd_usage usage = {
        .command = COMMAND,
        .operands = "[TRACE]...",
        .about = "Measures interleaving coverage under seven criteria: how many properties the\n"
                 "runs have, and how many they covered. PInv, Def-Use, LR-Inv and LR-Def are kept\n"
                 "by sites over any number of runs.",
        .example = "heddle cover app1.hdt app2.hdt\n"
                   "heddle cover -o app.cover app3.hdt\n"
                   "heddle cover --show app.cover --plot cover.svg --open\n",
        .options = options,
        .least = 0,
        .most = -1};
    int first, status;
    if (!hd_options_parse(&usage, argc, argv, &first, &status)) return status;
    if (first == argc && choices.show == NULL)
        return hd_complain(COMMAND, "say which traces, or --show FILE; see 'heddle cover --help'");
    if (choices.show != NULL && choices.output != NULL)
        return hd_complain(
            COMMAND, "--show leaves its file alone and --output adds to one: give one of them");
    return run(&choices, argc - first, argv + first);
}
