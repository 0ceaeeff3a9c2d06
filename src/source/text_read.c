/* Reads the text form: units and declarations; text_body.c reads bodies. The text is not trusted.
 */
#include "source/text_read.h"

#include "base/alloc.h"
#include "base/bitset.h"
#include "source/build.h"
#include "source/words.h"

#include <stdlib.h>
#include <string.h>

/* ---- names -------------------------------------------------------------------------------------
 */

uint32_t hd_text_word(struct hd_source_reader *reader, const char *name, size_t length) {
    uint32_t word = hd_intern(&reader->words, name, length);
    while (reader->variable_of.size <= word) {
        hd_vector_push(&reader->variable_of, HD_SOURCE_NONE);
        hd_vector_push(&reader->function_of, HD_SOURCE_NONE);
        hd_vector_push(&reader->local_of, HD_SOURCE_NONE);
    }
    return word;
}

/* The name as it is shown: without the number that tells equal names apart. */
static uint32_t shown_name(struct hd_source_reader *reader, const char *name, size_t length) {
    const char *number = memchr(name, '#', length);
    size_t shown = number != NULL ? (size_t)(number - name) : length;
    bool good = shown > 0;
    for (size_t i = 0; i < shown; i++)
        if (!hd_source_name_character((unsigned char)name[i]) && name[i] != '\\') good = false;
    uint32_t text = good ? hd_source_text_unescape(reader->source, name, shown) : HD_SOURCE_NONE;
    if (text == HD_SOURCE_NONE)
        hd_text_lines_fail(&reader->lines, "wrong name '%.*s'", (int)(length < 80 ? length : 80),
                           name);
    return text;
}

static uint32_t default_key(struct hd_source *source, const char *prefix, uint32_t name) {
    const char *text = hd_source_text(source, name);
    size_t before = strlen(prefix), length = strlen(text);
    char *key = hd_alloc(before + length + 1, 1);
    memcpy(key, prefix, before);
    memcpy(key + before, text, length + 1);
    uint32_t result = hd_source_text_add_bytes(source, key, before + length);
    free(key);
    return result;
}

/* `S::x` without a declaration is the field x of a struct S. */
static uint32_t default_record(struct hd_source *source, uint32_t field_name) {
    const char *text = hd_source_text(source, field_name), *last = NULL;
    for (const char *at = text; (at = strstr(at, "::")) != NULL; at += 2) last = at;
    if (last == NULL || last == text) return HD_SOURCE_NONE;
    uint32_t name = hd_source_text_add_bytes(source, text, (size_t)(last - text));
    return hd_source_record_add(source, default_key(source, "c:@S@", name), name);
}

uint32_t hd_text_variable(struct hd_source_reader *reader, const char *name, size_t length,
                          uint8_t kind) {
    struct hd_source *source = reader->source;
    uint32_t word = hd_text_word(reader, name, length);
    if (reader->variable_of.data[word] != HD_SOURCE_NONE) {
        uint32_t known = reader->variable_of.data[word];
        if (source->variable.data[known].kind == kind) return known;
        hd_text_lines_fail(&reader->lines, "a field and a global have the same name");
        return HD_SOURCE_NONE;
    }
    uint32_t shown = shown_name(reader, name, length);
    if (shown == HD_SOURCE_NONE) return HD_SOURCE_NONE;
    const char *prefix = kind == HD_VARIABLE_FIELD ? "c:@F@" : "c:@";
    uint32_t key = default_key(source, prefix, shown);
    uint32_t variable = hd_source_variable_add(source, kind, key, shown);
    if (source->variable.data[variable].kind != kind) {
        hd_text_lines_fail(&reader->lines, "a field and a global have the same key");
        return HD_SOURCE_NONE;
    }
    if (kind == HD_VARIABLE_FIELD && source->variable.data[variable].record == HD_SOURCE_NONE)
        source->variable.data[variable].record = default_record(source, shown);
    reader->variable_of.data[word] = variable;
    return variable;
}

uint32_t hd_text_function(struct hd_source_reader *reader, const char *name, size_t length) {
    uint32_t word = hd_text_word(reader, name, length);
    if (reader->function_of.data[word] != HD_SOURCE_NONE) return reader->function_of.data[word];
    uint32_t shown = shown_name(reader, name, length);
    if (shown == HD_SOURCE_NONE) return HD_SOURCE_NONE;
    uint32_t key = default_key(reader->source, "c:@F@", shown);
    return reader->function_of.data[word] = hd_source_function_add(reader->source, key, shown);
}

/* ---- parts of declarations ----------------------------------------------------------------------
 */

