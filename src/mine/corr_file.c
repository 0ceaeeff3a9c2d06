/* The correlation file, read as untrusted input. */
#define _GNU_SOURCE /* open_memstream */
#include "mine/corr_file.h"

#include "base/alloc.h"
#include "base/line_reader.h"
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

static void write_name(FILE *to, const char *name) {
    fputc(' ', to);
    hd_line_write_name(to, name);
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

static bool read_mode(struct hd_line_reader *reader, uint8_t *mode) {
    for (*mode = HD_MINE_READ; *mode <= HD_MINE_ANY; ++*mode)
        if (hd_line_take(reader, mode_name[*mode])) return true;
    return hd_line_wrong(reader, "expected read, write or any");
}

/* ": 49 of 50", or nothing. */
static bool read_figures(struct hd_line_reader *reader, uint32_t *support, uint32_t *functions) {
    if (hd_line_at_end(reader)) return true;
    if (!hd_line_take(reader, ":"))
        return hd_line_wrong(reader, "expected ':' and figures, or the end of the line");
    if (!hd_line_integer(reader, support)) return false;
    if (!hd_line_take(reader, "of")) return hd_line_wrong(reader, "expected 'N of M'");
    if (!hd_line_integer(reader, functions)) return false;
    if (*functions == 0 || *support > *functions)
        return hd_line_wrong(reader, "in 'N of M', N must not be more than M, and M not 0");
    return true;
}

static bool read_rule(struct hd_line_reader *reader, struct hd_corr_file *file) {
    struct hd_corr_rule rule = {.functions = 0};
    if (!read_mode(reader, &rule.a1) || !hd_line_name(reader, "a variable", &rule.x)) return false;
    if (!hd_line_take(reader, "=>")) return hd_line_wrong(reader, "expected '=>'");
    if (!read_mode(reader, &rule.a2) || !hd_line_name(reader, "a variable", &rule.y)) return false;
    if (!read_figures(reader, &rule.support, &rule.functions)) return false;
    if (reader->at < reader->end && *reader->at == ',') {
        reader->at++;
        if (!hd_line_integer(reader, &rule.direct)) return false;
        if (!hd_line_take(reader, "direct")) return hd_line_wrong(reader, "expected 'N direct'");
        if (rule.direct > rule.support)
            return hd_line_wrong(reader, "more direct functions than functions");
    }
    if (!hd_line_at_end(reader))
        return hd_line_wrong(reader, "there is more on the line than a rule");
    if (strcmp(rule.x, rule.y) == 0)
        return hd_line_wrong(reader, "a variable can't go with itself");
    hd_vector_push(&file->rule, rule);
    return true;
}

static bool at_figures(struct hd_line_reader *reader) {
    struct hd_line_reader ahead = *reader;
    return hd_line_at_end(reader) || hd_line_take(&ahead, ":");
}

static bool read_set(struct hd_line_reader *reader, struct hd_corr_file *file) {
    struct hd_corr_set set = {.first = (uint32_t)file->member.size};
    if (!read_mode(reader, &set.mode)) return false;
    while (!at_figures(reader)) {
        const char *name;
        if (set.count++ == MOST_MEMBERS)
            return hd_line_wrong(reader, "a set has too many variables");
        if (!hd_line_name(reader, "a variable", &name)) return false;
        hd_vector_push(&file->member, name);
    }
    if (set.count < 3) return hd_line_wrong(reader, "a set has three variables or more");
    if (!read_figures(reader, &set.support, &set.functions)) return false;
    if (!hd_line_at_end(reader))
        return hd_line_wrong(reader, "there is more on the line than a set");
    hd_vector_push(&file->set, set);
    return true;
}

static bool read_first_line(struct hd_line_reader *reader) {
    uint32_t version;
    if (!hd_line_take(reader, MAGIC))
        return hd_line_wrong(reader, "this is no correlation file (it begins with '" MAGIC " 1')");
    if (!hd_line_integer(reader, &version)) return false;
    if (version != VERSION)
        return hd_fail(reader->error, HD_ERR_UNSUPPORTED,
                       "%s:%u: version %u of the format; this heddle reads version %d",
                       reader->name, reader->line, version, VERSION);
    return hd_line_at_end(reader)
               ? true
               : hd_line_wrong(reader, "there is more on the line than a version");
}

static bool read_line(struct hd_line_reader *reader, void *context) {
    struct hd_corr_file *file = context;
    return hd_line_take(reader, "set") ? read_set(reader, file) : read_rule(reader, file);
}

bool hd_corr_read(const char *bytes, size_t length, const char *name, struct hd_corr_file *file,
                  struct hd_error *error) {
    *file = (struct hd_corr_file){.about = NULL};
    struct hd_line_reader reader = hd_line_reader(bytes, length, name, &file->arena, error);
    bool good = hd_line_read_all(&reader, read_first_line, read_line, file);
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
