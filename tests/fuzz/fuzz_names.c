/* Any bytes as a file of names: refused with a message, or read so that every question has an
 * answer or none. */
#include "trace/names.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct hd_error error;
    error.message[0] = '\0';
    struct hd_names *names = hd_names_read("input", (const char *)data, size, &error);
    if (names == NULL) {
        if (error.message[0] == '\0') abort();
        return 0;
    }
    for (uint32_t line = 0; line < 20; line++)
        for (uint32_t column = 0; column < 30; column++) {
            struct hd_name name;
            if (!hd_names_find(names, "/src/app/daemon.c", line, column, column % 2 == 0, &name))
                continue;
            if (strlen(name.expression) > size || strlen(name.variable) > size) abort();
        }
    hd_names_close(names);
    return 0;
}