static bool read_text(struct hd_source_reader *reader, const struct hd_word *word, uint32_t *text) {
    *text = hd_source_text_unescape(reader->source, word->text, word->length);
    return *text != HD_SOURCE_NONE || hd_text_lines_fail(&reader->lines, "wrong string");
}

static bool add_flag(const struct hd_source_word *words, const char *name, size_t length,
                     unsigned *flags) {
    for (; words->word != NULL; words++)
        if (strlen(words->word) == length && memcmp(words->word, name, length) == 0) {
            *flags |= words->bit;
            return true;
        }
    return false;
}

/* `-`, or words with commas between them; nothing if the next word is no word of the table. */
static bool read_flags(struct hd_source_reader *reader, const struct hd_source_word *words,
                       unsigned *flags) {
    struct hd_word word;
    *flags = 0;
    if (!hd_text_lines_peek(&reader->lines, &word) || word.string ||
        (word.text[0] >= '0' && word.text[0] <= '9'))
        return true;
    hd_text_lines_word(&reader->lines, &word);
    if (hd_word_is(&word, "-")) return true;
    for (size_t from = 0; from <= word.length;) {
        const char *comma = memchr(word.text + from, ',', word.length - from);
        size_t to = comma != NULL ? (size_t)(comma - word.text) : word.length;
        if (!add_flag(words, word.text + from, to - from, flags))
            return hd_text_lines_fail(&reader->lines, "unknown flag '%.*s'",
                                      (int)(to - from < 80 ? to - from : 80), word.text + from);
        from = to + 1;
    }
    return true;
}

/* A number or a range of lines as a word of its own. */
static bool read_lines_word(struct hd_source_reader *reader, uint32_t *line, uint32_t *end) {
    struct hd_word word;
    *line = *end = 0;
    if (!hd_text_lines_word(&reader->lines, &word)) return true;
    const char *at = word.text, *stop = word.text + word.length;
    if (!hd_number_at(&at, stop, line))
        return hd_text_lines_fail(&reader->lines, "not a line number");
    *end = *line;
    if (at < stop && *at == '-') {
        at++;
        if (!hd_number_at(&at, stop, end))
            return hd_text_lines_fail(&reader->lines, "not a line number");
    }
    return at == stop || hd_text_lines_fail(&reader->lines, "not a line number");
}

static bool read_place(struct hd_source_reader *reader, uint32_t *file, uint32_t *line,
                       uint32_t *end) {
    struct hd_word word;
    uint32_t path;
    if (!hd_text_lines_string(&reader->lines, &word)) return true;
    if (!read_text(reader, &word, &path)) return false;
    *file = hd_source_file_add(reader->source, path);
    return read_lines_word(reader, line, end);
}

/* ---- declarations -------------------------------------------------------------------------------
 */

static bool read_name(struct hd_source_reader *reader, struct hd_word *word, uint32_t *shown) {
    if (!hd_text_lines_word(&reader->lines, word) || word->string)
        return hd_text_lines_fail(&reader->lines, "a name is missing");
    *shown = shown_name(reader, word->text, word->length);
    return *shown != HD_SOURCE_NONE;
}

static bool read_key(struct hd_source_reader *reader, const char *prefix, uint32_t shown,
                     uint32_t *key) {
    struct hd_word word;
    if (hd_text_lines_string(&reader->lines, &word)) return read_text(reader, &word, key);
    *key = default_key(reader->source, prefix, shown);
    return true;
}

static bool read_type(struct hd_source_reader *reader, uint32_t *type) {
    struct hd_word word;
    return !hd_text_lines_string(&reader->lines, &word) || read_text(reader, &word, type);
}

bool hd_text_read_variable(struct hd_source_reader *reader, uint8_t kind, uint32_t *index) {
    struct hd_source *source = reader->source;
    struct hd_word word;
    uint32_t shown, key, type = HD_SOURCE_NONE;
    unsigned flags;
    bool local = kind == HD_VARIABLE_LOCAL || kind == HD_VARIABLE_PARAMETER;
    if (!hd_text_lines_peek(&reader->lines, &word))
        return hd_text_lines_fail(&reader->lines, "a name is missing");
    if (local && word.text[0] == '%') reader->lines.at = word.text + 1;
    if (!read_name(reader, &word, &shown)) return false;
    uint32_t number = hd_text_word(reader, word.text, word.length);
    uint32_t *slot = local ? &reader->local_of.data[number] : &reader->variable_of.data[number];
    if (*slot != HD_SOURCE_NONE && (local || source->variable.data[*slot].kind != kind))
        return hd_text_lines_fail(&reader->lines, "this name is taken");
    if (local) {
        *index = hd_source_local_add(source, kind, reader->function, shown);
        hd_vector_push(&reader->locals, number);
    } else {
        if (!read_key(reader, kind == HD_VARIABLE_FIELD ? "c:@F@" : "c:@", shown, &key))
            return false;
        *index = hd_source_variable_add(source, kind, key, shown);
        if (source->variable.data[*index].kind != kind)
            return hd_text_lines_fail(&reader->lines, "a field and a global have the same key");
    }
    *slot = *index;
    if (!read_flags(reader, hd_source_variable_words, &flags) || !read_type(reader, &type))
        return false;
    struct hd_source_variable *variable = &source->variable.data[*index];
    variable->flags |= (uint16_t)flags;
    if (variable->type == HD_SOURCE_NONE) variable->type = type;
    return true;
}

