/* Names for run time: see names.h. */
#include "source/names.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct place {
    uint32_t file, step;
};

struct names {
    const struct hd_source *source;
    HD_VECTOR(struct place) place;
    HD_VECTOR(char) out;
};

static bool may_be_shared(const struct hd_source *source, const struct hd_source_step *step) {
    if (step->kind != HD_STEP_ACCESS || step->mode == HD_ACCESS_ADDRESS) return false;
    if ((step->flags & HD_STEP_INDIRECT) != 0) return true;
    uint32_t root = hd_source_path_root(source, step->path);
    if (root == HD_SOURCE_NONE) return step->variable != HD_SOURCE_NONE;
    const struct hd_source_variable *variable = &source->variable.data[root];
    if (variable->kind == HD_VARIABLE_GLOBAL) return true;
    /* p->x begins with a local, but is not in it. */
    for (uint32_t path = step->path; path != HD_SOURCE_NONE; path = source->path.data[path].parent)
        if (source->path.data[path].kind == HD_PATH_DEREF) return true;
    return (variable->flags & HD_VARIABLE_ADDRESS_TAKEN) != 0;
}

static void collect(struct names *names) {
    const struct hd_source *source = names->source;
    for (size_t f = 0; f < source->function.size; f++) {
        const struct hd_source_function *function = &source->function.data[f];
        if ((function->flags & HD_FUNCTION_BODY) == 0) continue;
        for (uint32_t i = 0; i < function->steps.count; i++) {
            const struct hd_source_step *step = &source->step.data[function->steps.first + i];
            if (!may_be_shared(source, step)) continue;
            struct place place = {.file = source->node.data[step->node].file,
                                  .step = function->steps.first + i};
            hd_vector_push(&names->place, place);
        }
    }
}

static const struct hd_source *compared; /* qsort has no argument for it */

static int by_place(const void *a, const void *b) {
    const struct place *x = a, *y = b;
    if (x->file != y->file) {
        const struct hd_source *source = compared;
        return strcmp(hd_source_text(source, source->file.data[x->file].path),
                      hd_source_text(source, source->file.data[y->file].path));
    }
    const struct hd_source_step *left = &compared->step.data[x->step];
    const struct hd_source_step *right = &compared->step.data[y->step];
    if (left->line != right->line) return left->line < right->line ? -1 : 1;
    if (left->column != right->column) return left->column < right->column ? -1 : 1;
    return x->step < y->step ? -1 : x->step > y->step;
}

static void add(struct names *names, const char *text) {
    size_t length = strlen(text);
    hd_vector_reserve(&names->out, length);
    memcpy(names->out.data + names->out.size, text, length);
    names->out.size += length;
}

/* Tabs and line ends part the fields of the file. */
static void add_field(struct names *names, const char *text) {
    size_t from = names->out.size;
    add(names, text);
    for (size_t i = from; i < names->out.size; i++)
        if (names->out.data[i] == '\t' || names->out.data[i] == '\n') names->out.data[i] = ' ';
}

static void add_entry(struct names *names, const struct hd_source_step *step) {
    const struct hd_source *source = names->source;
    static const char *const modes[] = {"", "r", "w", "b"};
    char expression[512], numbers[96];
    snprintf(numbers, sizeof numbers, "%u\t%u\t%u-%u\t%s\t", step->line, step->column, step->begin,
             step->end, modes[step->mode & 3]);
    add(names, numbers);
    add_field(names, hd_source_path_name(source, step->path, expression, sizeof expression));
    add(names, "\t");
    if (step->variable != HD_SOURCE_NONE)
        add_field(names, hd_source_text(source, source->variable.data[step->variable].name));
    add(names, "\n");
}

char *hd_source_names(const struct hd_source *source, uint32_t *count) {
    struct names names = {.source = source};
    uint32_t file = HD_SOURCE_NONE;
    collect(&names);
    compared = source;
    if (names.place.size > 0)
        qsort(names.place.data, names.place.size, sizeof names.place.data[0], by_place);
    add(&names, "heddle-names 1\n");
    for (size_t i = 0; i < names.place.size; i++) {
        if (names.place.data[i].file != file) {
            file = names.place.data[i].file;
            add(&names, "file\t");
            add_field(&names, hd_source_text(source, source->file.data[file].path));
            add(&names, "\n");
        }
        add_entry(&names, &source->step.data[names.place.data[i].step]);
    }
    hd_vector_push(&names.out, '\0');
    *count = (uint32_t)names.place.size;
    hd_vector_free(&names.place);
    return names.out.data;
}
