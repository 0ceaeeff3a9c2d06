/* How a program is put together: used by the reader of the text form and by the parser. Everything
 * is found again by its key, so that units that see the same thing share it. */
#ifndef HEDDLE_SOURCE_BUILD_H
#define HEDDLE_SOURCE_BUILD_H

#include "source/source.h"

uint32_t hd_source_text_add(struct hd_source *source, const char *text);
uint32_t hd_source_text_add_bytes(struct hd_source *source, const char *bytes, size_t length);

/* The file, record, field or global, or function with that path or key (texts); added if it is new,
 * with nothing filled in but what is given. */
uint32_t hd_source_file_add(struct hd_source *source, uint32_t path);
uint32_t hd_source_record_add(struct hd_source *source, uint32_t key, uint32_t name);
uint32_t hd_source_variable_add(struct hd_source *source, uint8_t kind, uint32_t key,
                                uint32_t name);
uint32_t hd_source_function_add(struct hd_source *source, uint32_t key, uint32_t name);
/* The function to fill in for a definition; NONE if that very definition is there already. */
uint32_t hd_source_function_define(struct hd_source *source, uint32_t key, uint32_t name,
                                   uint32_t file, uint32_t line);
/* A local or parameter: always new. */
uint32_t hd_source_local_add(struct hd_source *source, uint8_t kind, uint32_t function,
                             uint32_t name);
/* `parent` and `of` are checked by the caller. */
uint32_t hd_source_path_add(struct hd_source *source, uint8_t kind, uint32_t parent, uint32_t of);
/* The last variable of a path, and whether the path goes on through a pointer behind it. */
uint32_t hd_source_path_variable(const struct hd_source *source, uint32_t path, bool *indirect);

/* A node behind its siblings; the parent may be NONE. */
uint32_t hd_source_node_add(struct hd_source *source, uint8_t kind, uint8_t role, uint32_t parent,
                            uint32_t *last_child);
struct hd_source_range hd_source_links_add(struct hd_source *source, const uint32_t *item,
                                           size_t count);

#endif
