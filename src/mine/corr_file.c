/* The correlation file, read as untrusted input. */
#define _GNU_SOURCE /* open_memstream */
#include "mine/corr_file.h"

#include "base/alloc.h"
#include "base/whole_file.h"
#include "mine/access_sets.h"

#include <stdio.h>
#include <string.h>

#define MAGIC "heddle-correlations"
#define VERSION 1
#define MOST_BYTES (256u << 20)
#define MOST_MEMBERS 1000

static const char *const mode_name[] = {
    [HD_MINE_READ] = "read", [HD_MINE_WRITE] = "write", [HD_MINE_ANY] = "any"};

const char *hd_mine_mode_name(unsigned mode) { return mode_name[mode]; }

unsigned hd_mine_mode_of(const char *word, size_t length) {
    for (unsigned mode = HD_MINE_READ; mode <= HD_MINE_ANY; mode++)
        if (strlen(mode_name[mode]) == length && memcmp(mode_name[mode], word, length) == 0)
            return mode;
    return 0;
}

bool hd_corr_name_fits(const char *name, const char *word) {
    if (strcmp(name, word) == 0) return true;
    const char *at = strchr(name, '@');
    size_t length = at != NULL ? (size_t)(at - name) : strlen(name), wanted = strlen(word);
    if (wanted > length || memcmp(name + length - wanted, word, wanted) != 0) return false;
    return wanted == length || (length >= wanted + 2 && name[length - wanted - 1] == ':');
}

/* ---- writing ----------------------------------------------------------------------------------
 */

/* Names with blanks (templates of C++), and those that look like something else, are quoted. */
static void write_name(FILE *to, const char *name) {
    if (*name != '\0' && strpbrk(name, " \t\r\"\\#") == NULL && strcmp(name, ":") != 0) {
        fprintf(to, " %s", name);
        return;
    }
    fputs(" \"", to);
    for (; *name != '\0'; name++) {
        if (*name == '"' || *name == '\\') fputc('\\', to);
        fputc(*name, to);
    }
    fputc('"', to);
}

static void write_rule(FILE *to, const struct hd_corr_rule *rule) {
    fputs(hd_mine_mode_name(rule->a1), to);
    write_name(to, rule->x);
    fprintf(to, " => %s", hd_mine_mode_name(rule->a2));
    write_name(to, rule->y);
    if (rule->functions > 0)
        fprintf(to, " : %u of %u, %u direct", rule->support, rule->functions, rule->direct);
    fputc('\n', to);
}

static void write_set(FILE *to, const struct hd_corr_file *file, const struct hd_corr_set *set) {
    fprintf(to, "set %s", hd_mine_mode_name(set->mode));
    for (uint32_t i = 0; i < set->count; i++) write_name(to, file->member.data[set->first + i]);
    if (set->functions > 0) fprintf(to, " : %u of %u", set->support, set->functions);
    fputc('\n', to);
}

static void write_about(FILE *to, const char *about) {
    while (about != NULL && *about != '\0') {
        size_t length = strcspn(about, "\n");
        fprintf(to, "# %.*s\n", (int)length, about);
        about += length + (about[length] == '\n');
    }
}

char *hd_corr_write(const struct hd_corr_file *file) {
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (to == NULL) hd_out_of_memory();
    fprintf(to, "%s %d\n", MAGIC, VERSION);
    write_about(to, file->about);
    for (size_t i = 0; i < file->rule.size; i++) write_rule(to, &file->rule.data[i]);
    for (size_t i = 0; i < file->set.size; i++) write_set(to, file, &file->set.data[i]);
    fputs("end\n", to);
    if (fclose(to) != 0) hd_out_of_memory();
    return text;
}

/* ---- reading ----------------------------------------------------------------------------------
 */

struct reader {
    const char *name;
    uint32_t line;
    const char *at, *end; /* of the line */
    struct hd_corr_file *file;
    struct hd_error *error;
};

