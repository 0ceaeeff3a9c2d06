/* Invariants as a text file, read as untrusted input. The format is in docs/learn.md. */
#define _GNU_SOURCE /* open_memstream */
#include "base/alloc.h"
#include "base/line_reader.h"
#include "base/whole_file.h"
#include "facts/patterns.h"
#include "learn/invariants.h"

#include <string.h>

#define FORMAT "heddle-invariants/"
#define VERSION 1u
#define MOST_BYTES ((size_t)256 << 20)

static const char *const does_word[] = {
    [HD_DOES_READ] = "read", [HD_DOES_WRITE] = "write", [HD_DOES_UPDATE] = "update"};

/* ---- writing ----------------------------------------------------------------------------------
 */

/* "src/log.c:57:9" by file, line and column: lines as numbers. */
static int compare_where(const char *a, const char *b) {
    size_t file_a = strcspn(a, ":"), file_b = strcspn(b, ":");
    int files = strncmp(a, b, file_a < file_b ? file_a : file_b);
    if (files != 0 || file_a != file_b || a[file_a] == '\0' || b[file_b] == '\0')
        return strcmp(a, b);
    unsigned long line[2], column[2];
    char *end;
    line[0] = strtoul(a + file_a + 1, &end, 10);
    column[0] = *end == ':' ? strtoul(end + 1, NULL, 10) : 0;
    line[1] = strtoul(b + file_b + 1, &end, 10);
    column[1] = *end == ':' ? strtoul(end + 1, NULL, 10) : 0;
    if (line[0] != line[1]) return line[0] < line[1] ? -1 : 1;
    return column[0] != column[1] ? (column[0] < column[1] ? -1 : 1) : strcmp(a, b);
}

static int compare(const void *left, const void *right) {
    const struct hd_invariant *a = *(const struct hd_invariant *const *)left;
    const struct hd_invariant *b = *(const struct hd_invariant *const *)right;
    int order = strcmp(a->place.module, b->place.module);
    if (order == 0) order = compare_where(a->place.where, b->place.where);
    if (order == 0) order = strcmp(a->place.function, b->place.function);
    if (order == 0) order = strcmp(a->place.within, b->place.within);
    if (order == 0) order = (int)a->place.does - (int)b->place.does;
    return order != 0 ? order : strcmp(a->with, b->with);
}

static void write_part(FILE *to, const char *before, const char *name) {
    if (*name == '\0') return;
    fputs(before, to);
    hd_line_write_name(to, name);
}

static void write_invariant(FILE *to, const struct hd_invariant *invariant) {
    const struct hd_place *place = &invariant->place;
    fputs(does_word[place->does], to);
    write_part(to, " ", place->where);
    write_part(to, " in ", place->function);
    write_part(to, " ", place->within);
    write_part(to, " of ", place->module);
    write_part(to, " with ", invariant->with);
    fprintf(to, " : executed %u, violated %u, atomic: %s\n", invariant->executed,
            invariant->violated, hd_atomic_word(invariant->atomic));
}

char *hd_invariants_write(const struct hd_invariants *invariants) {
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (to == NULL) hd_out_of_memory();
    fprintf(to, FORMAT "%u\n", VERSION);
    fputs("# Which accesses may not be separated from their thread's previous access to the same\n"
          "# memory. 'atomic: learned' goes by the runs; write 'yes' or 'no' if you know better.\n",
          to);
    if (invariants->program != NULL && *invariants->program != '\0')
        write_part(to, "program ", invariants->program), fputc('\n', to);
    fprintf(to, "runs %u\nthreshold %u\n", invariants->runs, invariants->threshold);
    size_t count = invariants->list.size;
    const struct hd_invariant **order = hd_alloc(count, sizeof *order);
    for (size_t i = 0; i < count; i++) order[i] = &invariants->list.data[i];
    if (count > 0) qsort(order, count, sizeof *order, compare);
    for (size_t i = 0; i < count; i++) write_invariant(to, order[i]);
    free(order);
    fputs("end\n", to);
    if (fclose(to) != 0) hd_out_of_memory();
    return text;
}

bool hd_invariants_save(const char *path, const struct hd_invariants *invariants,
                        struct hd_error *error) {
    char *text = hd_invariants_write(invariants);
    bool good = hd_whole_file_write(path, text, error);
    free(text);
    return good;
}

/* ---- reading ----------------------------------------------------------------------------------
 */

static bool read_first_line(struct hd_line_reader *reader) {
    uint32_t version;
    size_t length = strlen(FORMAT);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, FORMAT, length) != 0)
        return hd_fail(reader->error, HD_ERR_FORMAT,
                       "%s is no file of invariants (see 'heddle learn')", reader->name);
    reader->at += length;
    if (!hd_line_integer(reader, &version)) return false;
    if (version != VERSION)
        return hd_fail(reader->error, HD_ERR_UNSUPPORTED,
                       "%s has version %u of the format; this heddle reads version %u",
                       reader->name, version, VERSION);
    return hd_line_at_end(reader)
               ? true
               : hd_line_wrong(reader, "there is more on the line than a version");
}

