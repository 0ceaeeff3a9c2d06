/* --names, the same in all commands that name memory. */
#ifndef HEDDLE_CLI_NAMES_OPTION_H
#define HEDDLE_CLI_NAMES_OPTION_H

#include "cli/options.h"

#define HD_NAMES_OPTION(pointer)         \
    HD_TEXT("names", 0, "FILE", pointer, \
            "names of memory, as heddle names wrote them (default: APP.names beside APP)")

/* NULL: nothing was given. Complains and returns false if the file can't be used. */
bool hd_names_option_use(const char *command, const char *path);

#endif