static bool wrong(struct reader *reader, const char *what) {
    return hd_fail(reader->error, HD_ERR_FORMAT, "%s:%u: %s", reader->name, reader->line, what);
}

static void skip_blanks(struct reader *reader) {
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\t')) reader->at++;
}

/* A comment ends the line too. */
static bool at_end(struct reader *reader) {
    skip_blanks(reader);
    return reader->at == reader->end || *reader->at == '#';
}

static size_t word_length(const struct reader *reader) {
    const char *at = reader->at;
    while (at < reader->end && *at != ' ' && *at != '\t' && *at != '#') at++;
    return (size_t)(at - reader->at);
}

/* Is this the next word? Then it is read. */
static bool take(struct reader *reader, const char *word) {
    skip_blanks(reader);
    if (word_length(reader) != strlen(word) || memcmp(reader->at, word, strlen(word)) != 0)
        return false;
    reader->at += strlen(word);
    return true;
}

static bool read_quoted(struct reader *reader, const char **name) {
    char *text = hd_arena_alloc(&reader->file->arena, (size_t)(reader->end - reader->at) + 1);
    size_t used = 0;
    for (reader->at++; reader->at < reader->end && *reader->at != '"'; reader->at++) {
        if (*reader->at == '\\' && reader->at + 1 < reader->end) reader->at++;
        text[used++] = *reader->at;
    }
    if (reader->at == reader->end) return wrong(reader, "a name has no closing quote");
    reader->at++;
    text[used] = '\0';
    *name = text;
    return true;
}

static bool read_name(struct reader *reader, const char **name) {
    if (at_end(reader)) return wrong(reader, "a variable is missing");
    if (*reader->at == '"') return read_quoted(reader, name);
    size_t length = word_length(reader);
    *name = hd_arena_copy(&reader->file->arena, reader->at, length);
    reader->at += length;
    return true;
}

static bool read_mode(struct reader *reader, uint8_t *mode) {
    skip_blanks(reader);
    size_t length = word_length(reader);
    *mode = (uint8_t)hd_mine_mode_of(reader->at, length);
    if (*mode == 0) return wrong(reader, "expected read, write or any");
    reader->at += length;
    return true;
}

static bool read_number(struct reader *reader, uint32_t *number) {
    uint64_t value = 0;
    skip_blanks(reader);
    const char *begin = reader->at;
    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9' &&
           value <= UINT32_MAX)
        value = value * 10 + (uint64_t)(*reader->at++ - '0');
    *number = (uint32_t)value;
    if (reader->at == begin || value > UINT32_MAX) return wrong(reader, "expected a number");
    return true;
}

/* ": 49 of 50", or nothing. */
static bool read_figures(struct reader *reader, uint32_t *support, uint32_t *functions) {
    if (at_end(reader)) return true;
    if (!take(reader, ":"))
        return wrong(reader, "expected ':' and figures, or the end of the line");
    if (!read_number(reader, support)) return false;
    if (!take(reader, "of")) return wrong(reader, "expected 'N of M'");
    if (!read_number(reader, functions)) return false;
    if (*functions == 0 || *support > *functions)
        return wrong(reader, "in 'N of M', N must not be more than M, and M not 0");
    return true;
}

static bool read_rule(struct reader *reader) {
    struct hd_corr_rule rule = {.functions = 0};
    if (!read_mode(reader, &rule.a1) || !read_name(reader, &rule.x)) return false;
    if (!take(reader, "=>")) return wrong(reader, "expected '=>'");
    if (!read_mode(reader, &rule.a2) || !read_name(reader, &rule.y)) return false;
    if (!read_figures(reader, &rule.support, &rule.functions)) return false;
    if (reader->at < reader->end && *reader->at == ',') {
        reader->at++;
        if (!read_number(reader, &rule.direct)) return false;
        if (!take(reader, "direct")) return wrong(reader, "expected 'N direct'");
        if (rule.direct > rule.support)
            return wrong(reader, "more direct functions than functions");
    }
    if (!at_end(reader)) return wrong(reader, "there is more on the line than a rule");
    if (strcmp(rule.x, rule.y) == 0) return wrong(reader, "a variable can't go with itself");
    hd_vector_push(&reader->file->rule, rule);
    return true;
}

