/* The words of the text form: see words.h. */
#include "source/words.h"

const struct hd_source_word hd_source_variable_words[] = {
    {HD_VARIABLE_ADDRESS_TAKEN, "taken"}, {HD_VARIABLE_POINTER, "pointer"},
    {HD_VARIABLE_ARRAY, "array"},         {HD_VARIABLE_RECORD, "record"},
    {HD_VARIABLE_ATOMIC, "atomic"},       {HD_VARIABLE_VOLATILE, "volatile"},
    {HD_VARIABLE_CONST, "const"},         {HD_VARIABLE_INTERNAL, "static"},
    {HD_VARIABLE_THREAD_LOCAL, "thread"}, {0, NULL}};

const struct hd_source_word hd_source_function_words[] = {{HD_FUNCTION_INTERNAL, "static"},
                                                          {HD_FUNCTION_HEADER, "header"},
                                                          {HD_FUNCTION_ATOMIC, "atomic"},
                                                          {HD_FUNCTION_ADDRESS_TAKEN, "taken"},
                                                          {HD_FUNCTION_DEGRADED, "degraded"},
                                                          {HD_FUNCTION_VARIADIC, "variadic"},
                                                          {HD_FUNCTION_NORETURN, "noreturn"},
                                                          {HD_FUNCTION_METHOD, "method"},
                                                          {0, NULL}};

/* HD_STEP_INDIRECT follows from the path, HD_STEP_WHOLE has a type behind it. */
const struct hd_source_word hd_source_step_words[] = {{HD_STEP_ATOMIC, "atomic"},
                                                      {HD_STEP_LIBRARY, "library"},
                                                      {HD_STEP_MACRO, "macro"},
                                                      {HD_STEP_INITIAL, "initial"},
                                                      {0, NULL}};

const char *const hd_source_node_words[HD_NODE_KINDS_COUNT] = {
#define X(name, word) word,
    HD_NODE_KINDS(X)
#undef X
};

const char *const hd_source_role_words[HD_ROLES] = {NULL,      "init", "condition", "advance",
                                                    "control", "body", "then",      "otherwise"};
const char *const hd_source_state_words[3] = {"good", "degraded", "lost"};
const char *const hd_source_mode_words[5] = {NULL, "r", "w", "rw", "a"};
