/* Writes a program in the text form (docs/source.md). What is written depends on the program only.
 */
#include "source/source.h"
#include "source/words.h"

#include "base/alloc.h"
#include "base/bitset.h"

#include <stdlib.h>
#include <string.h>

struct writer {
    const struct hd_source *source;
    HD_VECTOR(char) out;
    /* Numbers that tell variables and functions of one name apart: 0 for the first. */
    uint32_t *variable_number, *function_number;
    uint32_t first_step; /* of the function that is being written */
    unsigned depth;
};

static void put_bytes(struct writer *w, const char *bytes, size_t length) {
    hd_vector_reserve(&w->out, length);
    memcpy(w->out.data + w->out.size, bytes, length);
    w->out.size += length;
}

/* Inline, so that the lengths of the words are known when this is compiled. */
static inline __attribute__((always_inline)) void put(struct writer *w, const char *text) {
    put_bytes(w, text, strlen(text));
}

static void put_number(struct writer *w, uint32_t number) {
    char digits[10];
    size_t n = sizeof digits;
    do digits[--n] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    put_bytes(w, digits + n, sizeof digits - n);
}

static void put_hex(struct writer *w, unsigned char c) {
    static const char digits[] = "0123456789abcdef";
    char escape[3] = {'\\', digits[c >> 4], digits[c & 15]};
    put_bytes(w, escape, sizeof escape);
}

static void put_name(struct writer *w, uint32_t text) {
    const char *c = hd_source_text(w->source, text);
    while (*c != '\0') {
        size_t plain = 0;
        while (hd_source_name_character((unsigned char)c[plain])) plain++;
        put_bytes(w, c, plain);
        c += plain;
        if (*c != '\0') put_hex(w, (unsigned char)*c++);
    }
}

static void put_string(struct writer *w, uint32_t text) {
    put(w, " \"");
    for (const char *c = hd_source_text(w->source, text); *c != '\0'; c++)
        if (*c == '"' || *c == '\\' || (unsigned char)*c < 32)
            put_hex(w, (unsigned char)*c);
        else
            put_bytes(w, c, 1);
    put(w, "\"");
}

static void put_numbered(struct writer *w, uint32_t text, uint32_t number) {
    put_name(w, text);
    if (number == 0) return;
    put(w, "#");
    put_number(w, number + 1);
}

static void put_variable(struct writer *w, uint32_t index) {
    const struct hd_source_variable *variable = &w->source->variable.data[index];
    if (variable->kind == HD_VARIABLE_LOCAL || variable->kind == HD_VARIABLE_PARAMETER) put(w, "%");
    put_numbered(w, variable->name, w->variable_number[index]);
}

static void put_function(struct writer *w, uint32_t index) {
    put_numbered(w, w->source->function.data[index].name, w->function_number[index]);
}

static void put_flags(struct writer *w, unsigned flags, const struct hd_source_word *words) {
    const char *before = " ";
    for (; words->word != NULL; words++) {
        if ((flags & words->bit) == 0) continue;
        put(w, before);
        put(w, words->word);
        before = ",";
    }
    if (*before == ' ') put(w, " -");
}

static void put_path(struct writer *w, uint32_t index) {
    const struct hd_source_path *path = &w->source->path.data[index];
    if (path->parent != HD_SOURCE_NONE) {
        const struct hd_source_path *parent = &w->source->path.data[path->parent];
        if (path->kind == HD_PATH_FIELD && parent->kind == HD_PATH_DEREF) {
            put_path(w, parent->parent);
            put(w, "->");
            put_variable(w, path->of);
            return;
        }
        put_path(w, path->parent);
    }
    switch (path->kind) {
    case HD_PATH_VARIABLE:
        put_variable(w, path->of);
        break;
    case HD_PATH_RESULT:
        if (path->of == HD_SOURCE_NONE)
            put(w, "*");
        else
            put_function(w, path->of);
        put(w, "()");
        break;
    case HD_PATH_UNKNOWN:
        put(w, "?");
        break;
    case HD_PATH_FIELD:
        put(w, ".");
        put_variable(w, path->of);
        break;
    case HD_PATH_DEREF:
        put(w, "^");
        break;
    default:
        put(w, "[");
        put_name(w, path->of);
        put(w, "]");
    }
}

