/* Memory that is given back all at once: many small pieces of one life time, no free of a single
 * one. Not thread-safe. */
#ifndef HEDDLE_BASE_ARENA_H
#define HEDDLE_BASE_ARENA_H

#include <stddef.h>

struct hd_arena_block;
struct hd_arena {
    struct hd_arena_block *newest;
    size_t used;  /* of the newest block */
    size_t bytes; /* held from the system, for statistics */
};

/* A zeroed arena is an empty one. `size` 0 gives a valid pointer. Aligned for any type. */
void *hd_arena_alloc(struct hd_arena *arena, size_t size);
void *hd_arena_zalloc(struct hd_arena *arena, size_t count, size_t size);
/* A NUL-terminated copy of `length` bytes. */
char *hd_arena_copy(struct hd_arena *arena, const char *bytes, size_t length);
void hd_arena_free(struct hd_arena *arena);

#endif
