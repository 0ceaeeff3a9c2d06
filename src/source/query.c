/* Questions about a program: see source.h. */
#include "source/source.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static uint32_t text_of(const struct hd_source *source, const char *text) {
    return hd_intern_find(&source->text, text, strlen(text));
}

uint32_t hd_source_function_find(const struct hd_source *source, const char *key) {
    uint32_t text = text_of(source, key);
    if (text == HD_INTERN_NONE) return HD_SOURCE_NONE;
    uint32_t first = hd_map_get(&source->function_by_key, text, HD_SOURCE_NONE);
    for (uint32_t at = first; at != HD_SOURCE_NONE; at = source->function.data[at].same_key)
        if ((source->function.data[at].flags & HD_FUNCTION_BODY) != 0) return at;
    return first;
}

uint32_t hd_source_function_named(const struct hd_source *source, const char *name) {
    uint32_t text = text_of(source, name);
    for (size_t i = 0; text != HD_INTERN_NONE && i < source->function.size; i++)
        if (source->function.data[i].name == text) return (uint32_t)i;
    return HD_SOURCE_NONE;
}

uint32_t hd_source_variable_named(const struct hd_source *source, const char *name) {
    uint32_t text = text_of(source, name);
    for (size_t i = 0; text != HD_INTERN_NONE && i < source->variable.size; i++)
        if (source->variable.data[i].name == text) return (uint32_t)i;
    return HD_SOURCE_NONE;
}

uint32_t hd_source_record_find(const struct hd_source *source, uint32_t key_or_name) {
    uint32_t found = hd_map_get(&source->record_by_key, key_or_name, HD_SOURCE_NONE);
    if (found != HD_SOURCE_NONE) return found;
    return hd_map_get(&source->record_by_name, key_or_name, HD_SOURCE_NONE);
}

struct hd_source_range hd_source_operations_of(const struct hd_source *source, uint32_t step) {
    size_t low = 0, high = source->operation.size;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (source->operation.data[middle].step < step)
            low = middle + 1;
        else
            high = middle;
    }
    struct hd_source_range range = {.first = (uint32_t)low};
    while (low + range.count < source->operation.size &&
           source->operation.data[low + range.count].step == step)
        range.count++;
    return range;
}

bool hd_source_in_loop(const struct hd_source *source, uint32_t step) {
    uint32_t below = HD_SOURCE_NONE;
    for (uint32_t at = source->step.data[step].node; at != HD_SOURCE_NONE;
         below = at, at = source->node.data[at].parent) {
        const struct hd_source_node *node = &source->node.data[at];
        if (below == HD_SOURCE_NONE) continue;
        if (node->kind == HD_NODE_WHILE) return true;
        if (node->kind == HD_NODE_FOR && source->node.data[below].role != HD_ROLE_INIT) return true;
        if (node->kind == HD_NODE_DO) { /* do ... while (0) is none */
            uint32_t condition = source->node.data[node->first_child].next;
            if (source->node.data[condition].constant != HD_CONSTANT_FALSE) return true;
        }
    }
    return false;
}

const char *hd_source_relative(const struct hd_source *source, uint32_t file, const char *base) {
    if (file == HD_SOURCE_NONE) return "";
    const char *path = hd_source_text(source, source->file.data[file].path);
    size_t length = base != NULL ? strlen(base) : 0;
    return length > 0 && strncmp(path, base, length) == 0 && path[length] == '/' ? path + length + 1
                                                                                 : path;
}

/* ---- paths --------------------------------------------------------------------------------------
 */

struct name_buffer {
    char *text;
    size_t size, used;
};

