/* Feeds the reader of coverage files whatever comes. What it takes must come back the same. */
#include "cover/cover.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct hd_cover cover, again;
    struct hd_error error = {0};
    char *copy = malloc(size + 1); /* the reader is given text with a NUL behind it */
    if (copy == NULL) return 0;
    memcpy(copy, data, size);
    copy[size] = '\0';
    if (!hd_cover_read(copy, size, "input", &cover, &error)) {
        if (error.code == HD_OK || error.message[0] == '\0') abort();
        free(copy);
        return 0;
    }
    free(copy);
    char *text = hd_cover_write(&cover);
    if (!hd_cover_read(text, strlen(text), "again", &again, &error)) abort();
    for (unsigned c = HD_COVER_KEPT; c < HD_CRITERION_COUNT; c++) {
        uint32_t open, *list = hd_cover_open(&again, c, &open);
        struct hd_cover_count a = hd_cover_count(&cover, c), b = hd_cover_count(&again, c);
        if (a.properties != b.properties || a.covered != b.covered || a.infeasible != b.infeasible)
            abort();
        free(list);
    }
    free(text);
    hd_cover_merge(&cover, &again);
    hd_cover_free(&cover);
    hd_cover_free(&again);
    return 0;
}