/* ---- bodies ------------------------------------------------------------------------------------
 */

static void indent(struct writer *w) {
    size_t blanks = 2 * (size_t)w->depth;
    hd_vector_reserve(&w->out, blanks);
    memset(w->out.data + w->out.size, ' ', blanks);
    w->out.size += blanks;
}

static void put_links(struct writer *w, const char *before, struct hd_source_range range) {
    if (range.count == 0) return;
    put(w, before);
    for (uint32_t i = 0; i < range.count; i++) {
        if (i > 0) put(w, ",");
        put_number(w, w->source->link.data[range.first + i] - w->first_step);
    }
}

static void put_position(struct writer *w, uint32_t line, uint32_t column) {
    put(w, " ");
    put_number(w, line);
    put(w, ":");
    put_number(w, column);
}

static void put_argument(struct writer *w, const struct hd_source_argument *argument) {
    put(w, argument->address ? " &" : " ");
    if (argument->function != HD_SOURCE_NONE) {
        put(w, "@");
        put_function(w, argument->function);
    } else if (argument->path != HD_SOURCE_NONE)
        put_path(w, argument->path);
    else
        put(w, "_");
    put_links(w, "<", argument->from);
}

static void put_step(struct writer *w, const struct hd_source_step *step) {
    const struct hd_source *source = w->source;
    indent(w);
    if (step->kind == HD_STEP_ACCESS) {
        put(w, hd_source_mode_words[step->mode]);
        put(w, " ");
        put_path(w, step->path);
    } else {
        put(w, step->kind == HD_STEP_CALL ? "call " : "ref ");
        if (step->function == HD_SOURCE_NONE)
            put(w, "*");
        else
            put_function(w, step->function);
    }
    put_position(w, step->line, step->column);
    if (step->begin != step->column || step->end != step->column) {
        put(w, "+");
        put_number(w, step->begin);
        put(w, "-");
        put_number(w, step->end);
    }
    if (step->kind == HD_STEP_CALL) {
        if (step->function == HD_SOURCE_NONE) put_string(w, step->type);
        if (step->path != HD_SOURCE_NONE) {
            put(w, " of ");
            put_path(w, step->path);
        }
        put(w, " (");
        for (uint32_t i = 0; i < step->arguments.count; i++)
            put_argument(w, &source->argument.data[step->arguments.first + i]);
        put(w, " )");
        if (step->target != HD_SOURCE_NONE) {
            put(w, " -> ");
            put_path(w, step->target);
        }
    }
    for (const struct hd_source_word *word = hd_source_step_words; word->word != NULL; word++)
        if ((step->flags & word->bit) != 0) {
            put(w, " ");
            put(w, word->word);
        }
    if ((step->flags & HD_STEP_WHOLE) != 0) {
        put(w, " whole");
        put_string(w, step->type);
    }
    put_links(w, " <- ", step->from);
    put_links(w, " via ", step->via);
    put(w, "\n");
}

static void put_node(struct writer *w, uint32_t index, const char *before, uint32_t file);

/* Steps of nested nodes stand among the others, right before the step that is their value. */
static void put_steps(struct writer *w, uint32_t index) {
    const struct hd_source *source = w->source;
    const struct hd_source_node *node = &source->node.data[index];
    for (uint32_t i = 0; i < node->steps.count; i++) {
        const struct hd_source_step *step = &source->step.data[node->steps.first + i];
        if (step->kind == HD_STEP_NESTED) {
            if (source->node.data[step->node].parent != index) continue;
            put_node(w, step->node, "nested ", node->file);
            put_links(w, " <- ", step->from);
            put(w, "\n");
        } else if (step->node == index)
            put_step(w, step);
    }
}