static bool read_unit(struct hd_source_reader *reader) {
    struct hd_source *source = reader->source;
    struct hd_source_unit unit = {.message = HD_SOURCE_NONE};
    struct hd_word word;
    uint32_t path, unused;
    unsigned state = 0;
    if (!hd_text_lines_word(&reader->lines, &word))
        return hd_text_lines_fail(&reader->lines, "no state");
    while (state < 3 && !hd_word_is(&word, hd_source_state_words[state])) state++;
    if (state == 3) return hd_text_lines_fail(&reader->lines, "a unit is good, degraded or lost");
    unit.state = (uint8_t)state;
    if (!hd_text_lines_string(&reader->lines, &word))
        return hd_text_lines_fail(&reader->lines, "the unit's file is missing");
    if (!read_text(reader, &word, &path)) return false;
    unit.file = hd_source_file_add(source, path);
    source->file.data[unit.file].header = false;
    if (hd_text_lines_take(&reader->lines, "errors") &&
        !read_lines_word(reader, &unit.errors, &unused))
        return false;
    if (hd_text_lines_take(&reader->lines, "left-out") &&
        !read_lines_word(reader, &unit.left_out, &unused))
        return false;
    if (hd_text_lines_string(&reader->lines, &word) && !read_text(reader, &word, &unit.message))
        return false;
    hd_vector_push(&source->unit, unit);
    reader->units++;
    return true;
}

static bool read_record(struct hd_source_reader *reader) {
    struct hd_source *source = reader->source;
    struct hd_word word;
    uint32_t shown, key, file = HD_SOURCE_NONE, line = 0, end;
    if (!read_name(reader, &word, &shown) || !read_key(reader, "c:@S@", shown, &key) ||
        !read_place(reader, &file, &line, &end))
        return false;
    reader->record = hd_source_record_add(source, key, shown);
    struct hd_source_record *record = &source->record.data[reader->record];
    if (record->file == HD_SOURCE_NONE) {
        record->file = file;
        record->line = line;
    }
    return true;
}

/* All fields of the record; if another unit declared them already, only their names are learnt. */
static bool read_fields(struct hd_source_reader *reader) {
    struct hd_source *source = reader->source;
    bool known = source->record.data[reader->record].fields.count > 0, good = true;
    struct hd_bitset seen = {0};
    reader->links.size = 0;
    while (good) {
        struct hd_text_lines before = reader->lines;
        uint32_t field;
        if (!hd_text_lines_next(&reader->lines) || !hd_text_lines_take(&reader->lines, "field")) {
            reader->lines = before;
            break;
        }
        good = hd_text_read_variable(reader, HD_VARIABLE_FIELD, &field);
        if (!good) break;
        if (hd_bitset_has(&seen, field))
            good = hd_text_lines_fail(&reader->lines, "this field is there already");
        hd_bitset_add(&seen, field);
        struct hd_source_variable *variable = &source->variable.data[field];
        if (variable->record == HD_SOURCE_NONE) variable->record = reader->record;
        if (variable->record == reader->record) hd_vector_push(&reader->links, field);
    }
    hd_bitset_free(&seen);
    if (good && !known)
        source->record.data[reader->record].fields =
            hd_source_links_add(source, reader->links.data, reader->links.size);
    return good;
}

static bool read_global(struct hd_source_reader *reader) {
    uint32_t index, file = HD_SOURCE_NONE, line = 0, end;
    if (!hd_text_read_variable(reader, HD_VARIABLE_GLOBAL, &index) ||
        !read_place(reader, &file, &line, &end))
        return false;
    struct hd_source_variable *variable = &reader->source->variable.data[index];
    if (variable->file == HD_SOURCE_NONE) {
        variable->file = file;
        variable->line = line;
    }
    return true;
}

/* What `extern` and `function` lines share. */
struct function_line {
    struct hd_word word;
    uint32_t shown, key, type;
    unsigned flags;
};

