/* See explored.h. */
#include "cli/explored.h"

#include "base/alloc.h"

#include <string.h>

char *hd_explored_path(const char *program, const char *kind) {
    const char *name = strrchr(program, '/');
    return hd_format("%s.%s.json", name != NULL ? name + 1 : program, kind);
}
