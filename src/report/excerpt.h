/* The source line of a place, as compilers print it, with its column marked:
 *
 *      14 |     counter = value + 1;
 *         |             ^
 *
 * Source text is somebody else's: characters that a terminal would obey, or that would show it in
 * another order, are written as numbers. */
#ifndef HEDDLE_REPORT_EXCERPT_H
#define HEDDLE_REPORT_EXCERPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* Files that were read, so that many places of few files are cheap. A zeroed one is empty. */
#define HD_EXCERPT_FILES 4u
struct hd_excerpts {
    time_t newest; /* files that changed later are not what was run: not shown; 0: any */
    struct {
        char *path, *text; /* text NULL: it can't be read */
        size_t bytes;
    } file[HD_EXCERPT_FILES];
    unsigned next;
};

/* Prints the line, `indent` columns from the left, and a mark under the column (0: no mark) in the
 * given style. Nothing if the file or the line is not there. */
void hd_excerpt_print(struct hd_excerpts *excerpts, FILE *out, unsigned indent, const char *path,
                      uint32_t line, uint32_t column, const char *style, const char *off);
/* The line without the mark, malloc'ed; NULL if the file or the line is not there, "" if it is
 * blank. */
char *hd_excerpt_line(struct hd_excerpts *excerpts, const char *path, uint32_t line);
/* Is there a file that is not shown because it changed later? */
bool hd_excerpt_changed(const struct hd_excerpts *excerpts, const char *path);
void hd_excerpts_free(struct hd_excerpts *excerpts);

#endif
