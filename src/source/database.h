/* Which translation units there are, and the command of each: from compile_commands.json, or from
 * files and flags. */
#ifndef HEDDLE_SOURCE_DATABASE_H
#define HEDDLE_SOURCE_DATABASE_H

#include "base/arena.h"
#include "source/source.h"

struct hd_compile_command {
    const char *directory, *file; /* the file as the command names it */
    const char *path;             /* canonical, or as good as it gets for a file that is missing */
    const char **argument;        /* the compiler first */
    unsigned arguments;
};

struct hd_database {
    HD_VECTOR(struct hd_compile_command) command;
    struct hd_arena arena;
};

/* The units of a request, in the order of the database; what is no C or C++ is left out, and a
 * command that is there twice is there once. */
bool hd_database_open(const struct hd_source_request *request, struct hd_database *database,
                      struct hd_error *error);
/* The same from the text of a database, for tests. */
bool hd_database_read(const struct hd_source_request *request, const char *name, const char *text,
                      size_t length, struct hd_database *database, struct hd_error *error);
void hd_database_free(struct hd_database *database);

#endif
