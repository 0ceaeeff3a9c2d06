/* What each function of a program reads and writes: the Acc_Sets of the dissertation, section
 * 5.3.2. Variables are globals and fields, whatever the object. A function has its own (direct)
 * accesses, and those of the functions that it calls, at the line of the call (indirect ones); no
 * deeper. */
#ifndef HEDDLE_MINE_ACCESS_SETS_H
#define HEDDLE_MINE_ACCESS_SETS_H

#include "base/vector.h"

#include <stdint.h>

struct hd_source;

enum hd_mine_mode {
    HD_MINE_READ = 1,
    HD_MINE_WRITE = 2,
    HD_MINE_ANY = 3,  /* in a question: either; in an access: both, as of `x++` */
    HD_MINE_TOUCH = 4 /* its address is taken, or its whole struct is copied or cleared */
};

enum hd_access_by {
    HD_BY_TEXT,  /* the function's own text: a direct access */
    HD_BY_MACRO, /* a macro that it uses; many functions use the same one */
    HD_BY_CALL   /* a function that it calls */
};

/* A touch says that the function deals with the variable, but supports no correlation. */
struct hd_access {
    uint32_t variable, line;
    uint8_t mode; /* enum hd_mine_mode, as bits */
    uint8_t by;   /* enum hd_access_by */
};

/* The accesses of function f are access[start[f] .. start[f + 1]), sorted by variable and line.
 * Functions and variables are numbered for this purpose; `function` and `variable` have their
 * numbers in the source. */
struct hd_access_sets {
    uint32_t functions, variables;
    HD_VECTOR(uint32_t) start;
    HD_VECTOR(struct hd_access) access;
    HD_VECTOR(uint32_t) function, variable;
    /* calls, each pair once: those of f are callee[callee_start[f] .. callee_start[f + 1]) */
    HD_VECTOR(uint32_t) callee_start, callee, caller_start, caller;
};

void hd_access_sets_build(const struct hd_source *source, struct hd_access_sets *sets);
void hd_access_sets_free(struct hd_access_sets *sets);

/* For those who fill `access`, `callee` and their starts by themselves: sorts and merges the
 * accesses of each function, and makes `caller` of `callee`. */
void hd_access_sets_finish(struct hd_access_sets *sets);

/* A function's accesses to a variable: first and number, in `access`. */
uint32_t hd_access_sets_find(const struct hd_access_sets *sets, uint32_t function,
                             uint32_t variable, uint32_t *first);

#endif
