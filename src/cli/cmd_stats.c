/* heddle stats: a trace in figures, as a page to read or as JSON. */
#include "base/clock.h"
#include "cli/commands.h"
#include "cli/full_option.h"
#include "cli/names_option.h"
#include "cli/options.h"
#include "cli/output.h"
#include "report/page.h"
#include "report/stats.h"

#include <stdio.h>

#define COMMAND "stats"

/* Of recordings with more events than this, only what threads can conflict on is loaded: the rest
 * is counted, and the page needs no more of it. It is found out by reading so many. */
#define FEW_RECORDED 1000000u

/* One trace: printed, or added to the list. */
static int show(const char *path, bool full, uint32_t top, json_t *list) {
    struct hd_stats stats = {.path = path};
    struct hd_trace trace;
    struct hd_model model;
    struct hd_summary summary;
    struct hd_error error;
    struct hd_trace_options trace_options = {.keep = hd_full_option_keep(full),
                                             .most_recorded = full ? 0 : FEW_RECORDED,
                                             .or_concurrent = !full};
    struct hd_model_options options = {.lenient = true};
    double start = hd_seconds_now();
    if (!hd_trace_load(path, &trace_options, &trace, &error))
        return hd_complain_error(COMMAND, &error);
    double read = hd_seconds_now();
    if (!hd_model_build(&trace, &options, &model, &error))
        return hd_complain_error(COMMAND, &error);
    stats.read_seconds = read - start;
    stats.model_seconds = hd_seconds_now() - read;
    hd_summary_build(&model, top, &summary);
    stats.model = &model;
    stats.summary = &summary;
    stats.describe = hd_describe_open(&model);
    if (list != NULL)
        json_array_append_new(list, hd_stats_json(&stats));
    else
        hd_stats_text(stdout, &stats);
    fflush(stdout);
    /* The page says itself that a trace is cut, the JSON what there is to say about the trace. */
    if (list == NULL) hd_warn_about_model(COMMAND, &model);
    hd_warn_about_symbols(COMMAND, stats.describe);
    hd_describe_close(stats.describe);
    hd_summary_free(&summary);
    hd_model_free(&model);
    return HD_EXIT_CLEAN;
}

int hd_cmd_stats(int argc, char **argv) {
    unsigned json = false;
    bool full = false;
    uint64_t top = 10;
    const char *names = NULL;
    struct hd_option options[] = {
        HD_CHOICE("format", 0, "F", &json, "text|json",
                  "a page to read, or a JSON object (an array of them for several traces)"),
        HD_NUMBER("top", 'n', "N", &top, 0, UINT32_MAX,
                  "list the N threads, locks and shared locations most in use (default 10)"),
        HD_FULL_OPTION(&full), HD_NAMES_OPTION(&names), HD_OPTIONS_END};
    struct hd_usage usage = {
        .command = COMMAND,
        .operands = "TRACE...",
        .about = "Summarises traces: how the run ended, threads, events by kind, memory locations\n"
                 "and how many of them threads share, locks and how they are used, size in the\n"
                 "file and in memory. TRACE is a file in any format that heddle reads, or - for\n"
                 "standard input.\n",
        .example = "  heddle stats app.hdt\n"
                   "  heddle stats --format json --top 3 app.hdt\n",
        .options = options,
        .least = 1,
        .most = -1};
    int first, status;
    if (!hd_options_parse(&usage, argc, argv, &first, &status)) return status;
    if (!hd_names_option_use(COMMAND, names)) return HD_EXIT_FAILED;
    bool single = argc - first == 1;
    json_t *list = json ? json_array() : NULL;
    status = HD_EXIT_CLEAN;
    for (int i = first; i < argc; i++) {
        if (!json && i > first) printf("\n");
        int each = show(argv[i], full, (uint32_t)top, list);
        if (each != HD_EXIT_CLEAN) status = each;
    }
    if (json && (json_array_size(list) > 0 || !single))
        hd_report_json_value(stdout,
                             single ? json_incref(json_array_get(list, 0)) : json_incref(list));
    json_decref(list);
    if (!hd_finish_output(COMMAND)) status = HD_EXIT_FAILED;
    return status;
}
