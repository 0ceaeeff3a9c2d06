/* See dump.h. */
#include "report/dump.h"

#include "base/alloc.h"
#include "report/page.h"

#include <string.h>
#include <strings.h>

/* ---- words -------------------------------------------------------------------------------- */

static const char *memory_order(unsigned flags) {
    static const char *const name[] = {"relaxed", "consume", "acquire",
                                       "release", "acq_rel", "seq_cst"};
    unsigned order = HD_ATOMIC_ORDER(flags);
    return order < sizeof name / sizeof *name ? name[order] : "?";
}

static bool is_recorded(const struct hd_dump *dump) {
    return dump->model->trace->format == HD_FORMAT_BINARY && !dump->model->trace->variable_names;
}

/* A variable of the source tells its size by its name; a part of a block, or a range, does not. */
static bool size_is_obvious(const char *object) {
    return !strpbrk(object, "+#{") && !strstr(object, "..") && strncmp(object, "0x", 2) != 0;
}

/* What is worth knowing beside the object: size, memory order, kind of acquisition. */
static const char *remark(const struct hd_dump *dump, uint32_t event, const char *object,
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

static void print_text(struct hd_dump *dump, uint32_t event) {
    struct hd_lines *out = &dump->out;
    const struct hd_model *model = dump->model;
    const char *object = hd_describe_event(dump->describe, event, HD_APART);
    const char *site = hd_describe_site(dump->describe, event);
    const char *function = hd_describe_function(dump->describe, event);
    char remark_text[64];
    const char *beside = remark(dump, event, object, remark_text);
    hd_line_number(out, hd_trace_number(model->trace, event), dump->number_width);
    hd_line_text(out, "  ", 2);
    hd_line_padded(out, hd_describe_thread(dump->describe, model->thread[event]),
                   dump->thread_width);
    hd_line_text(out, "  ", 2);
    const char *name = hd_report_event(model, event);
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

static void print_text_stack(struct hd_dump *dump, uint32_t event) {
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

static void put_json_stack(struct hd_dump *dump, uint32_t event) {
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

static void print_json(struct hd_dump *dump, uint32_t event) {
    struct hd_lines *out = &dump->out;
    const struct hd_model *model = dump->model;
    enum hd_event_kind kind = model->kind[event];
    enum hd_event_class class = hd_kind_class(kind);
    bool access = class == HD_CLASS_ACCESS || (class == HD_CLASS_ATOMIC && kind != HD_EV_FENCE);
    const char *object = hd_describe_event(dump->describe, event, HD_APART);
    const char *site = hd_describe_site(dump->describe, event);
    uint64_t address;
    hd_line_string(out, "{");
    hd_line_json_number(out, "event", hd_trace_number(dump->model->trace, event));
    if (hd_trace_is_put_in(dump->model->trace, event)) hd_line_string(out, ", \"put_in\": true");
    hd_line_json_text(out, "thread", hd_describe_thread(dump->describe, model->thread[event]));
    hd_line_json_text(out, "op", hd_report_event(model, event));
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
static bool select_kinds(struct hd_dump *dump, const char *word, size_t length) {
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
        bool match = same_word(word, length, hd_report_operation(kind)) ||
                     same_word(word, length, hd_kind_name(kind));
        for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
            match |= class == classes[i].class && same_word(word, length, classes[i].name);
        dump->kinds[kind] |= match;
        found |= match;
    }
    return found;
}

static bool select_thread(struct hd_dump *dump, const char *word, size_t length) {
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
static bool select_words(struct hd_dump *dump, const char *words,
                         bool (*select)(struct hd_dump *, const char *, size_t), const char **bad) {
    for (;;) {
        size_t length = strcspn(words, ",");
        *bad = words;
        if (!length || !select(dump, words, length)) return false;
        if (!words[length]) return true;
        words += length + 1;
    }
}

bool hd_dump_choose_kinds(struct hd_dump *dump, const char *words, const char **bad) {
    return select_words(dump, words, select_kinds, bad);
}

bool hd_dump_choose_threads(struct hd_dump *dump, const char *words, const char **bad) {
    dump->threads = hd_zalloc(dump->model->threads, sizeof *dump->threads);
    return select_words(dump, words, select_thread, bad);
}

static bool is_selected(const struct hd_dump *dump, uint32_t event) {
    uint64_t number = hd_trace_number(dump->model->trace, event);
    return number >= dump->from && number <= dump->to && dump->kinds[dump->model->kind[event]] &&
           (!dump->threads || dump->threads[dump->model->thread[event]]);
}

static void widen(int *width, size_t needed, int most) {
    if (needed > (size_t)*width) *width = needed < (size_t)most ? (int)needed : most;
}

/* Columns are as wide as the first lines need, within reason: later lines may stick out. */
#define MEASURED_LINES 2000

static void measure(struct hd_dump *dump) {
    const struct hd_model *model = dump->model;
    dump->number_width = digits(model->trace->recorded ? model->trace->recorded - 1 : 0);
    for (uint32_t thread = 0; thread < model->threads; thread++)
        widen(&dump->thread_width, strlen(hd_describe_thread(dump->describe, thread)), 16);
    dump->object_width = 12;
    unsigned lines = 0;
    for (uint32_t event = 0; event < model->events && lines < MEASURED_LINES; event++) {
        if (!is_selected(dump, event)) continue;
        char text[64];
        const char *object = hd_describe_event(dump->describe, event, HD_APART);
        size_t beside = strlen(remark(dump, event, object, text));
        widen(&dump->object_width, strlen(object) + (beside ? beside + 1 : 0), 32);
        widen(&dump->site_width, strlen(hd_describe_site(dump->describe, event)), 44);
        lines++;
    }
}

void hd_dump_print(struct hd_dump *dump) {
    const struct hd_model *model = dump->model;
    if (!dump->json) measure(dump);
    for (uint32_t event = 0; event < model->events && !dump->out.failed; event++) {
        if (!is_selected(dump, event)) continue;
        if (dump->json) {
            print_json(dump, event);
        } else {
            print_text(dump, event);
            if (dump->stacks) print_text_stack(dump, event);
        }
    }
    hd_line_flush(&dump->out);
}

void hd_dump_free(struct hd_dump *dump) { free(dump->threads); }
