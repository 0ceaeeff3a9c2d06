/* Buffered lines and JSON for commands that print millions of them. */
#include "cli/dump_output.h"

#include <stdio.h>
#include <string.h>

void hd_flush_buffer(struct hd_output_buffer *buffer) {
    if (buffer->used && !buffer->failed &&
        fwrite(buffer->text, 1, buffer->used, stdout) != buffer->used)
        buffer->failed = true;
    buffer->used = buffer->line_start = 0;
}

void hd_put_text(struct hd_output_buffer *buffer, const char *text, size_t length) {
    while (length > sizeof buffer->text - buffer->used) {
        /* a line longer than the buffer loses its alignment, nothing else */
        size_t room = sizeof buffer->text - buffer->used;
        memcpy(buffer->text + buffer->used, text, room);
        buffer->used += room;
        text += room;
        length -= room;
        hd_flush_buffer(buffer);
    }
    memcpy(buffer->text + buffer->used, text, length);
    buffer->used += length;
}

void hd_put_string(struct hd_output_buffer *buffer, const char *text) {
    hd_put_text(buffer, text, strlen(text));
}

static void put_blanks(struct hd_output_buffer *buffer, size_t count) {
    static const char blanks[] = "                                                                ";
    for (size_t part; count; count -= part) {
        part = count < sizeof blanks - 1 ? count : sizeof blanks - 1;
        hd_put_text(buffer, blanks, part);
    }
}

/* Characters, not bytes, of UTF-8 text. */
static size_t width_of(const char *text, size_t length) {
    size_t width = 0;
    for (size_t i = 0; i < length; i++) width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

void hd_put_padded(struct hd_output_buffer *buffer, const char *text, int width) {
    size_t length = strlen(text), shown = width_of(text, length);
    hd_put_text(buffer, text, length);
    if (shown < (size_t)width) put_blanks(buffer, (size_t)width - shown);
}

void hd_put_number(struct hd_output_buffer *buffer, uint64_t number, int width) {
    char digits[24];
    size_t at = sizeof digits;
    do digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    size_t length = sizeof digits - at;
    if (length < (size_t)width) put_blanks(buffer, (size_t)width - length);
    hd_put_text(buffer, digits + at, length);
}

size_t hd_column(const struct hd_output_buffer *buffer) {
    return width_of(buffer->text + buffer->line_start, buffer->used - buffer->line_start);
}

void hd_put_column(struct hd_output_buffer *buffer, size_t column) {
    size_t now = hd_column(buffer);
    if (now < column) put_blanks(buffer, column - now);
}

void hd_end_line(struct hd_output_buffer *buffer) {
    while (buffer->used > buffer->line_start && buffer->text[buffer->used - 1] == ' ')
        buffer->used--;
    hd_put_text(buffer, "\n", 1);
    buffer->line_start = buffer->used;
    /* whole lines go out, so that the next one can be aligned */
    if (buffer->used > sizeof buffer->text - 4096) hd_flush_buffer(buffer);
}

/* ---- JSON --------------------------------------------------------------------------------- */

/* Length of the UTF-8 sequence at text, 0 if it is none. */
static size_t utf8_length(const unsigned char *text) {
    size_t length = text[0] < 0x80 ? 1 : text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
    if (length == 1) return 1;
    if (text[0] < 0xc2 || text[0] > 0xf4) return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80) return 0;
    if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
        (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
        return 0;
    return length;
}

static void put_json_string(struct hd_output_buffer *buffer, const char *text) {
    hd_put_text(buffer, "\"", 1);
    const char *plain = text;
    while (*text) {
        unsigned char c = (unsigned char)*text;
        size_t length = utf8_length((const unsigned char *)text);
        if (length && c >= 0x20 && c != '"' && c != '\\' && c != 0x7f) {
            text += length;
            continue;
        }
        hd_put_text(buffer, plain, (size_t)(text - plain));
        char escape[8];
        if (c == '"' || c == '\\')
            snprintf(escape, sizeof escape, "\\%c", c);
        else /* control characters, and bytes that are not UTF-8 */
            snprintf(escape, sizeof escape, "\\u%04x", c);
        hd_put_string(buffer, escape);
        plain = ++text;
    }
    hd_put_text(buffer, plain, (size_t)(text - plain));
    hd_put_text(buffer, "\"", 1);
}

static void put_name(struct hd_output_buffer *buffer, const char *name) {
    if (buffer->used && buffer->text[buffer->used - 1] != '{') hd_put_text(buffer, ", ", 2);
    hd_put_text(buffer, "\"", 1);
    hd_put_string(buffer, name);
    hd_put_text(buffer, "\": ", 3);
}

void hd_put_json_field(struct hd_output_buffer *buffer, const char *name, const char *value) {
    put_name(buffer, name);
    put_json_string(buffer, value);
}

void hd_put_json_number(struct hd_output_buffer *buffer, const char *name, uint64_t value) {
    put_name(buffer, name);
    hd_put_number(buffer, value, 0);
}
