/* C++ names as a programmer says them: no parameter list, no return type, no anonymous namespace.
 */
#ifndef HEDDLE_TRACE_SYMBOLS_DEMANGLE_H
#define HEDDLE_TRACE_SYMBOLS_DEMANGLE_H

#include "trace/symbols_pool.h"

#include <stdbool.h>

/* The name of a function or variable from its name in the symbol table. A name that is not mangled,
 * or a machine without a C++ runtime library to ask, gives the name as it is. */
const char *hd_demangle(struct hd_pool *pool, const char *symbol);
/* Whether hd_demangle would change the name. */
bool hd_demangle_can(const char *symbol);
/* Exposed for its tests: shortens a demangled name in place. */
void hd_demangle_shorten(char *name);

#endif
