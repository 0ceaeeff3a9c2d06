/* --invariants, the same in all commands that look for what breaks them. */
#ifndef HEDDLE_CLI_INVARIANTS_OPTION_H
#define HEDDLE_CLI_INVARIANTS_OPTION_H

#include "cli/options.h"
#include "learn/invariants.h"

#define HD_INVARIANTS_OPTION(pointer)           \
    HD_TEXT("invariants", 'i', "FILE", pointer, \
            "what is meant to be atomic, as heddle learn wrote it (see heddle-learn(1))")

/* Reads the file, which must be about `program` (a path or a file name), or what a store has
 * learned of it in a project (NULL: default). Complains and returns false if it can't be used; then
 * nothing is held. With `path` NULL nothing is read. */
bool hd_invariants_option_use(const char *command, const char *path, const char *project,
                              const char *program, struct hd_invariants *invariants);

#endif
