/* Reads the bodies of functions in the text form: locals, the tree of statements, steps. After it,
 * a body has the shape that source.h promises; whatever has not is refused. */
#include "source/build.h"
#include "source/text_read.h"
#include "source/words.h"

#include <string.h>

#define DEEPEST 10000

/* ---- paths --------------------------------------------------------------------------------------
 */

static size_t name_length(const char *at, const char *end) {
    const char *c = at;
    while (c < end && (hd_source_name_character((unsigned char)*c) || *c == '\\' || *c == '#')) c++;
    return (size_t)(c - at);
}

static bool read_root(struct hd_source_reader *reader, const char **at, const char *end,
                      uint32_t *path) {
    struct hd_source *source = reader->source;
    if (*at < end && **at == '?') {
        ++*at;
        *path = hd_source_path_add(source, HD_PATH_UNKNOWN, HD_SOURCE_NONE, HD_SOURCE_NONE);
        return true;
    }
    if (end - *at >= 3 && memcmp(*at, "*()", 3) == 0) {
        *at += 3;
        *path = hd_source_path_add(source, HD_PATH_RESULT, HD_SOURCE_NONE, HD_SOURCE_NONE);
        return true;
    }
    bool local = *at < end && **at == '%';
    if (local) ++*at;
    const char *name = *at;
    size_t length = name_length(name, end);
    if (length == 0) return hd_text_lines_fail(&reader->lines, "a path without a variable");
    *at += length;
    uint32_t of;
    if (local) {
        uint32_t word = hd_text_word(reader, name, length); /* may move the array */
        of = reader->local_of.data[word];
        if (of == HD_SOURCE_NONE)
            return hd_text_lines_fail(&reader->lines, "no local '%.*s'",
                                      (int)(length < 80 ? length : 80), name);
    } else if (end - *at >= 2 && memcmp(*at, "()", 2) == 0) {
        *at += 2;
        of = hd_text_function(reader, name, length);
        if (of == HD_SOURCE_NONE) return false;
        *path = hd_source_path_add(source, HD_PATH_RESULT, HD_SOURCE_NONE, of);
        return true;
    } else {
        of = hd_text_variable(reader, name, length, HD_VARIABLE_GLOBAL);
        if (of == HD_SOURCE_NONE) return false;
    }
    *path = hd_source_path_add(source, HD_PATH_VARIABLE, HD_SOURCE_NONE, of);
    return true;
}

static bool read_field(struct hd_source_reader *reader, const char **at, const char *end,
                       uint32_t *path) {
    size_t length = name_length(*at, end);
    if (length == 0) return hd_text_lines_fail(&reader->lines, "a field without a name");
    uint32_t field = hd_text_variable(reader, *at, length, HD_VARIABLE_FIELD);
    if (field == HD_SOURCE_NONE) return false;
    *at += length;
    *path = hd_source_path_add(reader->source, HD_PATH_FIELD, *path, field);
    return true;
}

static bool read_index(struct hd_source_reader *reader, const char **at, const char *end,
                       uint32_t *path) {
    size_t length = name_length(*at, end);
    if (*at + length == end || (*at)[length] != ']')
        return hd_text_lines_fail(&reader->lines, "an index without ]");
    uint32_t text = hd_source_text_unescape(reader->source, *at, length);
    if (text == HD_SOURCE_NONE) return hd_text_lines_fail(&reader->lines, "wrong index");
    *at += length + 1;
    *path = hd_source_path_add(reader->source, HD_PATH_INDEX, *path, text);
    return true;
}

static bool read_path(struct hd_source_reader *reader, const char **at, const char *end,
                      uint32_t *path) {
    struct hd_source *source = reader->source;
    if (!read_root(reader, at, end, path)) return false;
    for (unsigned depth = 0; *at < end; depth++) {
        if (depth == DEEPEST) return hd_text_lines_fail(&reader->lines, "the path is too long");
        char c = **at;
        if (c == '.') {
            ++*at;
            if (!read_field(reader, at, end, path)) return false;
        } else if (c == '-' && end - *at >= 2 && (*at)[1] == '>') {
            *at += 2;
            *path = hd_source_path_add(source, HD_PATH_DEREF, *path, 0);
            if (!read_field(reader, at, end, path)) return false;
        } else if (c == '^') {
            ++*at;
            *path = hd_source_path_add(source, HD_PATH_DEREF, *path, 0);
        } else if (c == '[') {
            ++*at;
            if (!read_index(reader, at, end, path)) return false;
        } else
            return true;
    }
    return true;
}

