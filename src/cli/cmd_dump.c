/* heddle dump: a trace as a person reads it, one line an event, or as JSON lines. */
#include "cli/commands.h"
#include "cli/lines.h"
#include "cli/options.h"
#include "cli/output.h"
#include "model/describe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define COMMAND "dump"

enum format { FORMAT_TEXT, FORMAT_JSON };

/* What to show, and how. */
struct dump {
    const struct hd_model *model;
    struct hd_describe *describe;
    struct hd_lines out;
    bool *threads; /* NULL: all of them */
    bool kinds[HD_EV_KINDS];
    uint64_t from, to;
    bool addresses, stacks;
    int number_width, thread_width, object_width, site_width;
};

/* ---- words -------------------------------------------------------------------------------- */

/* The text format has no line of its own for these. */
static const char *operation(enum hd_event_kind kind) {
    switch (kind) {
    case HD_EV_BARRIER_LEAVE:
        return "leave";
    case HD_EV_HANDLER_ENTER:
        return "handler";
    case HD_EV_HANDLER_LEAVE:
        return "return";
    default:
        return hd_kind_text(kind);
    }
}

static const char *memory_order(unsigned flags) {
    static const char *const name[] = {"relaxed", "consume", "acquire",
                                       "release", "acq_rel", "seq_cst"};
    unsigned order = flags >> 4;
    return order < sizeof name / sizeof *name ? name[order] : "?";
}

static bool is_recorded(const struct dump *dump) {
    return dump->model->trace->format == HD_FORMAT_BINARY && !dump->model->trace->variable_names;
}

/* A variable of the source tells its size by its name; a part of a block, or a range, does not. */
static bool size_is_obvious(const char *object) {
    return !strpbrk(object, "+#{") && !strstr(object, "..") && strncmp(object, "0x", 2) != 0;
}

/* What is worth knowing beside the object: size, memory order, kind of acquisition. */
static const char *remark(const struct dump *dump, uint32_t event, const char *object,
                          char text[64]) {
    const struct hd_model *model = dump->model;
    enum hd_event_kind kind = model->kind[event];
    unsigned flags = model->flags[event];
    unsigned long long size;
    *text = 0;
    if (!is_recorded(dump)) return text;
    switch (hd_kind_class(kind)) {
    case HD_CLASS_ATOMIC:
        snprintf(text, 64, "(%s)", memory_order(flags));
        break;
    case HD_CLASS_ACCESS:
        size = hd_trace_size(model->trace, event);
        if (!size_is_obvious(object) || size > 16)
            snprintf(text, 64, "(%llu byte%s)", size, size == 1 ? "" : "s");
        break;
    case HD_CLASS_MEMORY:
        if (model->object[event] < model->blocks) {
            size = model->block[model->object[event]].bytes;
            snprintf(text, 64, "(%llu byte%s)", size, size == 1 ? "" : "s");
        }
        break;
    case HD_CLASS_LOCK:
        if (flags & HD_LOCK_BY_WAIT) return "(by wait)";
        if (flags & HD_LOCK_BY_TRY) return "(by try)";
        break;
    default:
        break;
    }
    return text;
}

static int digits(uint64_t number) {
    int count = 1;
    while (number >= 10) number /= 10, count++;
    return count;
}

/* ---- text --------------------------------------------------------------------------------- */

#define OPERATION_WIDTH 9
#define ADDRESS_WIDTH 16

static void print_text(struct dump *dump, uint32_t event) {
    struct hd_lines *out = &dump->out;
    const struct hd_model *model = dump->model;
    const char *object = hd_describe_event(dump->describe, event, HD_SHORT);
    const char *site = hd_describe_site(dump->describe, event);
    const char *function = hd_describe_function(dump->describe, event);
    char remark_text[64];
    const char *beside = remark(dump, event, object, remark_text);
    hd_line_number(out, event, dump->number_width);
    hd_line_text(out, "  ", 2);
    hd_line_padded(out, hd_describe_thread(dump->describe, model->thread[event]),
                   dump->thread_width);
    hd_line_text(out, "  ", 2);
    const char *name = operation(model->kind[event]);
    hd_line_padded(out, name, OPERATION_WIDTH);
    if (strlen(name) >= OPERATION_WIDTH) hd_line_padded(out, "", 1);
    if (dump->addresses) {
        uint64_t address;
        char text[32] = "";
        if (hd_describe_address(dump->describe, event, &address))
            snprintf(text, sizeof text, "0x%llx", (unsigned long long)address);
        hd_line_padded(out, text, ADDRESS_WIDTH);
    }
    size_t start = hd_line_column(out);
    hd_line_string(out, object);
    if (*beside && *object) hd_line_text(out, " ", 1);
    hd_line_string(out, beside);
    if (*site || *function) {
        hd_line_pad_to(out, start + (size_t)dump->object_width);
        hd_line_text(out, "  ", 2);
        hd_line_padded(out, site, *function ? dump->site_width : 0);
        if (*function) hd_line_text(out, "  ", 2);
        hd_line_string(out, function);
    }
    hd_line_end(out);
}

