/* --correlations, the same in all commands that look at runs: rules of `heddle mine`, as plain
 * names. */
#ifndef HEDDLE_CLI_CORRELATIONS_OPTION_H
#define HEDDLE_CLI_CORRELATIONS_OPTION_H

#include "cli/options.h"
#include "facts/correlated.h"

#define HD_CORRELATIONS_OPTION(pointer)         \
    HD_TEXT("correlations", 0, "FILE", pointer, \
            "variables that belong together, as heddle mine wrote them (see heddle-mine(1))")

/* Fills *rules, from a file or from all that a store has of a project (NULL: default). Complains
 * and returns false if it can't be used or has no rule. */
bool hd_correlations_option_use(const char *command, const char *path, const char *project,
                                struct hd_correlated_rules *rules);

#endif
