/* Programs of source code are put together here: see build.h. */
#include "source/build.h"

#include <assert.h>
#include <string.h>

uint32_t hd_source_text_add_bytes(struct hd_source *source, const char *bytes, size_t length) {
    return hd_intern(&source->text, bytes, length);
}

uint32_t hd_source_text_add(struct hd_source *source, const char *text) {
    return hd_source_text_add_bytes(source, text, strlen(text));
}

uint32_t hd_source_file_add(struct hd_source *source, uint32_t path) {
    uint32_t *slot = hd_map_slot(&source->file_by_path, path, (uint32_t)source->file.size);
    if (*slot == source->file.size) {
        struct hd_source_file file = {.path = path, .header = true};
        hd_vector_push(&source->file, file);
    }
    return *slot;
}

uint32_t hd_source_record_add(struct hd_source *source, uint32_t key, uint32_t name) {
    uint32_t *slot = hd_map_slot(&source->record_by_key, key, (uint32_t)source->record.size);
    if (*slot == source->record.size) {
        struct hd_source_record record = {.name = name, .key = key, .file = HD_SOURCE_NONE};
        hd_vector_push(&source->record, record);
        hd_map_slot(&source->record_by_name, name, *slot); /* the first keeps it */
    }
    return *slot;
}

uint32_t hd_source_variable_add(struct hd_source *source, uint8_t kind, uint32_t key,
                                uint32_t name) {
    uint32_t *slot = hd_map_slot(&source->variable_by_key, key, (uint32_t)source->variable.size);
    if (*slot == source->variable.size) {
        struct hd_source_variable variable = {.kind = kind,
                                              .name = name,
                                              .key = key,
                                              .function = HD_SOURCE_NONE,
                                              .record = HD_SOURCE_NONE,
                                              .type = HD_SOURCE_NONE,
                                              .file = HD_SOURCE_NONE};
        hd_vector_push(&source->variable, variable);
    }
    return *slot;
}

uint32_t hd_source_local_add(struct hd_source *source, uint8_t kind, uint32_t function,
                             uint32_t name) {
    struct hd_source_variable variable = {.kind = kind,
                                          .name = name,
                                          .key = HD_SOURCE_NONE,
                                          .function = function,
                                          .record = HD_SOURCE_NONE,
                                          .type = HD_SOURCE_NONE,
                                          .file = source->function.data[function].file};
    hd_vector_push(&source->variable, variable);
    return (uint32_t)source->variable.size - 1;
}

static uint32_t push_function(struct hd_source *source, uint32_t key, uint32_t name) {
    struct hd_source_function function = {.name = name,
                                          .key = key,
                                          .type = HD_SOURCE_NONE,
                                          .unit = HD_SOURCE_NONE,
                                          .file = HD_SOURCE_NONE,
                                          .annotations = HD_SOURCE_NONE,
                                          .same_key = HD_SOURCE_NONE};
    hd_vector_push(&source->function, function);
    return (uint32_t)source->function.size - 1;
}

uint32_t hd_source_function_add(struct hd_source *source, uint32_t key, uint32_t name) {
    uint32_t *slot = hd_map_slot(&source->function_by_key, key, (uint32_t)source->function.size);
    if (*slot == source->function.size) push_function(source, key, name);
    return *slot;
}

uint32_t hd_source_function_define(struct hd_source *source, uint32_t key, uint32_t name,
                                   uint32_t file, uint32_t line) {
    uint32_t index = hd_source_function_add(source, key, name);
    for (;;) {
        struct hd_source_function *function = &source->function.data[index];
        if ((function->flags & HD_FUNCTION_BODY) == 0) break;
        if (function->file == file && function->line == line) return HD_SOURCE_NONE;
        if (function->same_key == HD_SOURCE_NONE) {
            uint32_t other = push_function(source, key, name);
            source->function.data[index].same_key = other;
            index = other;
            break;
        }
        index = function->same_key;
    }
    struct hd_source_function *function = &source->function.data[index];
    function->file = file;
    function->line = line;
    function->flags |= HD_FUNCTION_BODY;
    return index;
}

/* Kind, parent and `of` fit into one key exactly. */
uint32_t hd_source_path_add(struct hd_source *source, uint8_t kind, uint32_t parent, uint32_t of) {
    bool root = kind <= HD_PATH_UNKNOWN;
    assert(root || parent < source->path.size);
    assert(source->path.size < (uint32_t)1 << 29);
    uint64_t key = (uint64_t)kind << 61 | (uint64_t)(root ? 0 : parent) << 32 | of;
    uint32_t *slot = hd_map_slot(&source->path_by_parts, key, (uint32_t)source->path.size);
    if (*slot == source->path.size) {
        struct hd_source_path path = {
            .kind = kind, .parent = root ? HD_SOURCE_NONE : parent, .of = of};
        hd_vector_push(&source->path, path);
    }
    return *slot;
}

uint32_t hd_source_path_variable(const struct hd_source *source, uint32_t path, bool *indirect) {
    *indirect = false;
    for (; path != HD_SOURCE_NONE; path = source->path.data[path].parent) {
        const struct hd_source_path *at = &source->path.data[path];
        if (at->kind == HD_PATH_VARIABLE || at->kind == HD_PATH_FIELD) return at->of;
        if (at->kind == HD_PATH_DEREF) *indirect = true;
    }
    return HD_SOURCE_NONE;
}

uint32_t hd_source_node_add(struct hd_source *source, uint8_t kind, uint8_t role, uint32_t parent,
                            uint32_t *last_child) {
    struct hd_source_node node = {.kind = kind,
                                  .role = role,
                                  .parent = parent,
                                  .first_child = HD_SOURCE_NONE,
                                  .next = HD_SOURCE_NONE,
                                  .file = HD_SOURCE_NONE,
                                  .label = HD_SOURCE_NONE};
    uint32_t index = (uint32_t)source->node.size;
    hd_vector_push(&source->node, node);
    if (parent != HD_SOURCE_NONE) {
        if (*last_child == HD_SOURCE_NONE)
            source->node.data[parent].first_child = index;
        else
            source->node.data[*last_child].next = index;
        *last_child = index;
    }
    return index;
}

struct hd_source_range hd_source_links_add(struct hd_source *source, const uint32_t *item,
                                           size_t count) {
    struct hd_source_range range = {.first = (uint32_t)source->link.size, .count = (uint32_t)count};
    for (size_t i = 0; i < count; i++) hd_vector_push(&source->link, item[i]);
    return range;
}

void hd_source_free(struct hd_source *source) {
    hd_intern_free(&source->text);
    hd_vector_free(&source->unit);
    hd_vector_free(&source->file);
    hd_vector_free(&source->record);
    hd_vector_free(&source->variable);
    hd_vector_free(&source->path);
    hd_vector_free(&source->function);
    hd_vector_free(&source->node);
    hd_vector_free(&source->step);
    hd_vector_free(&source->argument);
    hd_vector_free(&source->link);
    hd_vector_free(&source->operation);
    hd_vector_free(&source->declared);
    hd_map_free(&source->function_by_key);
    hd_map_free(&source->variable_by_key);
    hd_map_free(&source->record_by_key);
    hd_map_free(&source->record_by_name);
    hd_map_free(&source->file_by_path);
    hd_map_free(&source->path_by_parts);
}
