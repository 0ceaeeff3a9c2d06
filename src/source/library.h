/* What functions of the C library, of pthread and of C11 threads do, as far as the analyses of
 * source code need to know. */
#ifndef HEDDLE_SOURCE_LIBRARY_H
#define HEDDLE_SOURCE_LIBRARY_H

#include "source/source.h"

/* What a library function does to the memory that its arguments point to: a letter for each
 * argument, r (reads), w (writes), b (both), - (nothing); the last letter goes for all further
 * arguments. NULL: not known. Builtin and checked forms (__builtin_memcpy, __memcpy_chk) count as
 * the plain one. */
const char *hd_library_effects(const char *name);

/* Functions that do not return. */
bool hd_library_no_return(const char *name);

struct hd_library_operation {
    const char *name;
    uint8_t kind;     /* enum hd_operation_kind */
    uint8_t object;   /* index of the argument with the lock; CREATE: with the entry function */
    uint8_t argument; /* CREATE: what the thread gets */
    bool shared;
};

/* NULL if it is no operation on locks or threads. */
const struct hd_library_operation *hd_library_operation(const char *name);

#endif