static bool read_does(struct hd_line_reader *reader, unsigned *does) {
    for (*does = HD_DOES_READ; *does <= HD_DOES_UPDATE; ++*does)
        if (hd_line_take(reader, does_word[*does])) return true;
    return hd_line_wrong(reader, "expected read, write, update, program, runs, threshold or end");
}

/* ": executed 20, violated 0, atomic: learned". People edit it, so blanks are free. */
static bool read_counts(struct hd_line_reader *reader, struct hd_invariant *invariant) {
    if (!hd_line_take(reader, ":") || !hd_line_take(reader, "executed"))
        return hd_line_wrong(reader, "expected ': executed N, violated N, atomic: learned'");
    if (!hd_line_integer(reader, &invariant->executed)) return false;
    if (!hd_line_take(reader, ",") || !hd_line_take(reader, "violated"))
        return hd_line_wrong(reader, "expected ', violated N' after the runs that executed it");
    if (!hd_line_integer(reader, &invariant->violated)) return false;
    if (!hd_line_take(reader, ",") || !hd_line_take(reader, "atomic:"))
        return hd_line_wrong(reader, "expected ', atomic: yes', 'no' or 'learned'");
    for (unsigned word = 0; word < HD_ATOMIC_COUNT; word++)
        if (hd_line_take(reader, hd_atomic_word(word))) {
            invariant->atomic = word;
            return true;
        }
    return hd_line_wrong(reader, "after 'atomic:' expected yes, no or learned");
}

/* A part of the key that is not empty. */
static bool read_part(struct hd_line_reader *reader, const char *what, const char **name) {
    if (!hd_line_name(reader, what, name)) return false;
    return **name != '\0' ? true : hd_line_wrong(reader, "a name is empty");
}

static bool read_key(struct hd_line_reader *reader, struct hd_invariant *to) {
    struct hd_place *place = &to->place;
    if (!read_does(reader, &place->does)) return false;
    if (!read_part(reader, "the place of the access", &place->where)) return false;
    if (hd_line_take(reader, "in") &&
        (!read_part(reader, "the function", &place->function) ||
         !read_part(reader, "the place in the function", &place->within)))
        return false;
    if (hd_line_take(reader, "of") && !read_part(reader, "the library", &place->module))
        return false;
    return !hd_line_take(reader, "with") || read_part(reader, "the correlated variable", &to->with);
}

static bool read_invariant(struct hd_line_reader *reader, struct hd_invariants *invariants) {
    struct hd_invariant read = {.place = {.where = "", .function = "", .within = "", .module = ""},
                                .with = ""};
    if (!read_key(reader, &read) || !read_counts(reader, &read)) return false;
    if (!hd_line_at_end(reader))
        return hd_line_wrong(reader, "there is more on the line than an invariant");
    if (read.violated > read.executed)
        return hd_line_wrong(reader, "more runs violated it than executed it");
    if (read.executed > invariants->runs)
        return hd_line_wrong(reader, "more runs executed it than there were ('runs')");
    size_t before = invariants->list.size;
    struct hd_invariant *invariant = hd_invariants_add(invariants, &read.place, read.with);
    if (invariants->list.size == before)
        return hd_line_wrong(reader, "this invariant was there before");
    invariant->executed = read.executed;
    invariant->violated = read.violated;
    invariant->atomic = read.atomic;
    return true;
}

static bool read_head(struct hd_line_reader *reader, uint32_t *number) {
    if (!hd_line_integer(reader, number)) return false;
    return hd_line_at_end(reader) ? true : hd_line_wrong(reader, "expected one number");
}

static bool read_line(struct hd_line_reader *reader, void *context) {
    struct hd_invariants *invariants = context;
    if (hd_line_take(reader, "program"))
        return hd_line_name(reader, "the program", &invariants->program) &&
               (hd_line_at_end(reader) || hd_line_wrong(reader, "expected one file name"));
    if (hd_line_take(reader, "runs")) return read_head(reader, &invariants->runs);
    if (hd_line_take(reader, "threshold")) return read_head(reader, &invariants->threshold);
    return read_invariant(reader, invariants);
}

bool hd_invariants_read(const char *bytes, size_t length, const char *name,
                        struct hd_invariants *invariants, struct hd_error *error) {
    memset(invariants, 0, sizeof *invariants);
    struct hd_line_reader reader = hd_line_reader(bytes, length, name, &invariants->arena, error);
    bool good = hd_line_read_all(&reader, read_first_line, read_line, invariants);
    if (!good) hd_invariants_free(invariants);
    return good;
}

bool hd_invariants_load(const char *path, struct hd_invariants *invariants,
                        struct hd_error *error) {
    size_t length;
    char *bytes = hd_whole_file_read(path, MOST_BYTES, &length, error);
    if (bytes == NULL) return false;
    bool good = hd_invariants_read(bytes, length, path, invariants, error);
    free(bytes);
    return good;
}