static bool read_path_word(struct hd_source_reader *reader, uint32_t *path) {
    struct hd_word word;
    if (!hd_text_lines_word(&reader->lines, &word) || word.string)
        return hd_text_lines_fail(&reader->lines, "a path is missing");
    const char *at = word.text, *end = word.text + word.length;
    return read_path(reader, &at, end, path) &&
           (at == end || hd_text_lines_fail(&reader->lines, "wrong path"));
}

/* ---- parts of steps -----------------------------------------------------------------------------
 */

/* Steps by number, with commas; all of them are before the step that is being read. */
static bool read_links(struct hd_source_reader *reader, const char *at, const char *end,
                       struct hd_source_range *range) {
    struct hd_source *source = reader->source;
    uint32_t first = source->function.data[reader->function].steps.first;
    reader->links.size = 0;
    for (;;) {
        uint32_t number;
        if (!hd_number_at(&at, end, &number) || number >= source->step.size - first)
            return hd_text_lines_fail(&reader->lines, "not the number of a step before this one");
        hd_vector_push(&reader->links, first + number);
        if (at == end) break;
        if (*at++ != ',') return hd_text_lines_fail(&reader->lines, "wrong list of steps");
    }
    *range = hd_source_links_add(source, reader->links.data, reader->links.size);
    return true;
}

static bool read_links_word(struct hd_source_reader *reader, struct hd_source_range *range) {
    struct hd_word word;
    if (!hd_text_lines_word(&reader->lines, &word) || word.string)
        return hd_text_lines_fail(&reader->lines, "a list of steps is missing");
    return read_links(reader, word.text, word.text + word.length, range);
}

static bool is_position(const struct hd_word *word) {
    return !word->string && word->text[0] >= '0' && word->text[0] <= '9';
}

/* LINE:COLUMN, for steps with +BEGIN-END, for nodes with -ENDLINE; may be left out. */
static bool read_position(struct hd_source_reader *reader, uint32_t number[static 4]) {
    struct hd_word word;
    if (!hd_text_lines_peek(&reader->lines, &word) || !is_position(&word)) return true;
    hd_text_lines_word(&reader->lines, &word);
    const char *at = word.text, *end = word.text + word.length;
    bool good = hd_number_at(&at, end, &number[0]);
    number[2] = number[0];
    if (good && at < end && *at == ':') {
        at++;
        good = hd_number_at(&at, end, &number[1]);
    }
    if (good && at < end && *at == '+') {
        at++;
        good = hd_number_at(&at, end, &number[2]) && at < end && *at++ == '-' &&
               hd_number_at(&at, end, &number[3]);
    } else if (good && at < end && *at == '-') {
        at++;
        good = hd_number_at(&at, end, &number[2]);
    }
    return (good && at == end) || hd_text_lines_fail(&reader->lines, "wrong position");
}

static uint16_t short_column(uint32_t column) {
    return column > UINT16_MAX ? UINT16_MAX : (uint16_t)column;
}

static bool read_step_position(struct hd_source_reader *reader, struct hd_source_step *step) {
    uint32_t number[4] = {reader->source->node.data[step->node].line, 0, 0, UINT32_MAX};
    if (!read_position(reader, number)) return false;
    step->line = number[0];
    step->column = short_column(number[1]);
    step->begin = short_column(number[3] == UINT32_MAX ? number[1] : number[2]);
    step->end = short_column(number[3] == UINT32_MAX ? number[1] : number[3]);
    return true;
}

