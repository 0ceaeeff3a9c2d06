/* Buffered lines and JSON for commands that print millions of them. */
#include "report/lines.h"

#include "base/utf8.h"

#include <string.h>

void hd_line_flush(struct hd_lines *lines) {
    if (lines->used && !lines->failed &&
        fwrite(lines->text, 1, lines->used, lines->stream) != lines->used)
        lines->failed = true;
    lines->used = lines->line_start = 0;
}

void hd_line_text(struct hd_lines *lines, const char *text, size_t length) {
    while (length > sizeof lines->text - lines->used) {
        /* a line longer than the buffer loses its alignment, nothing else */
        size_t room = sizeof lines->text - lines->used;
        memcpy(lines->text + lines->used, text, room);
        lines->used += room;
        text += room;
        length -= room;
        hd_line_flush(lines);
    }
    memcpy(lines->text + lines->used, text, length);
    lines->used += length;
}

void hd_line_string(struct hd_lines *lines, const char *text) {
    hd_line_text(lines, text, strlen(text));
}

static void put_blanks(struct hd_lines *lines, size_t count) {
    static const char blanks[] = "                                                                ";
    for (size_t part; count; count -= part) {
        part = count < sizeof blanks - 1 ? count : sizeof blanks - 1;
        hd_line_text(lines, blanks, part);
    }
}

/* Characters, not bytes, of UTF-8 text. */
static size_t width_of(const char *text, size_t length) {
    size_t width = 0;
    for (size_t i = 0; i < length; i++) width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

void hd_line_padded(struct hd_lines *lines, const char *text, int width) {
    size_t length = strlen(text), shown = width_of(text, length);
    hd_line_text(lines, text, length);
    if (shown < (size_t)width) put_blanks(lines, (size_t)width - shown);
}

void hd_line_number(struct hd_lines *lines, uint64_t number, int width) {
    char digits[24];
    size_t at = sizeof digits;
    do digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    size_t length = sizeof digits - at;
    if (length < (size_t)width) put_blanks(lines, (size_t)width - length);
    hd_line_text(lines, digits + at, length);
}

size_t hd_line_column(const struct hd_lines *lines) {
    return width_of(lines->text + lines->line_start, lines->used - lines->line_start);
}

void hd_line_pad_to(struct hd_lines *lines, size_t column) {
    size_t now = hd_line_column(lines);
    if (now < column) put_blanks(lines, column - now);
}

void hd_line_end(struct hd_lines *lines) {
    while (lines->used > lines->line_start && lines->text[lines->used - 1] == ' ') lines->used--;
    hd_line_text(lines, "\n", 1);
    lines->line_start = lines->used;
    /* whole lines go out, so that the next one can be aligned */
    if (lines->used > sizeof lines->text - 4096) hd_line_flush(lines);
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void put_json_string(struct hd_lines *lines, const char *text) {
    hd_line_text(lines, "\"", 1);
    const char *plain = text;
    while (*text) {
        unsigned char c = (unsigned char)*text;
        size_t length = hd_utf8_length(text, NULL);
        if (length && c >= 0x20 && c != '"' && c != '\\' && c != 0x7f) {
            text += length;
            continue;
        }
        hd_line_text(lines, plain, (size_t)(text - plain));
        char escape[8];
        if (c == '"' || c == '\\')
            snprintf(escape, sizeof escape, "\\%c", c);
        else /* control characters, and bytes that are not UTF-8 */
            snprintf(escape, sizeof escape, "\\u%04x", c);
        hd_line_string(lines, escape);
        plain = ++text;
    }
    hd_line_text(lines, plain, (size_t)(text - plain));
    hd_line_text(lines, "\"", 1);
}

static void put_name(struct hd_lines *lines, const char *name) {
    if (lines->used && lines->text[lines->used - 1] != '{') hd_line_text(lines, ", ", 2);
    hd_line_text(lines, "\"", 1);
    hd_line_string(lines, name);
    hd_line_text(lines, "\": ", 3);
}

void hd_line_json_text(struct hd_lines *lines, const char *name, const char *value) {
    put_name(lines, name);
    put_json_string(lines, value);
}

void hd_line_json_number(struct hd_lines *lines, const char *name, uint64_t value) {
    put_name(lines, name);
    hd_line_number(lines, value, 0);
}
