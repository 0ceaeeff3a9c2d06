/* The reader of the text form, shared by its two halves: declarations (text_read.c) and bodies
 * (text_body.c). */
#ifndef HEDDLE_SOURCE_TEXT_READ_H
#define HEDDLE_SOURCE_TEXT_READ_H

#include "source/text_lines.h"

/* A node that is not closed yet. */
struct hd_open_node {
    uint32_t node, last_child, children;
    bool nested;
};

struct hd_source_reader {
    struct hd_source *source;
    struct hd_text_lines lines;
    /* What a name of this text stands for; HD_SOURCE_NONE: nothing yet. By number of the word. */
    struct hd_intern words;
    HD_VECTOR(uint32_t) variable_of;
    HD_VECTOR(uint32_t) function_of;
    HD_VECTOR(uint32_t) local_of;
    HD_VECTOR(uint32_t) locals; /* words that have a local of the function being read */
    uint32_t first_unit, units, record;
    uint32_t function; /* whose body is read */
    HD_VECTOR(struct hd_open_node) open;
    HD_VECTOR(uint32_t) links;
};

/* The variable or function that a name means; a name without a declaration means the thing with
 * that name that every unit sees. NONE (with an error) if the name is wrong. */
uint32_t hd_text_variable(struct hd_source_reader *reader, const char *name, size_t length,
                          uint8_t kind);
uint32_t hd_text_function(struct hd_source_reader *reader, const char *name, size_t length);
uint32_t hd_text_word(struct hd_source_reader *reader, const char *name, size_t length);

/* The lines of a function behind its first one, including `end`. */
bool hd_text_read_body(struct hd_source_reader *reader);
/* A declaration of a variable behind its first word; *index gets it. */
bool hd_text_read_variable(struct hd_source_reader *reader, uint8_t kind, uint32_t *index);

#endif
