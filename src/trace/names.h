/* Names from source code for what a program does at run time (`heddle names` writes the file): for
 * a file, line and column, the expression that is accessed there, with its struct and field. */
#ifndef HEDDLE_TRACE_NAMES_H
#define HEDDLE_TRACE_NAMES_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

struct hd_names;

struct hd_name {
    const char *expression; /* `daemon->shutdown` */
    const char *variable;   /* `daemon::shutdown`, `counter`; "" if it has none */
};

/* NULL: the error says why. */
struct hd_names *hd_names_open(const char *path, struct hd_error *error);
/* From text, for tests: `name` is for messages. */
struct hd_names *hd_names_read(const char *name, const char *text, size_t length,
                               struct hd_error *error);
/* The file beside a program (`app.names` beside `app`); NULL if there is none. malloc'ed. */
char *hd_names_beside(const char *program);
/* What is read or written there. If no expression is at the column (0: it is not known), all
 * accesses of the line must have one name. False if there is none, or it is not clear which. */
bool hd_names_find(const struct hd_names *names, const char *file, uint32_t line, uint32_t column,
                   bool write, struct hd_name *name);
uint32_t hd_names_count(const struct hd_names *names);
void hd_names_close(struct hd_names *names);

#endif
