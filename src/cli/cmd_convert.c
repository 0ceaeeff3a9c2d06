/* heddle convert: a trace in one format to another, or to a timeline. */
#include "cli/commands.h"
#include "cli/full_option.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/output_file.h"
#include "report/timeline.h"
#include "trace/convert.h"
#include "trace/symbols_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define COMMAND "convert"

/* Words of --from and --to, in the order of enum hd_trace_format. */
#define FORMATS "hdt|std|rapidbin"
#define TIMELINE 3u /* --to only */
#define NOT_GIVEN 99u

static const struct {
    const char *ending;
    unsigned format;
} endings[] = {{".hdt", HD_FORMAT_BINARY},   {".std", HD_FORMAT_TEXT},
               {".txt", HD_FORMAT_TEXT},     {".rapidbin", HD_FORMAT_RAPIDBIN},
               {".bin", HD_FORMAT_RAPIDBIN}, {".data", HD_FORMAT_RAPIDBIN},
               {".json", TIMELINE}};

static bool format_of_name(const char *path, unsigned *format) {
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (!strcasecmp(dot, endings[i].ending)) {
            *format = endings[i].format;
            return true;
        }
    return false;
}

static void warn_about(const struct hd_trace *trace, const struct hd_symbols *symbols) {
    for (uint32_t i = 0; i < trace->warnings; i++) hd_warn(COMMAND, "%s", trace->warning[i]);
    if (!trace->end.whole && trace->end.missing[0])
        hd_warn(COMMAND, "the trace is not whole: %s", trace->end.missing);
    const char *const *line = NULL;
    uint32_t lines = symbols ? hd_symbols_warnings(symbols, &line) : 0;
    for (uint32_t i = 0; i < lines; i++) hd_warn(COMMAND, "%s", line[i]);
}

/* ---- writing ------------------------------------------------------------------------------ */

static bool write_text(const struct hd_trace *trace, struct hd_symbols *symbols,
                       struct hd_output_file *out, bool no_branches, struct hd_error *error) {
    struct hd_text_options options = {.no_branches = no_branches};
    struct hd_symbol_names *names = NULL;
    if (symbols) {
        names = hd_symbol_names_open(trace, symbols);
        options.names = hd_symbol_names_functions(names);
    }
    bool good = hd_text_write(trace, out->fd, out->path, &options, error);
    hd_symbol_names_close(names);
    return good;
}

static bool write_rapidbin(const struct hd_trace *trace, struct hd_output_file *out,
                           struct hd_error *error) {
    uint64_t left_out = 0;
    if (!hd_rapidbin_write(trace, out->fd, out->path, &left_out, error)) return false;
    if (left_out)
        hd_warn(COMMAND, "%llu of %u events were left out: RapidBin has no words for them",
                (unsigned long long)left_out, trace->events);
    return true;
}

static bool copy_to(int from, const char *path, int to, struct hd_error *error) {
    char buffer[65536];
    for (ssize_t got; (got = read(from, buffer, sizeof buffer)) != 0;) {
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return hd_fail(error, HD_ERR_IO, "%s: %s", path, strerror(errno));
        for (ssize_t done = 0, put; done < got; done += put) {
            put = write(to, buffer + done, (size_t)(got - done));
            if (put < 0 && errno == EINTR) put = 0;
            if (put < 0)
                return hd_fail(error, HD_ERR_IO, "standard output can't be written: %s",
                               strerror(errno));
        }
    }
    return true;
}

/* A binary trace is written by name; what has no name of its own gets a copy of it. */
static bool write_binary(const struct hd_trace *trace, struct hd_output_file *out,
                         struct hd_error *error) {
    if (out->temporary) return hd_trace_save(trace, out->temporary, error);
    const char *directory = getenv("TMPDIR");
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/heddle-convert.hdt",
                          directory && *directory ? directory : "/tmp");
    struct hd_output_file copy;
    if (length < 0 || (size_t)length >= sizeof path)
        return hd_fail(error, HD_ERR_IO, "TMPDIR is too long");
    if (!hd_output_file_open(&copy, path, error)) return false;
    bool good = hd_trace_save(trace, copy.temporary, error);
    int fd = good ? open(copy.temporary, O_RDONLY | O_CLOEXEC) : -1;
    if (good && fd < 0) good = hd_fail(error, HD_ERR_IO, "%s: %s", copy.temporary, strerror(errno));
    if (good) good = copy_to(fd, copy.temporary, out->fd, error);
    if (fd >= 0) close(fd);
    hd_output_file_abandon(&copy);
    return good;
}