static bool read_set(struct reader *reader) {
    struct hd_corr_file *file = reader->file;
    struct hd_corr_set set = {.first = (uint32_t)file->member.size};
    if (!read_mode(reader, &set.mode)) return false;
    while (!at_end(reader) && !(*reader->at == ':' && word_length(reader) == 1)) {
        const char *name;
        if (set.count++ == MOST_MEMBERS) return wrong(reader, "a set has too many variables");
        if (!read_name(reader, &name)) return false;
        hd_vector_push(&file->member, name);
    }
    if (set.count < 3) return wrong(reader, "a set has three variables or more");
    if (!read_figures(reader, &set.support, &set.functions)) return false;
    if (!at_end(reader)) return wrong(reader, "there is more on the line than a set");
    hd_vector_push(&file->set, set);
    return true;
}

static bool read_first_line(struct reader *reader) {
    uint32_t version;
    if (!take(reader, MAGIC))
        return wrong(reader, "this is no correlation file (it begins with '" MAGIC " 1')");
    if (!read_number(reader, &version)) return false;
    if (version != VERSION)
        return hd_fail(reader->error, HD_ERR_UNSUPPORTED,
                       "%s:%u: version %u of the format; this heddle reads version %d",
                       reader->name, reader->line, version, VERSION);
    return at_end(reader) ? true : wrong(reader, "there is more on the line than a version");
}

/* `*done`: it was the last line. */
static bool read_line(struct reader *reader, bool *done) {
    if (memchr(reader->at, '\0', (size_t)(reader->end - reader->at)) != NULL)
        return wrong(reader, "there is a byte 0 in it");
    if (reader->line == 1) return read_first_line(reader);
    if (at_end(reader)) return true;
    if (*done) return wrong(reader, "there is more after 'end'");
    if (take(reader, "end")) {
        *done = true;
        return at_end(reader) ? true : wrong(reader, "there is more on the line than 'end'");
    }
    return take(reader, "set") ? read_set(reader) : read_rule(reader);
}

bool hd_corr_read(const char *bytes, size_t length, const char *name, struct hd_corr_file *file,
                  struct hd_error *error) {
    *file = (struct hd_corr_file){.about = NULL};
    struct reader reader = {.name = name, .file = file, .error = error};
    const char *end = bytes + length;
    bool good = true, done = false;
    for (const char *next = bytes; good && (next < end || reader.line == 0);) {
        const char *newline = next < end ? memchr(next, '\n', (size_t)(end - next)) : NULL;
        reader.line++;
        reader.at = next;
        reader.end = newline != NULL ? newline : end;
        next = newline != NULL ? newline + 1 : end;
        if (reader.end > reader.at && reader.end[-1] == '\r') reader.end--;
        good = read_line(&reader, &done);
    }
    if (good && !done)
        good = wrong(&reader, "the last line, 'end', is missing: the file was cut short");
    if (!good) hd_corr_free(file);
    return good;
}

bool hd_corr_load(const char *path, struct hd_corr_file *file, struct hd_error *error) {
    size_t length;
    char *bytes = hd_whole_file_read(path, MOST_BYTES, &length, error);
    if (bytes == NULL) return false;
    bool good = hd_corr_read(bytes, length, path, file, error);
    free(bytes);
    return good;
}

void hd_corr_free(struct hd_corr_file *file) {
    hd_arena_free(&file->arena);
    hd_vector_free(&file->rule);
    hd_vector_free(&file->set);
    hd_vector_free(&file->member);
}
