/* Any bytes as a correlation file: refused with a message that names the line, or read as rules
 * that are written, read and written again as the same text. */
#include "mine/corr_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct hd_corr_file file, again;
    struct hd_error error;
    error.message[0] = '\0';
    if (!hd_corr_read((const char *)data, size, "input", &file, &error)) {
        if (strncmp(error.message, "input:", 6) != 0 || strchr(error.message, '\n') != NULL)
            abort();
        return 0;
    }
    char *first = hd_corr_write(&file);
    if (!hd_corr_read(first, strlen(first), "written", &again, &error)) abort();
    if (again.rule.size != file.rule.size || again.set.size != file.set.size) abort();
    char *second = hd_corr_write(&again);
    if (strcmp(first, second) != 0) abort();
    free(first);
    free(second);
    hd_corr_free(&file);
    hd_corr_free(&again);
    return 0;
}
