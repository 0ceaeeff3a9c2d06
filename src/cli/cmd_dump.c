/* heddle dump: a trace as a person reads it, one line an event, or as JSON lines. */
#include "cli/commands.h"
#include "cli/full_option.h"
#include "cli/names_option.h"
#include "cli/options.h"
#include "cli/output.h"
#include "report/dump.h"

#include <stdio.h>
#include <string.h>

#define COMMAND "dump"

/* More steps than this are not shown, but those of memory on which threads can conflict. A program
 * that works on its own memory between atomic operations has as many as it has accesses, and each
 * takes some 60 bytes. */
#define STEPS_SHOWN 10000000u

static int dump_model(struct hd_dump *dump, const char *kinds, const char *threads) {
    const char *bad;
    if (kinds && !hd_dump_choose_kinds(dump, kinds, &bad))
        return hd_complain(COMMAND,
                           "--kind: '%.*s' is not an operation, a kind or a class of events; see "
                           "'heddle dump --help'",
                           (int)strcspn(bad, ","), bad);
    if (!kinds) memset(dump->kinds, true, sizeof dump->kinds);
    if (threads && !hd_dump_choose_threads(dump, threads, &bad))
        return hd_complain(COMMAND, "--thread: the trace has no thread '%.*s'",
                           (int)strcspn(bad, ","), bad);
    hd_dump_print(dump);
    hd_warn_about(COMMAND, dump->model, dump->describe);
    return hd_finish_output(COMMAND) ? HD_EXIT_CLEAN : HD_EXIT_FAILED;
}

int hd_cmd_dump(int argc, char **argv) {
    struct hd_dump dump = {.out.stream = stdout, .to = UINT64_MAX};
    const char *threads = NULL, *kinds = NULL;
    unsigned json = false;
    bool full = false;
    const char *names = NULL;
    struct hd_option options[] = {
        HD_TEXT("thread", 't', "T,..", &threads,
                "only these threads (T2, or 2; names of a text trace)"),
        HD_TEXT(
            "kind", 'k', "K,..", &kinds,
            "only these events: operations (r, w, acq), kinds (READ) or classes (access, atomic, "
            "lock, sync, thread, memory, mark)"),
        HD_NUMBER("from", 0, "N", &dump.from, 0, UINT64_MAX, "start at event N"),
        HD_NUMBER("to", 0, "N", &dump.to, 0, UINT64_MAX, "stop after event N"),
        HD_FLAG("addresses", 'a', &dump.addresses, "show addresses too"),
        HD_FLAG("stacks", 's', &dump.stacks, "show the call stack of every event"),
        HD_CHOICE("format", 0, "F", &json, "text|json", "lines to read, or one JSON object a line"),
        HD_FULL_OPTION(&full),
        HD_NAMES_OPTION(&names),
        HD_OPTIONS_END};
    struct hd_usage usage = {
        .command = COMMAND,
        .operands = "TRACE",
        .about = "Prints a trace, one line an event: number, thread, operation, what it is about,\n"
                 "source position and function. TRACE is a file of any format heddle reads, or\n"
                 "- for standard input.\n",
        .example = "  heddle dump app.hdt\n"
                   "  heddle dump --thread T2 --kind access,lock --stacks app.hdt\n",
        .options = options,
        .least = 1,
        .most = 1};
    int first, status;
    if (!hd_options_parse(&usage, argc, argv, &first, &status)) return status;
    if (!hd_names_option_use(COMMAND, names)) return HD_EXIT_FAILED;
    struct hd_model model;
    struct hd_trace_options trace_options = {.keep = hd_full_option_keep(full),
                                             .most_events = full ? 0 : STEPS_SHOWN,
                                             .or_concurrent = !full};
    struct hd_model_options model_options = {.lenient = true};
    struct hd_error error;
    if (!hd_model_load(argv[first], &trace_options, &model_options, &model, &error))
        return hd_complain_error(COMMAND, &error);
    if (model.trace->kept == HD_KEEP_CONCURRENT)
        hd_warn(COMMAND,
                "more than %u million steps: shown are only those of memory that threads share "
                "and that forks, joins and barriers do not order (--full: everything)",
                STEPS_SHOWN / 1000000);
    dump.model = &model;
    dump.describe = hd_describe_open(&model);
    dump.json = json != 0;
    status = dump_model(&dump, kinds, threads);
    hd_dump_free(&dump);
    hd_describe_close(dump.describe);
    hd_model_free(&model);
    return status;
}
