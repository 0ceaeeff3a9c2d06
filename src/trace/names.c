/* Names from source code: see names.h. The file is text, lines with tabs:
 *
 *     heddle-names 1
 *     file    /src/app/daemon.c
 *     120     9       3-18    w       daemon->shutdown        daemon::shutdown
 *
 * line, column of the name, first and last column that compilers may give for it, r, w or b (both).
 */
#include "trace/names.h"

#include "base/alloc.h"
#include "base/intern.h"
#include "base/vector.h"
#include "base/whole_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LARGEST ((size_t)1 << 31)

struct entry {
    uint32_t file, line;
    uint16_t column, begin, end;
    uint8_t mode; /* 1 read, 2 write, 3 both */
    uint32_t expression, variable;
};

struct hd_names {
    struct hd_intern text;
    HD_VECTOR(uint32_t) file;
    HD_VECTOR(struct entry) entry; /* sorted by file and line */
};

/* ---- reading
 * --------------------------------------------------------------------------------------- */

static bool number(const char **at, const char *end, uint32_t most, uint32_t *value) {
    uint64_t sum = 0;
    const char *c = *at;
    for (; c < end && *c >= '0' && *c <= '9'; c++) {
        sum = sum * 10 + (uint64_t)(*c - '0');
        if (sum > most) return false;
    }
    if (c == *at) return false;
    *at = c;
    *value = (uint32_t)sum;
    return true;
}

static bool skip(const char **at, const char *end, char c) {
    if (*at == end || **at != c) return false;
    ++*at;
    return true;
}

static uint32_t intern(struct hd_names *names, const char *from, const char *to) {
    return hd_intern(&names->text, from, (size_t)(to - from));
}

static bool read_entry(struct hd_names *names, const char *at, const char *end) {
    uint32_t line, column, first, last;
    if (names->file.size == 0) return false;
    if (!number(&at, end, UINT32_MAX - 1, &line) || !skip(&at, end, '\t') ||
        !number(&at, end, UINT16_MAX, &column) || !skip(&at, end, '\t') ||
        !number(&at, end, UINT16_MAX, &first) || !skip(&at, end, '-') ||
        !number(&at, end, UINT16_MAX, &last) || !skip(&at, end, '\t'))
        return false;
    static const char modes[] = "rwb";
    const char *mode = at < end ? memchr(modes, *at, 3) : NULL;
    at++;
    if (mode == NULL || !skip(&at, end, '\t')) return false;
    const char *tab = memchr(at, '\t', (size_t)(end - at));
    if (tab == NULL) return false;
    struct entry entry = {.file = (uint32_t)names->file.size - 1,
                          .line = line,
                          .column = (uint16_t)column,
                          .begin = (uint16_t)first,
                          .end = (uint16_t)last,
                          .mode = (uint8_t)(mode - modes + 1),
                          .expression = intern(names, at, tab),
                          .variable = intern(names, tab + 1, end)};
    hd_vector_push(&names->entry, entry);
    return true;
}

static int by_place(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    if (x->line != y->line) return x->line < y->line ? -1 : 1;
    return (int)x->column - (int)y->column;
}

static bool read_line(struct hd_names *names, const char *at, const char *end, uint32_t line) {
    if (line == 1) return end - at == 14 && memcmp(at, "heddle-names 1", 14) == 0;
    if (at == end || *at == '#') return true;
    if (end - at > 5 && memcmp(at, "file\t", 5) == 0) {
        hd_vector_push(&names->file, intern(names, at + 5, end));
        return true;
    }
    return read_entry(names, at, end);
}

struct hd_names *hd_names_read(const char *name, const char *text, size_t length,
                               struct hd_error *error) {
    struct hd_names *names = hd_zalloc(1, sizeof *names);
    const char *at = text, *end = text + length;
    uint32_t line = 0;
    bool good = memchr(text, '\0', length) == NULL;
    do {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline != NULL ? newline : end;
        line++;
        good = good && read_line(names, at, stop, line);
        at = newline != NULL ? newline + 1 : end;
    } while (good && at < end);
    if (!good) {
        hd_names_close(names);
        hd_fail(error, HD_ERR_FORMAT, "%s, line %u: not a line of a file that 'heddle names' wrote",
                name, line);
        return NULL;
    }
    if (names->entry.size > 0)
        qsort(names->entry.data, names->entry.size, sizeof names->entry.data[0], by_place);
    return names;
}

