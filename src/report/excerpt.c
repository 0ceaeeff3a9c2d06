/* See excerpt.h. */
#include "report/excerpt.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "base/whole_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_BYTES (16u << 20)
#define MOST_COLUMNS 160u
#define TAB 8u

/* ---- files ---------------------------------------------------------------------------------- */

static bool is_wanted(const struct hd_excerpts *excerpts, const char *path) {
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return false;
    return excerpts->newest == 0 || status.st_mtime <= excerpts->newest;
}

/* The index of a file that was read, or could not be. */
static unsigned open_file(struct hd_excerpts *excerpts, const char *path) {
    for (unsigned i = 0; i < HD_EXCERPT_FILES; i++)
        if (excerpts->file[i].path != NULL && strcmp(excerpts->file[i].path, path) == 0) return i;
    unsigned index = excerpts->next++ % HD_EXCERPT_FILES;
    free(excerpts->file[index].path);
    free(excerpts->file[index].text);
    excerpts->file[index].path = hd_strdup(path);
    excerpts->file[index].text =
        is_wanted(excerpts, path)
            ? hd_whole_file_read(path, MOST_BYTES, &excerpts->file[index].bytes, NULL)
            : NULL;
    return index;
}

void hd_excerpts_free(struct hd_excerpts *excerpts) {
    for (unsigned i = 0; i < HD_EXCERPT_FILES; i++) {
        free(excerpts->file[i].path);
        free(excerpts->file[i].text);
    }
    *excerpts = (struct hd_excerpts){.newest = 0};
}

/* The line, from 1, NUL-terminated and malloc'ed; NULL if there is none. */
static char *find_line(const char *text, size_t bytes, uint32_t line) {
    const char *end = text + bytes;
    for (; line > 1 && text < end; line--) {
        text = memchr(text, '\n', (size_t)(end - text));
        if (text == NULL) return NULL;
        text++;
    }
    if (line != 1 || text >= end) return NULL;
    const char *stop = memchr(text, '\n', (size_t)(end - text));
    size_t length = (size_t)((stop != NULL ? stop : end) - text);
    while (length > 0 && strchr("\r \t", text[length - 1]) != NULL) length--;
    return hd_strndup(text, length);
}

/* ---- the line ------------------------------------------------------------------------------- */

/* Would a terminal do something else than show it, or show what follows in another order? */
static bool is_dangerous(uint32_t code) {
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200b && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) ||
           code == 0xfeff;
}

/* One character of the line as it is shown; how many bytes of it and columns it took. */
static size_t show(const char *at, unsigned column, char text[32], unsigned *columns) {
    uint32_t code = 0;
    size_t length = hd_utf8_length(at, &code);
    if (*at == '\t') {
        *columns = TAB - column % TAB;
        snprintf(text, 32, "%*s", (int)*columns, "");
        return 1;
    }
    if (length == 0 || is_dangerous(code)) {
        bool byte = length <= 1;
        *columns = (unsigned)snprintf(text, 32, byte ? "\\x%02x" : "\\u%04x",
                                      byte ? (unsigned)(unsigned char)*at : (unsigned)code);
        return byte ? 1 : length;
    }
    memcpy(text, at, length);
    text[length] = '\0';
    *columns = 1;
    return length;
}

void hd_excerpt_print(struct hd_excerpts *excerpts, FILE *out, unsigned indent, const char *path,
                      uint32_t line, uint32_t column, const char *style, const char *off) {
    unsigned index = open_file(excerpts, path);
    if (line == 0 || excerpts->file[index].text == NULL) return;
    char *source = find_line(excerpts->file[index].text, excerpts->file[index].bytes, line);
    if (source == NULL || *source == '\0') {
        free(source);
        return;
    }
    unsigned shown = 0, mark = 0;
    bool marked = false;
    fprintf(out, "%*s%4u | ", (int)indent, "", line);
    for (const char *at = source; *at != '\0' && shown < MOST_COLUMNS;) {
        char text[32];
        unsigned columns;
        if (column > 0 && (size_t)(at - source) + 1 == column) {
            mark = shown;
            marked = true;
        }
        at += show(at, shown, text, &columns);
        shown += columns;
        fputs(text, out);
    }
    fputc('\n', out);
    if (marked) fprintf(out, "%*s     | %*s%s^%s\n", (int)indent, "", (int)mark, "", style, off);
    free(source);
}

char *hd_excerpt_line(struct hd_excerpts *excerpts, const char *path, uint32_t line) {
    unsigned index = open_file(excerpts, path), shown = 0;
    if (line == 0 || excerpts->file[index].text == NULL) return NULL;
    char *source = find_line(excerpts->file[index].text, excerpts->file[index].bytes, line);
    if (source == NULL) return NULL;
    char line_shown[4 * MOST_COLUMNS + 64], *end = line_shown;
    for (const char *at = source; *at != '\0' && shown < MOST_COLUMNS;) {
        unsigned columns;
        size_t room = (size_t)(line_shown + sizeof line_shown - end);
        if (room < 33) break;
        at += show(at, shown, end, &columns);
        end += strlen(end);
        shown += columns;
    }
    *end = '\0';
    free(source);
    return hd_strdup(line_shown);
}

bool hd_excerpt_changed(const struct hd_excerpts *excerpts, const char *path) {
    struct stat status;
    return excerpts->newest != 0 && stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
           status.st_mtime > excerpts->newest;
}