static bool read_argument(struct hd_source_reader *reader, const struct hd_word *word) {
    struct hd_source_argument argument = {.path = HD_SOURCE_NONE, .function = HD_SOURCE_NONE};
    const char *at = word->text, *end = word->text + word->length;
    if (at < end && *at == '&') {
        argument.address = true;
        at++;
    }
    if (at < end && *at == '_' && (at + 1 == end || at[1] == '<'))
        at++;
    else if (at < end && *at == '@') {
        size_t length = name_length(++at, end);
        argument.function = length == 0 ? HD_SOURCE_NONE : hd_text_function(reader, at, length);
        if (argument.function == HD_SOURCE_NONE)
            return hd_text_lines_fail(&reader->lines, "wrong function");
        at += length;
    } else if (!read_path(reader, &at, end, &argument.path))
        return false;
    if (at < end && *at == '<') {
        if (!read_links(reader, at + 1, end, &argument.from)) return false;
    } else if (at != end)
        return hd_text_lines_fail(&reader->lines, "wrong argument");
    hd_vector_push(&reader->source->argument, argument);
    return true;
}

static bool read_arguments(struct hd_source_reader *reader, struct hd_source_step *step) {
    struct hd_source *source = reader->source;
    step->arguments.first = (uint32_t)source->argument.size;
    if (!hd_text_lines_take(&reader->lines, "(")) return true;
    for (;;) {
        struct hd_word word;
        if (!hd_text_lines_word(&reader->lines, &word))
            return hd_text_lines_fail(&reader->lines, "the arguments have no )");
        if (hd_word_is(&word, ")")) break;
        if (!read_argument(reader, &word)) return false;
    }
    step->arguments.count = (uint32_t)source->argument.size - step->arguments.first;
    return true;
}

static bool read_type_string(struct hd_source_reader *reader, uint32_t *type) {
    struct hd_word word;
    if (!hd_text_lines_string(&reader->lines, &word)) return true;
    *type = hd_source_text_unescape(reader->source, word.text, word.length);
    return *type != HD_SOURCE_NONE || hd_text_lines_fail(&reader->lines, "wrong string");
}

static bool read_step_words(struct hd_source_reader *reader, struct hd_source_step *step) {
    struct hd_word word;
    while (hd_text_lines_word(&reader->lines, &word)) {
        const struct hd_source_word *known = hd_source_step_words;
        while (known->word != NULL && !hd_word_is(&word, known->word)) known++;
        if (known->word != NULL)
            step->flags |= (uint16_t)known->bit;
        else if (hd_word_is(&word, "whole")) {
            step->flags |= HD_STEP_WHOLE;
            if (!read_type_string(reader, &step->type)) return false;
        } else if (hd_word_is(&word, "<-")) {
            if (!read_links_word(reader, &step->from)) return false;
        } else if (hd_word_is(&word, "via")) {
            if (!read_links_word(reader, &step->via)) return false;
        } else
            return hd_text_lines_fail(&reader->lines, "unknown word '%.*s'",
                                      (int)(word.length < 80 ? word.length : 80), word.text);
    }
    return true;
}

static struct hd_source_step new_step(uint8_t kind, uint32_t node) {
    return (struct hd_source_step){.kind = kind,
                                   .node = node,
                                   .path = HD_SOURCE_NONE,
                                   .variable = HD_SOURCE_NONE,
                                   .function = HD_SOURCE_NONE,
                                   .type = HD_SOURCE_NONE,
                                   .target = HD_SOURCE_NONE};
}

static bool read_access(struct hd_source_reader *reader, uint32_t node, uint8_t mode) {
    struct hd_source_step step = new_step(HD_STEP_ACCESS, node);
    bool indirect;
    step.mode = mode;
    if (!read_path_word(reader, &step.path) || !read_step_position(reader, &step) ||
        !read_step_words(reader, &step))
        return false;
    step.variable = hd_source_path_variable(reader->source, step.path, &indirect);
    if (indirect) step.flags |= HD_STEP_INDIRECT;
    hd_vector_push(&reader->source->step, step);
    return true;
}

static bool read_callee(struct hd_source_reader *reader, struct hd_source_step *step) {
    struct hd_word word;
    if (!hd_text_lines_word(&reader->lines, &word) || word.string)
        return hd_text_lines_fail(&reader->lines, "a function is missing");
    if (step->kind == HD_STEP_CALL && hd_word_is(&word, "*")) return true;
    if (name_length(word.text, word.text + word.length) != word.length)
        return hd_text_lines_fail(&reader->lines, "wrong function");
    step->function = hd_text_function(reader, word.text, word.length);
    return step->function != HD_SOURCE_NONE;
}

