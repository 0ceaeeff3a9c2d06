/* Fast output of many short lines to standard output: a buffer, columns, JSON strings. */
#ifndef HEDDLE_CLI_DUMP_OUTPUT_H
#define HEDDLE_CLI_DUMP_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HD_OUTPUT_BYTES 65536u

/* A zeroed buffer is an empty one. */
struct hd_output_buffer {
    size_t used, line_start;
    bool failed; /* standard output takes no more */
    char text[HD_OUTPUT_BYTES];
};

void hd_put_text(struct hd_output_buffer *buffer, const char *text, size_t length);
void hd_put_string(struct hd_output_buffer *buffer, const char *text);
/* Fills up with blanks to `width` characters; text that is longer stays whole. */
void hd_put_padded(struct hd_output_buffer *buffer, const char *text, int width);
void hd_put_number(struct hd_output_buffer *buffer, uint64_t number, int width);
/* Characters in the present line. */
size_t hd_column(const struct hd_output_buffer *buffer);
void hd_put_column(struct hd_output_buffer *buffer, size_t column);
/* Removes trailing blanks and ends the line. */
void hd_end_line(struct hd_output_buffer *buffer);
void hd_flush_buffer(struct hd_output_buffer *buffer);

/* One "name": value of an object, after a comma if it is not the first in its object. */
void hd_put_json_field(struct hd_output_buffer *buffer, const char *name, const char *value);
void hd_put_json_number(struct hd_output_buffer *buffer, const char *name, uint64_t value);

#endif
