/* The words of the text form, shared by its reader and its writer. */
#ifndef HEDDLE_SOURCE_WORDS_H
#define HEDDLE_SOURCE_WORDS_H

#include "source/source.h"

/* A bit and its word. */
struct hd_source_word {
    unsigned bit;
    const char *word;
};

/* Each ends with a NULL word. */
extern const struct hd_source_word hd_source_variable_words[];
extern const struct hd_source_word hd_source_function_words[];
extern const struct hd_source_word hd_source_step_words[];

extern const char *const hd_source_node_words[HD_NODE_KINDS_COUNT];
extern const char *const hd_source_role_words[HD_ROLES];
extern const char *const hd_source_state_words[3]; /* by enum hd_unit_state */
extern const char *const hd_source_mode_words[5];  /* by enum hd_source_mode; NULL: none */

/* Whether a character stands for itself in a name; others are written as \hh. */
static inline bool hd_source_name_character(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == ':' || c == '$' || c == '~' || c >= 128;
}

#endif