/* Without the end of its last line. */
static void put_node(struct writer *w, uint32_t index, const char *before, uint32_t file) {
    const struct hd_source *source = w->source;
    const struct hd_source_node *node = &source->node.data[index];
    indent(w);
    put(w, before);
    if (node->role != HD_ROLE_NONE) {
        put(w, hd_source_role_words[node->role]);
        put(w, " ");
    }
    put(w, hd_source_node_words[node->kind]);
    if (node->kind == HD_NODE_LABEL || node->kind == HD_NODE_GOTO) {
        put(w, " ");
        if (node->label == HD_SOURCE_NONE)
            put(w, "*");
        else
            put_name(w, node->label);
    }
    put_position(w, node->line, node->column);
    if (node->end_line != node->line) {
        put(w, "-");
        put_number(w, node->end_line);
    }
    if (node->constant != HD_CONSTANT_NONE)
        put(w, node->constant == HD_CONSTANT_TRUE ? " always" : " never");
    if (node->file != file) {
        put(w, " in");
        put_string(w, source->file.data[node->file].path);
    }
    bool leaf = node->first_child == HD_SOURCE_NONE && node->kind != HD_NODE_EXPRESSION;
    if (leaf && node->kind != HD_NODE_BLOCK) return;
    put(w, " {\n");
    w->depth++;
    if (node->kind == HD_NODE_EXPRESSION)
        put_steps(w, index);
    else
        for (uint32_t child = node->first_child; child != HD_SOURCE_NONE;
             child = source->node.data[child].next) {
            put_node(w, child, "", node->file);
            put(w, "\n");
        }
    w->depth--;
    indent(w);
    put(w, "}");
    if (node->kind == HD_NODE_EXPRESSION) put_links(w, " = ", node->value);
}

/* ---- declarations ------------------------------------------------------------------------------
 */

static void put_place(struct writer *w, uint32_t file, uint32_t line) {
    if (file == HD_SOURCE_NONE) return;
    put_string(w, w->source->file.data[file].path);
    put(w, " ");
    put_number(w, line);
}

static void put_declared(struct writer *w, const char *word, uint32_t index) {
    const struct hd_source_variable *variable = &w->source->variable.data[index];
    put(w, word);
    put_variable(w, index);
    if (variable->key != HD_SOURCE_NONE) put_string(w, variable->key);
    put_flags(w, variable->flags, hd_source_variable_words);
    put_string(w, variable->type);
}

static void put_unit(struct writer *w, const struct hd_source_unit *unit) {
    put(w, "unit ");
    put(w, hd_source_state_words[unit->state]);
    put_string(w, w->source->file.data[unit->file].path);
    put(w, " errors ");
    put_number(w, unit->errors);
    put(w, " left-out ");
    put_number(w, unit->left_out);
    if (unit->message != HD_SOURCE_NONE) put_string(w, unit->message);
    put(w, "\n");
}

static void put_field(struct writer *w, uint32_t index) {
    put_declared(w, "field ", index);
    put(w, "\n");
}

/* Fields in the order of declaration, then those that were only seen in use (text written by hand).
 */
static void put_records(struct writer *w) {
    const struct hd_source *source = w->source;
    struct hd_bitset written = {0};
    HD_VECTOR(uint32_t) rest = {0}; /* heads of chains through next[] */
    uint32_t *next = hd_alloc(source->variable.size + 1, sizeof *next);
    for (size_t i = 0; i < source->record.size; i++) hd_vector_push(&rest, HD_SOURCE_NONE);
    for (size_t i = 0; i < source->record.size; i++) {
        struct hd_source_range fields = source->record.data[i].fields;
        for (uint32_t f = 0; f < fields.count; f++)
            hd_bitset_add(&written, source->link.data[fields.first + f]);
    }
    for (size_t i = source->variable.size; i-- > 0;) {
        uint32_t record = source->variable.data[i].record;
        if (record == HD_SOURCE_NONE || hd_bitset_has(&written, i)) continue;
        next[i] = rest.data[record];
        rest.data[record] = (uint32_t)i;
    }
    for (size_t i = 0; i < source->record.size; i++) {
        const struct hd_source_record *record = &source->record.data[i];
        put(w, "record ");
        put_name(w, record->name);
        put_string(w, record->key);
        put_place(w, record->file, record->line);
        put(w, "\n");
        for (uint32_t f = 0; f < record->fields.count; f++)
            put_field(w, source->link.data[record->fields.first + f]);
        for (uint32_t f = rest.data[i]; f != HD_SOURCE_NONE; f = next[f]) put_field(w, f);
    }
    free(next);
    hd_vector_free(&rest);
    hd_bitset_free(&written);
}