static void print_text_stack(struct dump *dump, uint32_t event) {
    const struct hd_frame *frame;
    uint32_t count = hd_describe_stack(dump->describe, event, &frame);
    for (uint32_t i = 0; i < count; i++) {
        struct hd_lines *out = &dump->out;
        hd_line_pad_to(out, (size_t)dump->number_width + 2);
        hd_line_text(out, "    #", 5);
        hd_line_number(out, i, 0);
        hd_line_text(out, i < 10 ? "  " : " ", i < 10 ? 2 : 1);
        hd_line_string(out, frame[i].function);
        if (frame[i].file) {
            hd_line_text(out, " (", 2);
            hd_line_string(out, frame[i].file);
            if (frame[i].line) {
                hd_line_text(out, ":", 1);
                hd_line_number(out, frame[i].line, 0);
            }
            hd_line_text(out, ")", 1);
        }
        if (frame[i].inlined) hd_line_text(out, " [inlined]", 10);
        hd_line_end(out);
    }
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void put_json_frame(struct hd_lines *out, const struct hd_frame *frame) {
    if (frame->file) {
        hd_line_json_text(out, "file", frame->file);
        hd_line_json_number(out, "line", frame->line);
        if (frame->column) hd_line_json_number(out, "column", frame->column);
    }
    if (strcmp(frame->function, "??") != 0) hd_line_json_text(out, "function", frame->function);
}

static void put_json_stack(struct dump *dump, uint32_t event) {
    struct hd_lines *out = &dump->out;
    const struct hd_frame *frame;
    uint32_t count = hd_describe_stack(dump->describe, event, &frame);
    hd_line_string(out, ", \"stack\": [");
    for (uint32_t i = 0; i < count; i++) {
        hd_line_string(out, i ? ", {" : "{");
        hd_line_json_text(out, "module", frame[i].module);
        put_json_frame(out, &frame[i]);
        if (frame[i].inlined) hd_line_string(out, ", \"inlined\": true");
        hd_line_string(out, "}");
    }
    hd_line_string(out, "]");
}

static void print_json(struct dump *dump, uint32_t event) {
    struct hd_lines *out = &dump->out;
    const struct hd_model *model = dump->model;
    enum hd_event_kind kind = model->kind[event];
    enum hd_event_class class = hd_kind_class(kind);
    bool access = class == HD_CLASS_ACCESS || (class == HD_CLASS_ATOMIC && kind != HD_EV_FENCE);
    const char *object = hd_describe_event(dump->describe, event, HD_SHORT);
    const char *site = hd_describe_site(dump->describe, event);
    uint64_t address;
    hd_line_string(out, "{");
    hd_line_json_number(out, "event", event);
    hd_line_json_text(out, "thread", hd_describe_thread(dump->describe, model->thread[event]));
    hd_line_json_text(out, "op", operation(kind));
    hd_line_json_text(out, "kind", hd_kind_name(kind));
    if (*object) hd_line_json_text(out, access ? "variable" : "object", object);
    if (is_recorded(dump)) {
        if (access) hd_line_json_number(out, "size", hd_trace_size(model->trace, event));
        if (class == HD_CLASS_MEMORY && model->object[event] < model->blocks)
            hd_line_json_number(out, "size", model->block[model->object[event]].bytes);
        if (class == HD_CLASS_ATOMIC)
            hd_line_json_text(out, "order", memory_order(model->flags[event]));
        if (class == HD_CLASS_LOCK && model->flags[event] & (HD_LOCK_BY_WAIT | HD_LOCK_BY_TRY))
            hd_line_json_text(out, "by", model->flags[event] & HD_LOCK_BY_WAIT ? "wait" : "try");
    }
    if (dump->addresses && hd_describe_address(dump->describe, event, &address)) {
        char text[32];
        snprintf(text, sizeof text, "0x%llx", (unsigned long long)address);
        hd_line_json_text(out, "address", text);
    }
    if (*site) hd_line_json_text(out, "site", site);
    if (is_recorded(dump)) put_json_frame(out, hd_describe_frame(dump->describe, event));
    if (dump->stacks) put_json_stack(dump, event);
    hd_line_string(out, "}");
    hd_line_end(out);
}

/* ---- selection ---------------------------------------------------------------------------- */

static bool same_word(const char *word, size_t length, const char *name) {
    return strlen(name) == length && !strncasecmp(word, name, length);
}

/* An operation of the text format, a kind ("READ", "barrier_leave") or a class of them. */
static bool select_kinds(struct dump *dump, const char *word, size_t length) {
    static const struct {
        const char *name;
        enum hd_event_class class;
    } classes[] = {{"access", HD_CLASS_ACCESS}, {"atomic", HD_CLASS_ATOMIC},
                   {"lock", HD_CLASS_LOCK},     {"sync", HD_CLASS_SYNC},
                   {"thread", HD_CLASS_THREAD}, {"memory", HD_CLASS_MEMORY},
                   {"mark", HD_CLASS_MARK}};
    bool found = false;
    for (unsigned kind = 1; kind < HD_EV_KINDS; kind++) {
        enum hd_event_class class = hd_kind_class(kind);
        if (class == HD_CLASS_BOOK) continue;
        bool match =
            same_word(word, length, operation(kind)) || same_word(word, length, hd_kind_name(kind));
        for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
            match |= class == classes[i].class && same_word(word, length, classes[i].name);
        dump->kinds[kind] |= match;
        found |= match;
    }
    return found;
}

static bool select_thread(struct dump *dump, const char *word, size_t length) {
    const struct hd_model *model = dump->model;
    bool found = false;
    for (uint32_t thread = 0; thread < model->threads; thread++) {
        char number[16];
        snprintf(number, sizeof number, "%u", thread);
        const char *name = hd_describe_thread(dump->describe, thread);
        bool match = (strlen(name) == length && !memcmp(name, word, length)) ||
                     (is_recorded(dump) && same_word(word, length, number));
        dump->threads[thread] |= match;
        found |= match;
    }
    return found;
}

/* Comma-separated words, each given to `select`; the one it does not know is left in *bad. */
static bool select_words(struct dump *dump, const char *words,
                         bool (*select)(struct dump *, const char *, size_t), const char **bad) {
    for (;;) {
        size_t length = strcspn(words, ",");
        *bad = words;
        if (!length || !select(dump, words, length)) return false;
        if (!words[length]) return true;
        words += length + 1;
    }
}

static bool is_selected(const struct dump *dump, uint32_t event) {
    return dump->kinds[dump->model->kind[event]] &&
           (!dump->threads || dump->threads[dump->model->thread[event]]);
}

static void widen(int *width, size_t needed, int most) {
    if (needed > (size_t)*width) *width = needed < (size_t)most ? (int)needed : most;
}

/* Columns are as wide as the first lines need, within reason: later lines may stick out. */
#define MEASURED_LINES 2000

static void measure(struct dump *dump, uint64_t last) {
    const struct hd_model *model = dump->model;
    dump->number_width = digits(model->events ? model->events - 1 : 0);
    for (uint32_t thread = 0; thread < model->threads; thread++)
        widen(&dump->thread_width, strlen(hd_describe_thread(dump->describe, thread)), 16);
    dump->object_width = 12;
    unsigned lines = 0;
    for (uint64_t at = dump->from; at <= last && lines < MEASURED_LINES; at++) {
        uint32_t event = (uint32_t)at;
        if (!is_selected(dump, event)) continue;
        char text[64];
        const char *object = hd_describe_event(dump->describe, event, HD_SHORT);
        size_t beside = strlen(remark(dump, event, object, text));
        widen(&dump->object_width, strlen(object) + (beside ? beside + 1 : 0), 32);
        widen(&dump->site_width, strlen(hd_describe_site(dump->describe, event)), 44);
        lines++;
    }
}

static void print_events(struct dump *dump, enum format format) {
    const struct hd_model *model = dump->model;
    if (!model->events) return;
    uint64_t last = dump->to < model->events ? dump->to : model->events - 1;
    if (format == FORMAT_TEXT) measure(dump, last);
    for (uint64_t at = dump->from; at <= last && !dump->out.failed; at++) {
        uint32_t event = (uint32_t)at;
        if (!is_selected(dump, event)) continue;
        if (format == FORMAT_JSON) {
            print_json(dump, event);
        } else {
            print_text(dump, event);
            if (dump->stacks) print_text_stack(dump, event);
        }
    }
    hd_line_flush(&dump->out);
}

/* ---- the command -------------------------------------------------------------------------- */

static void warn_about(const struct hd_model *model, const struct hd_describe *describe) {
    const char *const *line;
    for (uint32_t i = 0; i < model->trace->warnings; i++)
        hd_warn(COMMAND, "%s", model->trace->warning[i]);
    if (!model->trace->end.whole && model->trace->end.missing[0])
        hd_warn(COMMAND, "the trace is not whole: %s", model->trace->end.missing);
    for (uint32_t i = 0; i < model->warnings; i++) hd_warn(COMMAND, "%s", model->warning[i]);
    uint32_t lines = hd_describe_warnings(describe, &line);
    for (uint32_t i = 0; i < lines; i++) hd_warn(COMMAND, "%s", line[i]);
}

static int dump_model(struct dump *dump, const char *kinds, const char *threads,
                      enum format format) {
    const char *bad;
    if (kinds && !select_words(dump, kinds, select_kinds, &bad))
        return hd_complain(COMMAND,
                           "--kind: '%.*s' is no operation, kind or class of events; see "
                           "'heddle dump --help'",
                           (int)strcspn(bad, ","), bad);
    if (!kinds) memset(dump->kinds, true, sizeof dump->kinds);
    if (threads) {
        dump->threads = calloc(dump->model->threads + (size_t)1, sizeof *dump->threads);
        if (!dump->threads) return hd_complain(COMMAND, "out of memory");
        if (!select_words(dump, threads, select_thread, &bad))
            return hd_complain(COMMAND, "--thread: the trace has no thread '%.*s'",
                               (int)strcspn(bad, ","), bad);
    }
    print_events(dump, format);
    warn_about(dump->model, dump->describe);
    return hd_finish_output(COMMAND) ? HD_EXIT_CLEAN : HD_EXIT_FAILED;
}

int hd_cmd_dump(int argc, char **argv) {
    struct dump dump = {.to = UINT64_MAX};
    const char *threads = NULL, *kinds = NULL;
    unsigned format = FORMAT_TEXT;
    struct hd_option options[] = {
        HD_TEXT("thread", 't', "T,..", &threads,
                "only these threads (T2, or 2; names of a text trace)"),
        HD_TEXT(
            "kind", 'k', "K,..", &kinds,
            "only these events: operations (r, w, acq), kinds (READ) or classes (access, atomic, "
            "lock, sync, thread, memory, mark)"),
        HD_NUMBER("from", 0, "N", &dump.from, 0, UINT32_MAX, "start at event N"),
        HD_NUMBER("to", 0, "N", &dump.to, 0, UINT32_MAX, "stop after event N"),
        HD_FLAG("addresses", 'a', &dump.addresses, "show addresses too"),
        HD_FLAG("stacks", 's', &dump.stacks, "show the call stack of every event"),
        HD_CHOICE("format", 0, "F", &format, "text|json",
                  "lines to read, or one JSON object a line"),
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
    struct hd_model model;
    struct hd_model_options model_options = {.lenient = true};
    struct hd_error error;
    if (!hd_model_load(argv[first], NULL, &model_options, &model, &error))
        return hd_complain_error(COMMAND, &error);
    dump.model = &model;
    dump.describe = hd_describe_open(&model);
    status = dump_model(&dump, kinds, threads, format);
    free(dump.threads);
    hd_describe_close(dump.describe);
    hd_model_free(&model);
    return status;
}
