/* Names of variables, made unique. */
#define _GNU_SOURCE /* memrchr */
#include "mine/names.h"

#include "base/map.h"
#include "source/source.h"

#include <stdio.h>
#include <string.h>

/* "dir/file.c" of a path: enough to tell variables of one name apart. */
static const char *short_path(const char *path) {
    const char *last = strrchr(path, '/');
    if (last == NULL) return path;
    const char *before = memrchr(path, '/', (size_t)(last - path));
    return before != NULL ? before + 1 : path;
}

static const char *file_path(const struct hd_source *source, uint32_t file) {
    return file == HD_SOURCE_NONE ? "" : hd_source_text(source, source->file.data[file].path);
}

static const char *last_part(const char *name) {
    const char *at = name;
    for (const char *next; (next = strstr(at, "::")) != NULL;) at = next + 2;
    return at;
}

static const char *unique(struct hd_mine_names *names, const struct hd_source *source,
                          const struct hd_source_variable *variable) {
    char text[1024];
    int length = snprintf(text, sizeof text, "%s@%s", hd_source_text(source, variable->name),
                          short_path(file_path(source, variable->file)));
    size_t used = (size_t)length < sizeof text ? (size_t)length : sizeof text - 1;
    return hd_arena_copy(&names->arena, text, used);
}

void hd_mine_names_make(const struct hd_source *source, const struct hd_access_sets *sets,
                        struct hd_mine_names *names) {
    *names = (struct hd_mine_names){.name = NULL};
    size_t count = (size_t)sets->variables + 1;
    names->name = hd_arena_zalloc(&names->arena, count, sizeof *names->name);
    names->field = hd_arena_zalloc(&names->arena, count, sizeof *names->field);
    names->group = hd_arena_zalloc(&names->arena, count, sizeof *names->group);
    struct hd_map uses = {.entry = NULL};
    for (uint32_t v = 0; v < sets->variables; v++)
        ++*hd_map_slot(&uses, source->variable.data[sets->variable.data[v]].name, 0);
    for (uint32_t v = 0; v < sets->variables; v++) {
        const struct hd_source_variable *variable = &source->variable.data[sets->variable.data[v]];
        const char *name = hd_source_text(source, variable->name);
        bool shared = hd_map_get(&uses, variable->name, 0) > 1;
        names->name[v] = shared ? unique(names, source, variable) : name;
        names->field[v] = last_part(name);
        size_t before = (size_t)(names->field[v] - name);
        names->group[v] = hd_arena_copy(&names->arena, name, before >= 2 ? before - 2 : 0);
    }
    hd_map_free(&uses);
}

void hd_mine_names_free(struct hd_mine_names *names) { hd_arena_free(&names->arena); }

const char *hd_mine_path(const struct hd_source *source, uint32_t source_function,
                         const char *base) {
    return hd_source_relative(source, source->function.data[source_function].file, base);
}