static bool read_function_line(struct hd_source_reader *reader, struct function_line *line) {
    line->type = HD_SOURCE_NONE;
    return read_name(reader, &line->word, &line->shown) &&
           read_key(reader, "c:@F@", line->shown, &line->key) &&
           read_flags(reader, hd_source_function_words, &line->flags) &&
           read_type(reader, &line->type);
}

static void fill_function(struct hd_source_reader *reader, const struct function_line *line,
                          uint32_t index) {
    struct hd_source_function *function = &reader->source->function.data[index];
    function->flags |= (uint16_t)line->flags;
    if (function->type == HD_SOURCE_NONE) function->type = line->type;
    uint32_t word = hd_text_word(reader, line->word.text, line->word.length);
    reader->function_of.data[word] = index;
}

static bool read_extern(struct hd_source_reader *reader) {
    struct function_line line;
    if (!read_function_line(reader, &line)) return false;
    fill_function(reader, &line, hd_source_function_add(reader->source, line.key, line.shown));
    return true;
}

static bool skip_body(struct hd_source_reader *reader) {
    while (hd_text_lines_next(&reader->lines))
        if (hd_text_lines_take(&reader->lines, "end")) return true;
    return hd_text_lines_fail(&reader->lines, "the function has no end");
}

static bool read_function(struct hd_source_reader *reader) {
    struct hd_source *source = reader->source;
    struct function_line line;
    uint32_t file = HD_SOURCE_NONE, first = 0, last = 0, unit = HD_SOURCE_NONE, unused;
    if (!read_function_line(reader, &line) || !read_place(reader, &file, &first, &last))
        return false;
    if (hd_text_lines_take(&reader->lines, "unit")) {
        if (!read_lines_word(reader, &unit, &unused)) return false;
        if (unit >= reader->units)
            return hd_text_lines_fail(&reader->lines, "there is no such unit");
    } else if (reader->units > 0)
        unit = reader->units - 1;
    if (unit != HD_SOURCE_NONE) unit += reader->first_unit;
    if (file == HD_SOURCE_NONE)
        file = unit != HD_SOURCE_NONE
                   ? source->unit.data[unit].file
                   : hd_source_file_add(source, hd_source_text_add(source, reader->lines.name));
    uint32_t index = hd_source_function_define(source, line.key, line.shown, file, first);
    if (index == HD_SOURCE_NONE) {
        fill_function(reader, &line, hd_source_function_add(source, line.key, line.shown));
        return skip_body(reader);
    }
    fill_function(reader, &line, index);
    source->function.data[index].unit = unit;
    source->function.data[index].end_line = last;
    reader->function = index;
    bool good = hd_text_read_body(reader);
    if (!good) source->function.data[index].flags &= (uint16_t)~HD_FUNCTION_BODY;
    for (size_t i = 0; i < reader->locals.size; i++)
        reader->local_of.data[reader->locals.data[i]] = HD_SOURCE_NONE;
    reader->locals.size = 0;
    return good;
}

static bool read_line(struct hd_source_reader *reader) {
    struct hd_word word;
    hd_text_lines_word(&reader->lines, &word);
    if (hd_word_is(&word, "function")) return read_function(reader);
    if (hd_word_is(&word, "extern")) return read_extern(reader);
    if (hd_word_is(&word, "global")) return read_global(reader);
    if (hd_word_is(&word, "record")) return read_record(reader) && read_fields(reader);
    if (hd_word_is(&word, "unit")) return read_unit(reader);
    return hd_text_lines_fail(&reader->lines, "expected unit, record, global, extern or function");
}

bool hd_source_read_text(struct hd_source *source, const char *name, const char *bytes,
                         size_t length, struct hd_error *error) {
    struct hd_source_reader reader = {
        .source = source,
        .lines = {.name = name, .at = bytes, .end = bytes + length, .error = error},
        .first_unit = (uint32_t)source->unit.size};
    bool good = true;
    if (!hd_text_lines_next(&reader.lines) || !hd_text_lines_take(&reader.lines, "heddle-source") ||
        !hd_text_lines_take(&reader.lines, "1"))
        good = hd_text_lines_fail(&reader.lines, "not a text of sources: it does not begin with "
                                                 "'heddle-source 1'");
    while (good && hd_text_lines_next(&reader.lines)) good = read_line(&reader);
    hd_intern_free(&reader.words);
    hd_vector_free(&reader.variable_of);
    hd_vector_free(&reader.function_of);
    hd_vector_free(&reader.local_of);
    hd_vector_free(&reader.locals);
    hd_vector_free(&reader.open);
    hd_vector_free(&reader.links);
    return good;
}
