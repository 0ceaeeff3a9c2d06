/* Any bytes as the text form of a program: refused with a message, or read as a program that is
 * written, read and written again as the same text, that has sound control flow graphs and whose
 * calls are resolved. */
#include "source/cfg.h"
#include "source/names.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_graphs(const struct hd_source *source) {
    for (uint32_t f = 0; f < source->function.size; f++) {
        struct hd_cfg cfg;
        if ((source->function.data[f].flags & HD_FUNCTION_BODY) == 0) continue;
        hd_cfg_build(source, f, &cfg);
        for (uint32_t i = 0; i < source->function.data[f].steps.count; i++)
            if (cfg.block_of[i] >= cfg.blocks) abort();
        hd_cfg_free(&cfg);
    }
}

static void check_use(struct hd_source *source) {
    char name[100];
    uint32_t count;
    hd_source_resolve(source);
    for (size_t i = 0; i < source->operation.size; i++)
        hd_source_path_name(source, source->operation.data[i].path, name, sizeof name);
    for (size_t i = 0; i < source->path.size; i++)
        hd_source_path_name(source, (uint32_t)i, name, sizeof name);
    free(hd_source_names(source, &count));
    hd_source_closing_line(source, name, sizeof name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct hd_source source = {0}, again = {0}, third = {0};
    struct hd_error error;
    error.message[0] = '\0';
    if (!hd_source_read_text(&source, "input", (const char *)data, size, &error)) {
        if (error.message[0] == '\0') abort();
        hd_source_free(&source);
        return 0;
    }
    size_t length, length_again;
    char *first = hd_source_write_text(&source, &length);
    if (!hd_source_read_text(&again, "written", first, length, &error)) abort();
    char *second = hd_source_write_text(&again, &length);
    if (!hd_source_read_text(&third, "written again", second, length, &error)) abort();
    char *last = hd_source_write_text(&third, &length_again);
    if (length != length_again || strcmp(second, last) != 0) abort();
    check_graphs(&source);
    check_use(&source);
    free(first);
    free(second);
    free(last);
    hd_source_free(&source);
    hd_source_free(&again);
    hd_source_free(&third);
    return 0;
}
