/* Lines and words of text files: see line_reader.h. */
#include "base/line_reader.h"

#include <string.h>

struct hd_line_reader hd_line_reader(const char *bytes, size_t length, const char *name,
                                     struct hd_arena *arena, struct hd_error *error) {
    return (struct hd_line_reader){
        .name = name, .next = bytes, .stop = bytes + length, .arena = arena, .error = error};
}

bool hd_line_next(struct hd_line_reader *reader) {
    if (reader->next == reader->stop && reader->line > 0) return false;
    const char *newline = reader->next == reader->stop
                              ? NULL
                              : memchr(reader->next, '\n', (size_t)(reader->stop - reader->next));
    reader->line++;
    reader->at = reader->next;
    reader->end = newline != NULL ? newline : reader->stop;
    reader->next = newline != NULL ? newline + 1 : reader->stop;
    if (reader->end > reader->at && reader->end[-1] == '\r') reader->end--;
    return true;
}

bool hd_line_wrong(struct hd_line_reader *reader, const char *what) {
    return hd_fail(reader->error, HD_ERR_FORMAT, "%s:%u: %s", reader->name, reader->line, what);
}

static void skip_blanks(struct hd_line_reader *reader) {
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\t')) reader->at++;
}

bool hd_line_at_end(struct hd_line_reader *reader) {
    skip_blanks(reader);
    return reader->at == reader->end || *reader->at == '#';
}

static size_t word_length(const struct hd_line_reader *reader) {
    const char *at = reader->at;
    while (at < reader->end && *at != ' ' && *at != '\t' && *at != '#') at++;
    return (size_t)(at - reader->at);
}

bool hd_line_take(struct hd_line_reader *reader, const char *word) {
    skip_blanks(reader);
    size_t length = strlen(word);
    if (word_length(reader) != length || memcmp(reader->at, word, length) != 0) return false;
    reader->at += length;
    return true;
}

static bool read_quoted(struct hd_line_reader *reader, const char **name) {
    char *text = hd_arena_alloc(reader->arena, (size_t)(reader->end - reader->at) + 1);
    size_t used = 0;
    for (reader->at++; reader->at < reader->end && *reader->at != '"'; reader->at++) {
        if (*reader->at == '\\' && reader->at + 1 < reader->end) reader->at++;
        text[used++] = *reader->at;
    }
    if (reader->at == reader->end) return hd_line_wrong(reader, "a name has no closing quote");
    reader->at++;
    text[used] = '\0';
    *name = text;
    return true;
}

bool hd_line_name(struct hd_line_reader *reader, const char *what, const char **name) {
    if (hd_line_at_end(reader)) {
        char text[128];
        snprintf(text, sizeof text, "%s is missing", what);
        return hd_line_wrong(reader, text);
    }
    if (*reader->at == '"') return read_quoted(reader, name);
    size_t length = word_length(reader);
    *name = hd_arena_copy(reader->arena, reader->at, length);
    reader->at += length;
    return true;
}

bool hd_line_integer(struct hd_line_reader *reader, uint32_t *number) {
    uint64_t value = 0;
    skip_blanks(reader);
    const char *begin = reader->at;
    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9' &&
           value <= UINT32_MAX)
        value = value * 10 + (uint64_t)(*reader->at++ - '0');
    *number = (uint32_t)value;
    if (reader->at == begin || value > UINT32_MAX)
        return hd_line_wrong(reader, "expected a number");
    return true;
}

/* The last line, after its word. */
static bool read_end(struct hd_line_reader *reader, bool *done) {
    *done = true;
    if (hd_line_at_end(reader)) return true;
    return hd_line_wrong(reader, "there is more on the line than 'end'");
}

bool hd_line_read_all(struct hd_line_reader *reader, bool (*first)(struct hd_line_reader *reader),
                      bool (*line)(struct hd_line_reader *reader, void *context), void *context) {
    bool good = true, done = false;
    while (good && hd_line_next(reader)) {
        if (memchr(reader->at, '\0', (size_t)(reader->end - reader->at)) != NULL)
            good = hd_line_wrong(reader, "there is a byte 0 in it");
        else if (reader->line == 1)
            good = first(reader);
        else if (hd_line_at_end(reader))
            continue;
        else if (done)
            good = hd_line_wrong(reader, "there is more after 'end'");
        else
            good = hd_line_take(reader, "end") ? read_end(reader, &done) : line(reader, context);
    }
    if (good && !done)
        return hd_line_wrong(reader, "the last line, 'end', is missing: the file was cut short");
    return good;
}

void hd_line_write_name(FILE *to, const char *name) {
    if (*name != '\0' && strpbrk(name, " \t\r\"\\#") == NULL && strcmp(name, ":") != 0) {
        fputs(name, to);
        return;
    }
    fputc('"', to);
    for (; *name != '\0'; name++) {
        if (*name == '"' || *name == '\\') fputc('\\', to);
        fputc(*name == '\n' ? ' ' : *name, to);
    }
    fputc('"', to);
}