static bool write_trace(const struct hd_trace *trace, struct hd_symbols *symbols, const char *path,
                        enum hd_trace_format format, bool no_branches, struct hd_error *error) {
    struct hd_output_file out;
    if (!hd_output_file_open(&out, path, error)) return false;
    bool good = format == HD_FORMAT_BINARY ? write_binary(trace, &out, error)
                : format == HD_FORMAT_TEXT ? write_text(trace, symbols, &out, no_branches, error)
                                           : write_rapidbin(trace, &out, error);
    if (good) return hd_output_file_finish(&out, error);
    hd_output_file_abandon(&out);
    return false;
}

/* ---- a timeline --------------------------------------------------------------------------- */

struct timeline {
    const struct hd_model *model;
    struct hd_describe *describe;
    struct hd_timeline_options options;
};

static bool write_timeline(FILE *out, const void *context) {
    const struct timeline *timeline = context;
    return hd_timeline_write(out, timeline->model, timeline->describe, &timeline->options);
}

/* Takes the trace over. */
static int convert_to_timeline(struct hd_trace *trace, const char *path, uint64_t most) {
    struct hd_model model;
    struct hd_error error;
    if (!hd_model_build(trace, &(struct hd_model_options){.lenient = true}, &model, &error))
        return hd_complain_error(COMMAND, &error);
    struct hd_describe *describe = hd_describe_open(&model);
    struct timeline timeline = {&model, describe, {.most = (uint32_t)most}};
    int status = HD_EXIT_CLEAN;
    if (hd_output_file_write(path, write_timeline, &timeline, &error))
        hd_warn_about(COMMAND, &model, describe);
    else
        status = hd_complain_error(COMMAND, &error);
    hd_describe_close(describe);
    hd_model_free(&model);
    return status;
}

/* ---- the command -------------------------------------------------------------------------- */

int hd_cmd_convert(int argc, char **argv) {
    unsigned from = NOT_GIVEN, to = NOT_GIVEN;
    bool no_branches = false, full = false;
    uint64_t most = HD_TIMELINE_MOST;
    struct hd_option options[] = {
        HD_CHOICE("from", 0, "F", &from, FORMATS, "format of IN, if its content does not tell"),
        HD_CHOICE("to", 0, "F", &to, FORMATS "|perfetto",
                  "format of OUT, if its ending does not tell"),
        HD_FLAG("no-branches", 0, &no_branches,
                "leave the branch counts of a recorded trace out of the text"),
        HD_FULL_OPTION(&full),
        HD_NUMBER("accesses", 0, "N", &most, 0, UINT32_MAX,
                  "perfetto: fold accesses if more than N are to shared memory (default 200000)"),
        HD_OPTIONS_END};
    struct hd_usage usage = {
        .command = COMMAND,
        .operands = "IN OUT",
        .about =
            "Writes the trace IN in another format to OUT: hdt (.hdt, heddle's own), std\n"
            "(.std, .txt: text, one event a line), rapidbin (.rapidbin, .bin, .data: RAPID's\n"
            "binary format), or perfetto (.json: a timeline for ui.perfetto.dev). - stands for\n"
            "standard input or output.\n",
        .example = "  heddle convert app.hdt app.std\n"
                   "  heddle convert --to std app.hdt - | less\n"
                   "  heddle convert app.hdt app.perfetto.json\n",
        .options = options,
        .least = 2,
        .most = 2};
    int first, status;
    if (!hd_options_parse(&usage, argc, argv, &first, &status)) return status;
    const char *in = argv[first], *out = argv[first + 1];
    if (to == NOT_GIVEN && !format_of_name(out, &to))
        return hd_complain(COMMAND,
                           "say the format of '%s' with --to hdt, std, rapidbin or perfetto%s", out,
                           strcmp(out, "-") ? ", or by its ending" : "");
    struct hd_trace_options read = {.format_given = from != NOT_GIVEN,
                                    .keep = hd_full_option_keep(full)};
    if (read.format_given) read.format = (enum hd_trace_format)from;
    struct hd_trace trace;
    struct hd_error error;
    if (!hd_trace_load(in, &read, &trace, &error)) return hd_complain_error(COMMAND, &error);
    if (to == TIMELINE) return convert_to_timeline(&trace, out, most);
    struct hd_symbols *symbols =
        trace.format == HD_FORMAT_BINARY && to == HD_FORMAT_TEXT ? hd_symbols_open(&trace) : NULL;
    bool good = write_trace(&trace, symbols, out, (enum hd_trace_format)to, no_branches, &error);
    if (good)
        warn_about(&trace, symbols);
    else
        hd_complain_error(COMMAND, &error);
    hd_symbols_close(symbols);
    hd_trace_free(&trace);
    return good ? HD_EXIT_CLEAN : HD_EXIT_FAILED;
}
