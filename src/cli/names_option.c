/* --names: see names_option.h. */
#include "cli/names_option.h"

#include "cli/output.h"
#include "model/describe.h"

bool hd_names_option_use(const char *command, const char *path) {
    struct hd_error error;
    if (path == NULL || hd_describe_use_names(path, &error)) return true;
    hd_complain_error(command, &error);
    return false;
}
