/* See page.h. */
#include "report/page.h"

#include <string.h>

struct hd_page hd_page_for(FILE *out, const struct hd_report_style *style) {
    bool color = style->color;
    return (struct hd_page){.out = out,
                            .bold = color ? "\033[1m" : "",
                            .dim = color ? "\033[2m" : "",
                            .red = color ? "\033[31m" : "",
                            .green = color ? "\033[32m" : "",
                            .off = color ? "\033[0m" : "",
                            .width = style->width > 0 ? style->width : 100,
                            .excerpts = style->excerpts};
}

const char *hd_page_plural(uint64_t number) { return number == 1 ? "" : "s"; }

void hd_page_not_shown(FILE *out, size_t count) {
    fprintf(out, "%zu more finding%s not shown (--max 0 shows all)\n\n", count,
            count == 1 ? " is" : "s are");
}

const char *hd_page_duration(double seconds, char text[32]) {
    if (seconds < 1e-3)
        snprintf(text, 32, "%.1f us", seconds * 1e6);
    else if (seconds < 1)
        snprintf(text, 32, "%.1f ms", seconds * 1e3);
    else
        snprintf(text, 32, "%.2f s", seconds);
    return text;
}

void hd_page_place(struct hd_describe *describe, uint32_t event, bool short_site, char *text,
                   size_t room) {
    const char *site = hd_describe_site(describe, event);
    if (*site != '\0')
        snprintf(text, room, "%s", short_site ? hd_finding_short_site(site) : site);
    else
        snprintf(text, room, "event %llu", (unsigned long long)hd_describe_number(describe, event));
}

const char *hd_report_format_name(enum hd_trace_format format) {
    static const char *const name[] = {[HD_FORMAT_BINARY] = "binary",
                                       [HD_FORMAT_TEXT] = "text",
                                       [HD_FORMAT_RAPIDBIN] = "RapidBin"};
    return name[format];
}

const char *hd_report_operation(enum hd_event_kind kind) {
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

const char *hd_report_event(const struct hd_model *model, uint32_t event) {
    enum hd_event_kind kind = model->kind[event];
    return kind == HD_EV_NOTE ? hd_event_text(kind, model->flags[event])
                              : hd_report_operation(kind);
}

void hd_report_json_value(FILE *out, json_t *value) {
    json_dumpf(value, out, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    fputc('\n', out);
    json_decref(value);
}

unsigned hd_page_columns(const char *text) {
    unsigned count = 0;
    for (; *text != '\0'; text++)
        if (((unsigned char)*text & 0xc0) != 0x80) count++;
    return count;
}

void hd_page_paragraph(const struct hd_page *page, unsigned indent, const char *text) {
    unsigned column = indent;
    fprintf(page->out, "%*s", (int)indent, "");
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        char word[512];
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        unsigned wide = hd_page_columns(word);
        if (column > indent && column + 1 + wide > page->width) {
            fprintf(page->out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', page->out);
            column++;
        }
        fprintf(page->out, "%.*s", (int)length, text);
        column += wide;
        text += length;
        while (*text == ' ') text++;
    }
    fputc('\n', page->out);
}

void hd_page_locks(const struct hd_page *page, const struct hd_finding_event *event) {
    if (event->locks == 0) fprintf(page->out, "no lock");
    for (uint32_t i = 0; i < event->locks; i++)
        fprintf(page->out, "%s%s%s", i > 0 ? ", " : "", event->lock[i].name,
                event->lock[i].reading ? " (for reading)" : "");
}

void hd_page_excerpt(const struct hd_page *page, unsigned indent,
                     const struct hd_finding_event *event) {
    if (page->excerpts != NULL && event->file != NULL)
        hd_excerpt_print(page->excerpts, page->out, indent, event->file, event->line, event->column,
                         page->green, page->off);
}

void hd_page_events(const struct hd_page *page, unsigned indent, const struct hd_finding *finding,
                    void (*print)(const struct hd_page *page,
                                  const struct hd_finding_event *event)) {
    uint32_t left_out = 0;
    for (uint32_t i = 0; i < finding->events; i++) {
        if (!hd_finding_in_words(i, finding->events)) {
            left_out++;
            continue;
        }
        if (left_out > 0) fprintf(page->out, "%*s... and %u more ...\n", (int)indent, "", left_out);
        left_out = 0;
        print(page, &finding->event[i]);
    }
}
