/* --invariants: see invariants_option.h. */
#include "cli/invariants_option.h"

#include "cli/output.h"

#include <string.h>

bool hd_invariants_option_use(const char *command, const char *path, const char *program,
                              struct hd_invariants *invariants) {
    struct hd_error error;
    if (path == NULL) return true;
    const char *slash = strrchr(program, '/');
    if (hd_invariants_load(path, invariants, &error)) {
        if (hd_invariants_fit(invariants, path, slash != NULL ? slash + 1 : program, &error))
            return true;
        hd_invariants_free(invariants);
    }
    hd_complain_error(command, &error);
    return false;
}
