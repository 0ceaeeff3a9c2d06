/* Any bytes as a file of invariants: refused with a message of one line that names the file, or
 * read as invariants that are written, read and written again as the same text, and that merge with
 * themselves. */
#include "learn/invariants.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct hd_invariants set, again;
    struct hd_error error;
    error.message[0] = '\0';
    if (!hd_invariants_read((const char *)data, size, "input", &set, &error)) {
        if (strncmp(error.message, "input", 5) != 0 || strchr(error.message, '\n') != NULL) abort();
        return 0;
    }
    char *first = hd_invariants_write(&set);
    if (!hd_invariants_read(first, strlen(first), "written", &again, &error)) abort();
    if (again.list.size != set.list.size) abort();
    char *second = hd_invariants_write(&again);
    if (strcmp(first, second) != 0) abort();
    if (!hd_invariants_merge(&again, &set, "input", &error)) abort();
    if (again.list.size != set.list.size) abort();
    free(first);
    free(second);
    hd_invariants_free(&set);
    hd_invariants_free(&again);
    return 0;
}