struct hd_names *hd_names_open(const char *path, struct hd_error *error) {
    size_t length;
    char *text = hd_whole_file_read(path, LARGEST, &length, error);
    if (text == NULL) return NULL;
    struct hd_names *names = hd_names_read(path, text, length, error);
    free(text);
    return names;
}

char *hd_names_beside(const char *program) {
    if (program == NULL || *program == '\0') return NULL;
    char *path = hd_format("%s.names", program);
    if (access(path, R_OK) == 0) return path;
    free(path);
    return NULL;
}

uint32_t hd_names_count(const struct hd_names *names) { return (uint32_t)names->entry.size; }

void hd_names_close(struct hd_names *names) {
    if (names == NULL) return;
    hd_intern_free(&names->text);
    hd_vector_free(&names->file);
    hd_vector_free(&names->entry);
    free(names);
}

/* ---- finding
 * --------------------------------------------------------------------------------------- */

/* How many trailing directories two paths share, the name included; 0 if the names differ. */
static unsigned shared_end(const char *a, const char *b) {
    size_t x = strlen(a), y = strlen(b);
    unsigned parts = 0;
    while (x > 0 && y > 0 && a[x - 1] == b[y - 1]) {
        x--;
        y--;
        if (a[x] == '/') parts++;
    }
    bool left = x == 0 || a[x - 1] == '/', right = y == 0 || b[y - 1] == '/';
    if (left && right && (x == 0 || y == 0)) parts++;
    return parts;
}

/* The file with that path, or the only one whose path ends most like it: debug information may know
 * it by another directory. */
static uint32_t find_file(const struct hd_names *names, const char *path) {
    uint32_t best = UINT32_MAX;
    unsigned most = 0;
    bool unique = false;
    for (size_t i = 0; i < names->file.size; i++) {
        const char *known = names->text.name.data[names->file.data[i]];
        if (strcmp(known, path) == 0) return (uint32_t)i;
        unsigned parts = shared_end(known, path);
        if (parts == 0 || parts < most) continue;
        unique = parts > most;
        most = parts;
        best = (uint32_t)i;
    }
    return unique ? best : UINT32_MAX;
}

/* Smaller is better. */
#define ELSEWHERE (UINT32_MAX - 1)
static uint32_t distance(const struct entry *entry, uint32_t column) {
    if (entry->column == column) return 0;
    if (column < entry->begin || column > entry->end) return ELSEWHERE;
    return (uint32_t)(entry->end - entry->begin) + 1;
}

bool hd_names_find(const struct hd_names *names, const char *file, uint32_t line, uint32_t column,
                   bool write, struct hd_name *name) {
    uint32_t number_of_file = find_file(names, file);
    if (number_of_file == UINT32_MAX) return false;
    size_t low = 0, high = names->entry.size;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct entry *entry = &names->entry.data[middle];
        if (entry->file < number_of_file || (entry->file == number_of_file && entry->line < line))
            low = middle + 1;
        else
            high = middle;
    }
    /* Where no expression is at the column (compilers put some accesses where the statement
     * begins), all of the line must agree. */
    uint32_t best = UINT32_MAX, nearest = UINT32_MAX;
    bool clear = true;
    for (size_t i = low; i < names->entry.size; i++) {
        const struct entry *entry = &names->entry.data[i];
        if (entry->file != number_of_file || entry->line != line) break;
        if ((entry->mode & (write ? 2 : 1)) == 0) continue;
        uint32_t away = distance(entry, column);
        if (away > nearest) continue;
        if (away == nearest && entry->expression != names->entry.data[best].expression)
            clear = false;
        else if (away < nearest)
            clear = true;
        nearest = away;
        best = (uint32_t)i;
    }
    if (nearest == UINT32_MAX || !clear) return false;
    name->expression = names->text.name.data[names->entry.data[best].expression];
    name->variable = names->text.name.data[names->entry.data[best].variable];
    return true;
}
