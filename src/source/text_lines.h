/* Words of one line after another: the lower half of the text form's reader. A line is words and
 * "strings" between blanks; what follows a # at the begin of a line is a comment. */
#ifndef HEDDLE_SOURCE_TEXT_LINES_H
#define HEDDLE_SOURCE_TEXT_LINES_H

#include "base/status.h"
#include "source/source.h"

#include <string.h>

struct hd_text_lines {
    const char *name; /* of the text, for messages */
    const char *at, *end;
    const char *line_end;
    uint32_t number; /* of the line, from 1 */
    struct hd_error *error;
};

/* A word of the line, or a string without its quotes (escapes still in it). */
struct hd_word {
    const char *text;
    size_t length;
    bool string;
};

/* Goes to the next line that is not empty; false at the end. */
bool hd_text_lines_next(struct hd_text_lines *lines);
/* The next word of the line; false if there is none. */
bool hd_text_lines_word(struct hd_text_lines *lines, struct hd_word *word);
/* The same without taking it. */
bool hd_text_lines_peek(const struct hd_text_lines *lines, struct hd_word *word);
/* Takes the next word if it is this one. */
bool hd_text_lines_take(struct hd_text_lines *lines, const char *text);
/* Takes the next word if it is a string. */
bool hd_text_lines_string(struct hd_text_lines *lines, struct hd_word *word);
/* "name, line 12: message"; false. */
bool hd_text_lines_fail(struct hd_text_lines *lines, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline bool hd_word_is(const struct hd_word *word, const char *text) {
    return !word->string && word->length == strlen(text) &&
           memcmp(word->text, text, word->length) == 0;
}
/* A number at *at, which moves behind it; false if there is none or it is too large. */
bool hd_number_at(const char **at, const char *end, uint32_t *number);
/* Adds a text with its escapes (\hh) replaced; NONE if an escape is wrong. */
uint32_t hd_source_text_unescape(struct hd_source *source, const char *bytes, size_t length);

#endif
