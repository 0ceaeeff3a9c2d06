/* Reads compile_commands.json: see database.h. */
#include "source/database.h"

#include "base/whole_file.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LARGEST ((size_t)1 << 30)

typedef HD_VECTOR(const char *) words_t;

static const char *keep(struct hd_database *database, const char *text, size_t length) {
    return hd_arena_copy(&database->arena, text, length);
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* ---- words of a command
 * -------------------------------------------------------------------------- */

/* A shell's words: blanks part them, quotes and backslashes keep. */
static void split_command(struct hd_database *database, const char *text, words_t *words) {
    HD_VECTOR(char) word = {0};
    bool begun = false;
    char quote = 0;
    for (const char *c = text;; c++) {
        bool end = *c == '\0', blank = *c == ' ' || *c == '\t' || *c == '\n';
        if (end || (quote == 0 && blank)) {
            if (begun) hd_vector_push(words, keep(database, word.data, word.size));
            word.size = 0;
            begun = false;
            if (end) break;
            continue;
        }
        begun = true;
        hd_vector_reserve(&word, 1);
        if (quote == 0 && (*c == '"' || *c == '\''))
            quote = *c;
        else if (quote != 0 && *c == quote)
            quote = 0;
        else if (*c == '\\' && quote != '\'' && c[1] != '\0' &&
                 (quote == 0 || c[1] == '"' || c[1] == '\\')) {
            hd_vector_push(&word, *++c);
        } else
            hd_vector_push(&word, *c);
    }
    hd_vector_free(&word);
}

/* Programs that stand before the compiler; heddle's own wrappers become what they wrap. */
static void unwrap(words_t *words) {
    static const char *const launchers[] = {"ccache", "distcc", "sccache", "icecc"};
    size_t first = 0;
    for (bool again = true; again && first + 1 < words->size;) {
        again = false;
        for (unsigned i = 0; i < 4; i++)
            if (strcmp(base_name(words->data[first]), launchers[i]) == 0) again = true;
        if (again) first++;
    }
    if (first < words->size) {
        const char *name = base_name(words->data[first]);
        if (strcmp(name, "heddle") == 0 && first + 1 < words->size)
            first++; /* heddle cc, heddle c++ */
        else if (strcmp(name, "heddle-cc") == 0)
            words->data[first] = "cc";
        else if (strcmp(name, "heddle-c++") == 0)
            words->data[first] = "c++";
    }
    memmove(words->data, words->data + first, (words->size - first) * sizeof words->data[0]);
    words->size -= first;
}

/* ---- which units
 * ---------------------------------------------------------------------------------- */

static bool is_source(const char *file) {
    static const char *const endings[] = {".c", ".cc", ".cpp", ".cxx", ".c++",
                                          ".C", ".i",  ".ii",  ".CPP"};
    const char *dot = strrchr(base_name(file), '.');
    for (unsigned i = 0; dot != NULL && i < sizeof endings / sizeof endings[0]; i++)
        if (strcmp(dot, endings[i]) == 0) return true;
    return false;
}

static const char *canonical(struct hd_database *database, const char *directory,
                             const char *file) {
    char joined[2 * PATH_MAX], real[PATH_MAX];
    if (file[0] == '/')
        snprintf(joined, sizeof joined, "%s", file);
    else
        snprintf(joined, sizeof joined, "%s/%s", directory, file);
    const char *path = realpath(joined, real) != NULL ? real : joined;
    return keep(database, path, strlen(path));
}

static bool below(const char *path, const char *directory) {
    char real[PATH_MAX];
    if (realpath(directory, real) != NULL) directory = real;
    size_t length = strlen(directory);
    while (length > 1 && directory[length - 1] == '/') length--;
    return strncmp(path, directory, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static bool below_any(const char *path, const char *const *directory, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (below(path, directory[i])) return true;
    return false;
}

static bool wanted(const struct hd_source_request *request, const struct hd_compile_command *unit) {
    if (!is_source(unit->file)) return false;
    if (request->includes > 0 && !below_any(unit->path, request->include, request->includes))
        return false;
    if (below_any(unit->path, request->exclude, request->excludes)) return false;
    return request->files == 0 || request->database == NULL ||
           below_any(unit->path, request->file, request->files);
}

static bool same_command(const struct hd_compile_command *a, const struct hd_compile_command *b) {
    if (strcmp(a->path, b->path) != 0 || strcmp(a->directory, b->directory) != 0) return false;
    if (a->arguments != b->arguments) return false;
    for (unsigned i = 0; i < a->arguments; i++)
        if (strcmp(a->argument[i], b->argument[i]) != 0) return false;
    return true;
}

static void add_unit(const struct hd_source_request *request, struct hd_database *database,
                     const char *directory, const char *file, words_t *words, struct hd_map *last) {
    struct hd_compile_command unit = {.directory = directory,
                                      .file = file,
                                      .path = canonical(database, directory, file),
                                      .arguments = (unsigned)words->size};
    unit.argument = hd_arena_alloc(&database->arena, (words->size + 1) * sizeof *unit.argument);
    memcpy(unit.argument, words->data, words->size * sizeof *unit.argument);
    unit.argument[words->size] = NULL;
    if (!wanted(request, &unit)) return;
    /* Only the last command of a file is compared: repetitions stand together, or are not equal. */
    uint64_t hash = hd_intern_hash_long(unit.path, strlen(unit.path));
    uint32_t *before = hd_map_slot(last, hash, HD_SOURCE_NONE);
    if (*before != HD_SOURCE_NONE && same_command(&database->command.data[*before], &unit)) return;
    *before = (uint32_t)database->command.size;
    hd_vector_push(&database->command, unit);
}

/* ---- the file
 * -------------------------------------------------------------------------------------- */

static const char *text_of(struct hd_database *database, json_t *entry, const char *key) {
    const json_t *value = json_object_get(entry, key);
    if (!json_is_string(value)) return NULL;
    const char *text = json_string_value(value);
    return keep(database, text, strlen(text));
}

static void words_of(struct hd_database *database, json_t *entry, words_t *words) {
    json_t *list = json_object_get(entry, "arguments"), *item;
    size_t i;
    if (json_is_array(list)) {
        json_array_foreach(list, i, item) if (json_is_string(item)) hd_vector_push(
            words, keep(database, json_string_value(item), strlen(json_string_value(item))));
        return;
    }
    const char *command = text_of(database, entry, "command");
    if (command != NULL) split_command(database, command, words);
}

bool hd_database_read(const struct hd_source_request *request, const char *name, const char *text,
                      size_t length, struct hd_database *database, struct hd_error *error) {
    json_error_t problem;
    json_t *root = json_loadb(text, length, 0, &problem), *entry;
    struct hd_map last = {0};
    size_t i;
    if (root == NULL)
        return hd_fail(error, HD_ERR_FORMAT, "%s, line %d: not JSON: %s", name, problem.line,
                       problem.text);
    bool good = json_is_array(root) ||
                hd_fail(error, HD_ERR_FORMAT,
                        "%s is no compilation database: it is not an array of commands", name);
    if (good) json_array_foreach(root, i, entry) {
            words_t words = {0};
            const char *directory = text_of(database, entry, "directory");
            const char *file = text_of(database, entry, "file");
            words_of(database, entry, &words);
            if (directory == NULL || file == NULL || words.size == 0)
                good = hd_fail(error, HD_ERR_FORMAT,
                               "%s: command %zu has no directory, file and arguments", name, i + 1);
            else {
                unwrap(&words);
                add_unit(request, database, directory, file, &words, &last);
            }
            hd_vector_free(&words);
            if (!good) break;
        }
    hd_map_free(&last);
    json_decref(root);
    return good;
}

static bool read_database(const struct hd_source_request *request, struct hd_database *database,
                          struct hd_error *error) {
    char path[PATH_MAX + 32];
    struct stat status;
    bool directory = stat(request->database, &status) == 0 && S_ISDIR(status.st_mode);
    snprintf(path, sizeof path, "%s%s", request->database,
             directory ? "/compile_commands.json" : "");
    size_t length;
    char *text = hd_whole_file_read(path, LARGEST, &length, error);
    if (text == NULL) return false;
    bool good = hd_database_read(request, path, text, length, database, error);
    free(text);
    if (good && database->command.size == 0)
        return hd_fail(error, HD_ERR_FORMAT, "%s: no C or C++ file of it was asked for", path);
    return good;
}

/* Each file with the given flags, in the current directory. */
static bool take_files(const struct hd_source_request *request, struct hd_database *database,
                       struct hd_error *error) {
    char here[PATH_MAX];
    struct hd_map last = {0};
    if (getcwd(here, sizeof here) == NULL)
        return hd_fail(error, HD_ERR_IO, "cannot tell the current directory");
    const char *directory = keep(database, here, strlen(here));
    bool good = true;
    for (unsigned i = 0; good && i < request->files; i++) {
        const char *file = request->file[i];
        words_t words = {0};
        if (!is_source(file))
            good = hd_fail(error, HD_ERR_USAGE, "%s is no C or C++ file", file);
        else if (access(file, R_OK) != 0)
            good = hd_fail(error, HD_ERR_IO, "cannot read %s", file);
        const char *ending = strrchr(base_name(file), '.');
        hd_vector_push(&words, ending != NULL && strcmp(ending, ".c") == 0 ? "cc" : "c++");
        for (unsigned f = 0; f < request->flags; f++) hd_vector_push(&words, request->flag[f]);
        hd_vector_push(&words, file);
        if (good) add_unit(request, database, directory, file, &words, &last);
        hd_vector_free(&words);
    }
    hd_map_free(&last);
    return good;
}

bool hd_database_open(const struct hd_source_request *request, struct hd_database *database,
                      struct hd_error *error) {
    *database = (struct hd_database){0};
    bool good = request->database != NULL ? read_database(request, database, error)
                                          : take_files(request, database, error);
    if (!good) hd_database_free(database);
    return good;
}

void hd_database_free(struct hd_database *database) {
    hd_vector_free(&database->command);
    hd_arena_free(&database->arena);
}
