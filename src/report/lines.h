/* Fast output of many short lines to a stream: a buffer, columns, JSON strings. */
#ifndef HEDDLE_REPORT_LINES_H
#define HEDDLE_REPORT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define HD_LINES_BYTES 65536u

/* Zero but for the stream, it is empty. */
struct hd_lines {
    FILE *stream;
    size_t used, line_start;
    bool failed; /* the stream takes no more */
    char text[HD_LINES_BYTES];
};

void hd_line_text(struct hd_lines *lines, const char *text, size_t length);
void hd_line_string(struct hd_lines *lines, const char *text);
/* Fills up with blanks to `width` characters; text that is longer stays whole. */
void hd_line_padded(struct hd_lines *lines, const char *text, int width);
void hd_line_number(struct hd_lines *lines, uint64_t number, int width);
/* Characters in the present line. */
size_t hd_line_column(const struct hd_lines *lines);
void hd_line_pad_to(struct hd_lines *lines, size_t column);
/* Removes trailing blanks and ends the line. */
void hd_line_end(struct hd_lines *lines);
void hd_line_flush(struct hd_lines *lines);

/* One "name": value of an object, after a comma if it is not the first in its object. */
void hd_line_json_text(struct hd_lines *lines, const char *name, const char *value);
void hd_line_json_number(struct hd_lines *lines, const char *name, uint64_t value);

#endif