static bool read_call(struct hd_source_reader *reader, uint32_t node, uint8_t kind) {
    struct hd_source_step step = new_step(kind, node);
    if (!read_callee(reader, &step) || !read_step_position(reader, &step)) return false;
    if (kind == HD_STEP_CALL) {
        if (!read_type_string(reader, &step.type)) return false;
        if (hd_text_lines_take(&reader->lines, "of") && !read_path_word(reader, &step.path))
            return false;
        if (!read_arguments(reader, &step)) return false;
        if (hd_text_lines_take(&reader->lines, "->") && !read_path_word(reader, &step.target))
            return false;
    }
    if (!read_step_words(reader, &step)) return false;
    hd_vector_push(&reader->source->step, step);
    return true;
}

/* ---- nodes --------------------------------------------------------------------------------------
 */

static bool is_nested_kind(uint8_t kind) {
    return kind == HD_NODE_AND || kind == HD_NODE_OR || kind == HD_NODE_CONDITIONAL;
}

/* The children that source.h promises for the kind. */
static bool shape_holds(const struct hd_source *source, uint32_t index, uint32_t children) {
    const struct hd_source_node *node = &source->node.data[index];
    uint32_t position = 0;
    if (node->kind == HD_NODE_IF && (children < 2 || children > 3)) return false;
    if ((node->kind == HD_NODE_WHILE || node->kind == HD_NODE_DO || node->kind == HD_NODE_SWITCH ||
         node->kind == HD_NODE_AND || node->kind == HD_NODE_OR) &&
        children != 2)
        return false;
    if (node->kind == HD_NODE_CONDITIONAL && children != 3) return false;
    if ((node->kind == HD_NODE_FOR || node->kind == HD_NODE_TRY) && children == 0) return false;
    if ((node->kind == HD_NODE_CASE || node->kind == HD_NODE_DEFAULT ||
         node->kind == HD_NODE_LABEL || node->kind == HD_NODE_RETURN) &&
        children > 1)
        return false;
    if ((node->kind == HD_NODE_BREAK || node->kind == HD_NODE_CONTINUE ||
         node->kind == HD_NODE_GOTO) &&
        children > 0)
        return false;
    for (uint32_t child = node->first_child; child != HD_SOURCE_NONE;
         child = source->node.data[child].next, position++) {
        const struct hd_source_node *at = &source->node.data[child];
        bool expression = at->kind == HD_NODE_EXPRESSION, wanted = false, any = true;
        switch (node->kind) {
        case HD_NODE_IF:
        case HD_NODE_WHILE:
        case HD_NODE_SWITCH:
            wanted = position == 0, any = position > 0;
            break;
        case HD_NODE_DO:
            wanted = position == 1, any = position == 0;
            break;
        case HD_NODE_RETURN:
        case HD_NODE_DECLARATION:
            wanted = true, any = false;
            break;
        case HD_NODE_FOR:
            any = at->next == HD_SOURCE_NONE ||
                  (at->role >= HD_ROLE_INIT && at->role <= HD_ROLE_CONTROL &&
                   (expression || (at->kind == HD_NODE_DECLARATION && at->role == HD_ROLE_INIT)));
            if (!any) return false;
            break;
        default:
            if (is_nested_kind(node->kind)) wanted = true, any = false;
            break;
        }
        if (!any && expression != wanted) return false;
    }
    return true;
}