static void add(struct name_buffer *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add(struct name_buffer *out, const char *format, ...) {
    va_list arguments;
    if (out->used + 1 >= out->size) return;
    va_start(arguments, format);
    int length = vsnprintf(out->text + out->used, out->size - out->used, format, arguments);
    va_end(arguments);
    if (length > 0) out->used += (size_t)length;
    if (out->used >= out->size) out->used = out->size - 1;
}

/* The part of `struct::field` behind the last ::. */
static const char *field_name(const struct hd_source *source, uint32_t variable) {
    const char *name = hd_source_text(source, source->variable.data[variable].name);
    for (const char *at = name; (at = strstr(at, "::")) != NULL; name = at) at += 2;
    return name;
}

/* Whether a dereference is that of a C++ reference, which is not written. */
static bool of_reference(const struct hd_source *source, uint32_t deref) {
    const struct hd_source_path *path = &source->path.data[source->path.data[deref].parent];
    if (path->kind != HD_PATH_VARIABLE) return false;
    const char *type = hd_source_text(source, source->variable.data[path->of].type);
    return *type != '\0' && type[strlen(type) - 1] == '&';
}

/* `implied`: the element behind it says ->, or [ ], which already mean the dereference. */
static void name_path(const struct hd_source *source, uint32_t index, bool implied,
                      struct name_buffer *out) {
    const struct hd_source_path *path = &source->path.data[index];
    switch (path->kind) {
    case HD_PATH_VARIABLE:
        add(out, "%s", hd_source_text(source, source->variable.data[path->of].name));
        break;
    case HD_PATH_RESULT:
        add(out, "%s()",
            path->of == HD_SOURCE_NONE
                ? "(call)"
                : hd_source_text(source, source->function.data[path->of].name));
        break;
    case HD_PATH_UNKNOWN:
        add(out, "(...)");
        break;
    case HD_PATH_FIELD: {
        bool arrow = source->path.data[path->parent].kind == HD_PATH_DEREF &&
                     !of_reference(source, path->parent);
        name_path(source, path->parent, true, out);
        add(out, "%s%s", arrow ? "->" : ".", field_name(source, path->of));
        break;
    }
    case HD_PATH_DEREF:
        if (implied) { /* (*p)->f: what is dereferenced is a dereference itself */
            bool again = source->path.data[path->parent].kind == HD_PATH_DEREF;
            if (again) add(out, "(");
            name_path(source, path->parent, false, out);
            if (again) add(out, ")");
            break;
        }
        if (!of_reference(source, index)) add(out, "*");
        name_path(source, path->parent, false, out);
        break;
    default:
        name_path(source, path->parent, true, out);
        add(out, "[%s]",
            *hd_source_text(source, path->of) == '\0' ? "..." : hd_source_text(source, path->of));
    }
}

const char *hd_source_path_name(const struct hd_source *source, uint32_t path, char *buffer,
                                size_t size) {
    struct name_buffer out = {.text = buffer, .size = size};
    buffer[0] = '\0';
    if (path != HD_SOURCE_NONE) name_path(source, path, false, &out);
    return buffer;
}

bool hd_source_path_exact(const struct hd_source *source, uint32_t path) {
    if (path == HD_SOURCE_NONE) return false;
    for (; path != HD_SOURCE_NONE; path = source->path.data[path].parent) {
        const struct hd_source_path *at = &source->path.data[path];
        if (at->kind == HD_PATH_UNKNOWN || at->kind == HD_PATH_RESULT) return false;
        if (at->kind == HD_PATH_INDEX && *hd_source_text(source, at->of) == '\0') return false;
    }
    return true;
}

uint32_t hd_source_path_root(const struct hd_source *source, uint32_t path) {
    if (path == HD_SOURCE_NONE) return HD_SOURCE_NONE;
    while (source->path.data[path].parent != HD_SOURCE_NONE) path = source->path.data[path].parent;
    const struct hd_source_path *root = &source->path.data[path];
    return root->kind == HD_PATH_VARIABLE ? root->of : HD_SOURCE_NONE;
}

/* ---- the closing line
 * ---------------------------------------------------------------------------- */

/* 1,204 */
static const char *grouped(uint64_t number, char buffer[static 32]) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    size_t used = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) buffer[used++] = ',';
        buffer[used++] = digits[i];
    }
    buffer[used] = '\0';
    return buffer;
}

const char *hd_source_closing_line(const struct hd_source *source, char *buffer, size_t size) {
    uint64_t functions = 0, degraded = 0, lost = 0;
    struct hd_map files = {0};
    for (size_t i = 0; i < source->function.size; i++)
        if ((source->function.data[i].flags & HD_FUNCTION_BODY) != 0) functions++;
    for (size_t i = 0; i < source->unit.size; i++) {
        const struct hd_source_unit *unit = &source->unit.data[i];
        uint32_t before = files.count;
        hd_map_slot(&files, unit->file, 0);
        if (files.count == before) continue; /* a file may be compiled twice */
        if (unit->state == HD_UNIT_DEGRADED) degraded++;
        if (unit->state == HD_UNIT_LOST) lost++;
    }
    char first[32], second[32], third[32];
    struct name_buffer out = {.text = buffer, .size = size};
    buffer[0] = '\0';
    add(&out, "%s function%s in %s file%s", grouped(functions, first), functions == 1 ? "" : "s",
        grouped(files.count, second), files.count == 1 ? "" : "s");
    if (degraded > 0)
        add(&out, ", %s file%s had errors", grouped(degraded, third), degraded == 1 ? "" : "s");
    if (lost > 0)
        add(&out, ", %s file%s could not be read", grouped(lost, third), lost == 1 ? "" : "s");
    hd_map_free(&files);
    return buffer;
}
