/* How the variables and places of a program are called in files and reports. */
#ifndef HEDDLE_MINE_NAMES_H
#define HEDDLE_MINE_NAMES_H

#include "base/arena.h"
#include "mine/access_sets.h"

struct hd_source;

/* A zeroed one is empty. */
struct hd_mine_names {
    struct hd_arena arena;
    const char **name;  /* by variable of the access sets: unique, `struct::field@dir/file.c` if
                           several variables have the name */
    const char **field; /* the same, short: `field` */
    const char **group; /* its struct; "" for globals */
};

void hd_mine_names_make(const struct hd_source *source, const struct hd_access_sets *sets,
                        struct hd_mine_names *names);
void hd_mine_names_free(struct hd_mine_names *names);

/* The path of a function's file, without `base` if it is below that directory (NULL: whole). */
const char *hd_mine_path(const struct hd_source *source, uint32_t source_function,
                         const char *base);

#endif