static bool open_node(struct hd_source_reader *reader, const struct hd_word *first, bool nested) {
    struct hd_source *source = reader->source;
    struct hd_word word = *first;
    unsigned role = HD_ROLE_NONE, kind = 0;
    for (unsigned i = 1; i < HD_ROLES; i++)
        if (hd_word_is(&word, hd_source_role_words[i])) role = i;
    if (role != HD_ROLE_NONE && !hd_text_lines_word(&reader->lines, &word))
        return hd_text_lines_fail(&reader->lines, "a kind of statement is missing");
    while (kind < HD_NODE_KINDS_COUNT && !hd_word_is(&word, hd_source_node_words[kind])) kind++;
    if (kind == HD_NODE_KINDS_COUNT)
        return hd_text_lines_fail(&reader->lines, "unknown word '%.*s'",
                                  (int)(word.length < 80 ? word.length : 80), word.text);
    if (nested ? !is_nested_kind((uint8_t)kind) && kind != HD_NODE_BLOCK
               : is_nested_kind((uint8_t)kind))
        return hd_text_lines_fail(&reader->lines, "and, or, choose are nested, statements are not");
    struct hd_open_node *parent =
        reader->open.size > 0 ? &reader->open.data[reader->open.size - 1] : NULL;
    struct hd_source_function *function = &source->function.data[reader->function];
    if (parent == NULL && (kind != HD_NODE_BLOCK || function->nodes.count > 0))
        return hd_text_lines_fail(&reader->lines, "a body is one block");
    if (reader->open.size == DEEPEST)
        return hd_text_lines_fail(&reader->lines, "nested too deeply");
    uint32_t above = parent != NULL ? parent->node : HD_SOURCE_NONE;
    uint32_t index = hd_source_node_add(source, (uint8_t)kind, (uint8_t)role, above,
                                        parent != NULL ? &parent->last_child : NULL);
    function->nodes.count++;
    if (parent != NULL) parent->children++;
    struct hd_source_node *node = &source->node.data[index];
    if (kind == HD_NODE_LABEL || kind == HD_NODE_GOTO) {
        if (!hd_text_lines_word(&reader->lines, &word) || word.string)
            return hd_text_lines_fail(&reader->lines, "a label is missing");
        if (!hd_word_is(&word, "*")) {
            node->label = hd_source_text_unescape(source, word.text, word.length);
            if (node->label == HD_SOURCE_NONE)
                return hd_text_lines_fail(&reader->lines, "wrong label");
        }
    }
    uint32_t line = parent != NULL ? source->node.data[above].line : function->line;
    uint32_t number[4] = {line, 0, line, 0};
    if (!read_position(reader, number)) return false;
    node->line = number[0];
    node->column = number[1];
    node->end_line = number[2];
    node->steps.first = (uint32_t)source->step.size;
    node->file = parent != NULL ? source->node.data[above].file : function->file;
    if (kind == HD_NODE_EXPRESSION && hd_text_lines_take(&reader->lines, "always"))
        node->constant = HD_CONSTANT_TRUE;
    else if (kind == HD_NODE_EXPRESSION && hd_text_lines_take(&reader->lines, "never"))
        node->constant = HD_CONSTANT_FALSE;
    if (hd_text_lines_take(&reader->lines, "in")) {
        uint32_t path = HD_SOURCE_NONE;
        if (!read_type_string(reader, &path) || path == HD_SOURCE_NONE)
            return hd_text_lines_fail(&reader->lines, "a file is missing");
        node->file = hd_source_file_add(source, path);
    }
    struct hd_open_node open = {.node = index, .last_child = HD_SOURCE_NONE, .nested = nested};
    if (hd_text_lines_take(&reader->lines, "{")) {
        hd_vector_push(&reader->open, open);
        return true;
    }
    if (nested || kind == HD_NODE_EXPRESSION || !shape_holds(source, index, 0))
        return hd_text_lines_fail(&reader->lines, "this needs { and }");
    return true;
}

static bool close_node(struct hd_source_reader *reader) {
    struct hd_source *source = reader->source;
    if (reader->open.size == 0) return hd_text_lines_fail(&reader->lines, "nothing to close");
    struct hd_open_node open = reader->open.data[--reader->open.size];
    struct hd_source_node *node = &source->node.data[open.node];
    if (!shape_holds(source, open.node, open.children))
        return hd_text_lines_fail(&reader->lines, "wrong parts of '%s'",
                                  hd_source_node_words[node->kind]);
    if (node->kind == HD_NODE_EXPRESSION) {
        node->steps.count = (uint32_t)source->step.size - node->steps.first;
        if (hd_text_lines_take(&reader->lines, "=")) return read_links_word(reader, &node->value);
        return true;
    }
    node->steps.first = 0;
    if (!open.nested) return true;
    struct hd_source_step step = new_step(HD_STEP_NESTED, open.node);
    step.line = node->line;
    step.column = step.begin = step.end = short_column(node->column);
    if (!read_step_words(reader, &step)) return false;
    hd_vector_push(&source->step, step);
    return true;
}

