/* Names from source code for memory that has none of its own (trace/names.h): where a program's
 * access stands in its source says `daemon->shutdown` of what would be "heap#1+492". */
#include "model/describe_place.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Given by the user, for all that is described in this process; NULL: those beside the program. */
static struct hd_names *given;

bool hd_describe_use_names(const char *path, struct hd_error *error) {
    struct hd_names *names = hd_names_open(path, error);
    if (names == NULL) return false;
    hd_names_close(given);
    given = names;
    return true;
}

/* A file that can't be read is no reason not to report; without it nothing has a name. */
static const struct hd_names *names_of(struct hd_describe *describe) {
    if (given != NULL) return given;
    if (describe->looked_for_names) return describe->names;
    describe->looked_for_names = true;
    for (uint32_t i = 0; i < describe->trace->modules && describe->names == NULL; i++) {
        char *path = hd_names_beside(describe->trace->module[i].path);
        struct hd_error ignored;
        if (path != NULL) describe->names = hd_names_open(path, &ignored);
        free(path);
    }
    return describe->names;
}

bool hd_describe_has_names(struct hd_describe *describe) { return names_of(describe) != NULL; }

const struct hd_name *hd_describe_source_name(struct hd_describe *describe, uint32_t event) {
    const struct hd_names *names = names_of(describe);
    if (names == NULL) return NULL;
    const struct hd_frame *frame = hd_describe_frame(describe, event);
    bool write = hd_model_is_write(describe->model, event);
    if (frame->file == NULL || frame->line == 0) return NULL;
    /* Frames never move, and are even. */
    uint64_t key = (uint64_t)(uintptr_t)frame | write;
    uint32_t *slot = hd_map_slot(&describe->source_names, key, HD_NONE);
    if (*slot == HD_NONE) {
        struct hd_name name = {0};
        char absolute[PATH_MAX];
        const char *file = realpath(frame->file, absolute) != NULL ? absolute : frame->file;
        if (!hd_names_find(names, file, frame->line, frame->column, write, &name))
            name.expression = NULL;
        *slot = (uint32_t)describe->source_name.size;
        hd_vector_push(&describe->source_name, name);
    }
    const struct hd_name *name = &describe->source_name.data[*slot];
    return name->expression != NULL ? name : NULL;
}
