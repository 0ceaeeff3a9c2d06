/* Reads text files of lines and words that people edit: words between blanks, names in quotes if
 * they have blanks, numbers, comments from '#' to the end of the line. Untrusted input: each line
 * is checked, and the first error is a message with file and line. */
#ifndef HEDDLE_BASE_LINE_READER_H
#define HEDDLE_BASE_LINE_READER_H

#include "base/arena.h"
#include "base/status.h"

#include <stdint.h>
#include <stdio.h>

struct hd_line_reader {
    const char *name;        /* of the file, for messages */
    uint32_t line;           /* from 1 */
    const char *at, *end;    /* what is left of the line */
    const char *next, *stop; /* what is left of the file after it */
    struct hd_arena *arena;  /* gets names */
    struct hd_error *error;
};

struct hd_line_reader hd_line_reader(const char *bytes, size_t length, const char *name,
                                     struct hd_arena *arena, struct hd_error *error);
/* Goes to the next line; false after the last. An empty file has one empty line. A carriage return
 * before the newline is left out. */
bool hd_line_next(struct hd_line_reader *reader);
/* Fails with "name:line: what". */
bool hd_line_wrong(struct hd_line_reader *reader, const char *what);

/* Is nothing left but blanks and a comment? */
bool hd_line_at_end(struct hd_line_reader *reader);
/* Is this the next word? Then it is read. */
bool hd_line_take(struct hd_line_reader *reader, const char *word);
/* A word, or a name in quotes; `what` names it in the message if it is missing. */
bool hd_line_name(struct hd_line_reader *reader, const char *what, const char **name);
bool hd_line_integer(struct hd_line_reader *reader, uint32_t *number);

/* Reads a whole file: a first line, lines, and 'end' as the last, so that one that was cut short is
 * seen. Empty lines and bytes 0 are dealt with before `line` gets to see one. */
bool hd_line_read_all(struct hd_line_reader *reader, bool (*first)(struct hd_line_reader *reader),
                      bool (*line)(struct hd_line_reader *reader, void *context), void *context);

/* Writes a name so that hd_line_name reads it back: in quotes where that is needed. */
void hd_line_write_name(FILE *to, const char *name);

#endif