static bool read_body_line(struct hd_source_reader *reader) {
    struct hd_word word;
    hd_text_lines_word(&reader->lines, &word);
    if (hd_word_is(&word, "}")) return close_node(reader);
    const struct hd_open_node *top =
        reader->open.size > 0 ? &reader->open.data[reader->open.size - 1] : NULL;
    bool expression =
        top != NULL && reader->source->node.data[top->node].kind == HD_NODE_EXPRESSION;
    if (!expression) return open_node(reader, &word, false);
    for (uint8_t mode = HD_ACCESS_READ; mode <= HD_ACCESS_ADDRESS; mode++)
        if (hd_word_is(&word, hd_source_mode_words[mode]))
            return read_access(reader, top->node, mode);
    if (hd_word_is(&word, "call")) return read_call(reader, top->node, HD_STEP_CALL);
    if (hd_word_is(&word, "ref")) return read_call(reader, top->node, HD_STEP_FUNCTION);
    if (hd_word_is(&word, "nested") && hd_text_lines_word(&reader->lines, &word))
        return open_node(reader, &word, true);
    return hd_text_lines_fail(&reader->lines, "not a step of an expression");
}

static bool read_local(struct hd_source_reader *reader, uint8_t kind, uint32_t *index) {
    uint32_t number[4] = {0};
    if (!hd_text_read_variable(reader, kind, index) || !read_position(reader, number)) return false;
    struct hd_source_variable *variable = &reader->source->variable.data[*index];
    if (kind == HD_VARIABLE_GLOBAL) {
        if (variable->function != HD_SOURCE_NONE || variable->file != HD_SOURCE_NONE)
            return hd_text_lines_fail(&reader->lines, "this variable is declared already");
        variable->function = reader->function;
        variable->file = reader->source->function.data[reader->function].file;
    }
    variable->line = number[0];
    return true;
}

/* Annotations, parameters and locals, before the body's block. */
static bool read_locals(struct hd_source_reader *reader) {
    struct hd_source *source = reader->source;
    HD_VECTOR(uint32_t) list = {0};
    bool good = true;
    for (;;) {
        struct hd_text_lines before = reader->lines;
        uint32_t index = HD_SOURCE_NONE;
        if (!hd_text_lines_next(&reader->lines)) break;
        struct hd_source_function *function = &source->function.data[reader->function];
        if (hd_text_lines_take(&reader->lines, "annotate")) {
            good = read_type_string(reader, &function->annotations);
        } else if (hd_text_lines_take(&reader->lines, "parameter")) {
            good = (list.size == function->parameters ||
                    hd_text_lines_fail(&reader->lines, "parameters come before locals")) &&
                   read_local(reader, HD_VARIABLE_PARAMETER, &index);
            source->function.data[reader->function].parameters++;
        } else if (hd_text_lines_take(&reader->lines, "local"))
            good = read_local(reader, HD_VARIABLE_LOCAL, &index);
        else if (hd_text_lines_take(&reader->lines, "static"))
            good = read_local(reader, HD_VARIABLE_GLOBAL, &index);
        else {
            reader->lines = before;
            break;
        }
        if (!good) break;
        if (index != HD_SOURCE_NONE) hd_vector_push(&list, index);
    }
    source->function.data[reader->function].variables =
        hd_source_links_add(source, list.data, list.size);
    hd_vector_free(&list);
    return good;
}

bool hd_text_read_body(struct hd_source_reader *reader) {
    struct hd_source *source = reader->source;
    struct hd_source_function *function = &source->function.data[reader->function];
    function->parameters = 0;
    function->nodes = (struct hd_source_range){.first = (uint32_t)source->node.size};
    function->steps = (struct hd_source_range){.first = (uint32_t)source->step.size};
    reader->open.size = 0;
    if (!read_locals(reader)) return false;
    while (hd_text_lines_next(&reader->lines)) {
        if (hd_text_lines_take(&reader->lines, "end")) {
            function = &source->function.data[reader->function];
            function->steps.count = (uint32_t)source->step.size - function->steps.first;
            return (reader->open.size == 0 && function->nodes.count > 0) ||
                   hd_text_lines_fail(&reader->lines, "the body is not complete");
        }
        if (!read_body_line(reader)) return false;
    }
    return hd_text_lines_fail(&reader->lines, "the function has no end");
}
