/* Memory that is given back all at once: see arena.h. */
#include "base/arena.h"

#include "base/alloc.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct hd_arena_block {
    struct hd_arena_block *older;
    size_t capacity;
    _Alignas(max_align_t) char data[];
};

enum { FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20 };

static size_t aligned(size_t size) {
    return (size + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
}

static void *alloc_bytes(struct hd_arena *arena, size_t size, bool align) {
    size_t start = align ? aligned(arena->used) : arena->used;
    struct hd_arena_block *block = arena->newest;
    if (block == NULL || start > block->capacity || size > block->capacity - start) {
        size_t capacity = block == NULL ? FIRST_BLOCK : block->capacity * 2;
        if (capacity > LARGEST_BLOCK) capacity = LARGEST_BLOCK;
        if (capacity < size) capacity = size;
        if (capacity > SIZE_MAX - sizeof *block) hd_out_of_memory();
        struct hd_arena_block *fresh = hd_alloc(1, sizeof *fresh + capacity);
        fresh->older = block;
        fresh->capacity = capacity;
        arena->newest = fresh;
        arena->bytes += sizeof *fresh + capacity;
        block = fresh;
        start = 0;
    }
    arena->used = start + size;
    return block->data + start;
}

void *hd_arena_alloc(struct hd_arena *arena, size_t size) { return alloc_bytes(arena, size, true); }

void *hd_arena_zalloc(struct hd_arena *arena, size_t count, size_t size) {
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) hd_out_of_memory();
    return memset(hd_arena_alloc(arena, total), 0, total);
}

char *hd_arena_copy(struct hd_arena *arena, const char *bytes, size_t length) {
    if (length == SIZE_MAX) hd_out_of_memory();
    char *copy = alloc_bytes(arena, length + 1, false);
    if (length != 0) memcpy(copy, bytes, length);
    copy[length] = '\0';
    return copy;
}

void hd_arena_free(struct hd_arena *arena) {
    for (struct hd_arena_block *block = arena->newest; block != NULL;) {
        struct hd_arena_block *older = block->older;
        free(block);
        block = older;
    }
    memset(arena, 0, sizeof *arena);
}