static void put_function_line(struct writer *w, const char *word, uint32_t index) {
    const struct hd_source_function *function = &w->source->function.data[index];
    put(w, word);
    put_function(w, index);
    put_string(w, function->key);
    put_flags(w, function->flags, hd_source_function_words);
    put_string(w, function->type);
}

static void put_body(struct writer *w, uint32_t index) {
    const struct hd_source *source = w->source;
    const struct hd_source_function *function = &source->function.data[index];
    w->first_step = function->steps.first;
    put_function_line(w, "function ", index);
    put_place(w, function->file, function->line);
    put(w, "-");
    put_number(w, function->end_line);
    if (function->unit != HD_SOURCE_NONE) {
        put(w, " unit ");
        put_number(w, function->unit);
    }
    put(w, "\n");
    w->depth = 1;
    if (function->annotations != HD_SOURCE_NONE) {
        put(w, "  annotate");
        put_string(w, function->annotations);
        put(w, "\n");
    }
    for (uint32_t i = 0; i < function->variables.count; i++) {
        uint32_t variable = source->link.data[function->variables.first + i];
        uint8_t kind = source->variable.data[variable].kind;
        put_declared(w,
                     kind == HD_VARIABLE_PARAMETER ? "  parameter "
                     : kind == HD_VARIABLE_LOCAL   ? "  local "
                                                   : "  static ",
                     variable);
        put(w, " ");
        put_number(w, source->variable.data[variable].line);
        put(w, "\n");
    }
    if (function->nodes.count > 0) {
        put_node(w, function->nodes.first, "", function->file);
        put(w, "\n");
    }
    put(w, "end\n");
}

/* Names in one text are unique: fields and globals together, functions, the locals of a function.
 */
static void number_names(struct writer *w) {
    const struct hd_source *source = w->source;
    struct hd_map globals = {0}, functions = {0}, locals = {0};
    w->variable_number = hd_zalloc(source->variable.size + 1, sizeof *w->variable_number);
    w->function_number = hd_zalloc(source->function.size + 1, sizeof *w->function_number);
    for (size_t i = 0; i < source->variable.size; i++) {
        const struct hd_source_variable *variable = &source->variable.data[i];
        bool local = variable->kind == HD_VARIABLE_LOCAL || variable->kind == HD_VARIABLE_PARAMETER;
        uint64_t key = variable->name | (local ? (uint64_t)variable->function << 32 : 0);
        uint32_t *seen = hd_map_slot(local ? &locals : &globals, key, 0);
        w->variable_number[i] = (*seen)++;
    }
    for (size_t i = 0; i < source->function.size; i++)
        w->function_number[i] = (*hd_map_slot(&functions, source->function.data[i].name, 0))++;
    hd_map_free(&globals);
    hd_map_free(&functions);
    hd_map_free(&locals);
}

char *hd_source_write_text(const struct hd_source *source, size_t *length) {
    struct writer w = {.source = source};
    number_names(&w);
    put(&w, "heddle-source 1\n");
    for (size_t i = 0; i < source->unit.size; i++) put_unit(&w, &source->unit.data[i]);
    put_records(&w);
    for (size_t i = 0; i < source->variable.size; i++) {
        const struct hd_source_variable *variable = &source->variable.data[i];
        if (variable->kind != HD_VARIABLE_GLOBAL || variable->function != HD_SOURCE_NONE) continue;
        put_declared(&w, "global ", (uint32_t)i);
        put_place(&w, variable->file, variable->line);
        put(&w, "\n");
    }
    /* All functions before all bodies, so that reading gives them the same order. */
    struct hd_map first = {0};
    for (size_t i = 0; i < source->function.size; i++) {
        uint32_t *seen = hd_map_slot(&first, source->function.data[i].key, 0);
        if ((*seen)++ > 0) continue;
        put_function_line(&w, "extern ", (uint32_t)i);
        put(&w, "\n");
    }
    hd_map_free(&first);
    for (size_t i = 0; i < source->function.size; i++)
        if ((source->function.data[i].flags & HD_FUNCTION_BODY) != 0) put_body(&w, (uint32_t)i);
    if (length != NULL) *length = w.out.size;
    hd_vector_push(&w.out, '\0');
    free(w.variable_number);
    free(w.function_number);
    return w.out.data;
}
