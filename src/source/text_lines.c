/* Lines and words of the text form: see text_lines.h. */
#include "source/text_lines.h"

#include "source/build.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

bool hd_text_lines_next(struct hd_text_lines *lines) {
    if (lines->line_end != NULL)
        lines->at = lines->line_end < lines->end ? lines->line_end + 1 : lines->end;
    while (lines->at < lines->end) {
        lines->number++;
        const char *newline = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
        lines->line_end = newline != NULL ? newline : lines->end;
        while (lines->at < lines->line_end && blank(*lines->at)) lines->at++;
        if (lines->at < lines->line_end && *lines->at != '#') return true;
        lines->at = lines->line_end < lines->end ? lines->line_end + 1 : lines->end;
    }
    return false;
}

bool hd_text_lines_peek(const struct hd_text_lines *lines, struct hd_word *word) {
    struct hd_text_lines copy = *lines;
    return hd_text_lines_word(&copy, word);
}

bool hd_text_lines_word(struct hd_text_lines *lines, struct hd_word *word) {
    while (lines->at < lines->line_end && blank(*lines->at)) lines->at++;
    if (lines->at == lines->line_end) return false;
    word->string = *lines->at == '"';
    if (word->string) lines->at++;
    word->text = lines->at;
    while (lines->at < lines->line_end && (word->string ? *lines->at != '"' : !blank(*lines->at)))
        lines->at++;
    word->length = (size_t)(lines->at - word->text);
    if (word->string && lines->at < lines->line_end) lines->at++;
    return true;
}

bool hd_text_lines_take(struct hd_text_lines *lines, const char *text) {
    struct hd_word word;
    if (!hd_text_lines_peek(lines, &word) || !hd_word_is(&word, text)) return false;
    return hd_text_lines_word(lines, &word);
}

bool hd_text_lines_string(struct hd_text_lines *lines, struct hd_word *word) {
    if (!hd_text_lines_peek(lines, word) || !word->string) return false;
    return hd_text_lines_word(lines, word);
}

bool hd_text_lines_fail(struct hd_text_lines *lines, const char *format, ...) {
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return hd_fail(lines->error, HD_ERR_FORMAT, "%s, line %u: %s", lines->name, lines->number,
                   message);
}

bool hd_number_at(const char **at, const char *end, uint32_t *number) {
    uint64_t value = 0;
    const char *c = *at;
    for (; c < end && *c >= '0' && *c <= '9'; c++) {
        value = value * 10 + (uint64_t)(*c - '0');
        if (value >= UINT32_MAX) return false;
    }
    if (c == *at) return false;
    *at = c;
    *number = (uint32_t)value;
    return true;
}

static int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

uint32_t hd_source_text_unescape(struct hd_source *source, const char *bytes, size_t length) {
    if (memchr(bytes, '\\', length) == NULL && memchr(bytes, '\0', length) == NULL)
        return hd_source_text_add_bytes(source, bytes, length);
    HD_VECTOR(char) plain = {0};
    uint32_t text = HD_SOURCE_NONE;
    for (size_t i = 0; i < length; i++) {
        char c = bytes[i];
        if (c == '\\') {
            if (length - i < 3) goto done;
            int high = hex(bytes[i + 1]), low = hex(bytes[i + 2]);
            if (high < 0 || low < 0) goto done;
            c = (char)(high << 4 | low);
            i += 2;
        }
        if (c == '\0') goto done; /* no C string could hold it */
        hd_vector_push(&plain, c);
    }
    text = hd_source_text_add_bytes(source, plain.size > 0 ? plain.data : "", plain.size);
done:
    hd_vector_free(&plain);
    return text;
}
