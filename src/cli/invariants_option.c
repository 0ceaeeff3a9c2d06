/* --invariants: see invariants_option.h. */
#include "cli/invariants_option.h"

#include "cli/output.h"
#include "cli/store_option.h"

#include <string.h>

static bool read_kept(const char *target, const char *text, size_t bytes, void *context,
                      struct hd_error *error) {
    return hd_invariants_read(text, bytes, target, context, error);
}

static bool use_store(const char *command, const char *path, const char *project,
                      const char *program, struct hd_invariants *invariants) {
    if (!hd_store_option_kept(command, path, project, HD_STORE_INVARIANTS, program, read_kept,
                              invariants))
        return false;
    if (invariants->runs > 0) return true;
    hd_complain(command, "the store %s has learned nothing of %s: `heddle learn --store` does it",
                path, program);
    hd_invariants_free(invariants);
    return false;
}

bool hd_invariants_option_use(const char *command, const char *path, const char *project,
                              const char *program, struct hd_invariants *invariants) {
    struct hd_error error;
    if (path == NULL) return true;
    const char *slash = strrchr(program, '/');
    if (slash != NULL) program = slash + 1;
    if (hd_store_looks_like_one(path))
        return use_store(command, path, project, program, invariants);
    if (hd_invariants_load(path, invariants, &error)) {
        if (hd_invariants_fit(invariants, path, program, &error)) return true;
        hd_invariants_free(invariants);
    }
    hd_complain_error(command, &error);
    return false;
}
