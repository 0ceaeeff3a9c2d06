/* Interned strings and growing arrays for the symbols code, over base/. */
#include "trace/symbols_pool.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/intern.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hd_pool {
    struct hd_intern strings;
    struct hd_arena arena;
};

struct hd_pool *hd_pool_new(void) {
    return hd_zalloc(1, sizeof(struct hd_pool));
}

void hd_pool_free(struct hd_pool *pool) {
    if (!pool) return;
    hd_intern_free(&pool->strings);
    hd_arena_free(&pool->arena);
    free(pool);
}

void *hd_pool_alloc(struct hd_pool *pool, size_t bytes) {
    return hd_arena_alloc(&pool->arena, bytes);
}

const char *hd_pool_intern(struct hd_pool *pool, const char *text, size_t length) {
    uint32_t id = hd_intern(&pool->strings, text, length); /* may move the names */
    return pool->strings.name.data[id];
}

const char *hd_pool_text(struct hd_pool *pool, const char *text) {
    return hd_pool_intern(pool, text, strlen(text));
}

const char *hd_pool_format(struct hd_pool *pool, const char *format, ...) {
    char buffer[512], *text = buffer;
    va_list list;
    va_start(list, format);
    int length = vsnprintf(buffer, sizeof buffer, format, list);
    va_end(list);
    if (length < 0) return "";
    if ((size_t)length >= sizeof buffer) {
        text = hd_alloc(1, (size_t)length + 1);
        va_start(list, format);
        vsnprintf(text, (size_t)length + 1, format, list);
        va_end(list);
    }
    const char *interned = hd_pool_intern(pool, text, (size_t)length);
    if (text != buffer) free(text);
    return interned;
}

void *hd_pool_grow(void *array, uint32_t count, uint32_t *capacity, size_t element) {
    if (count < *capacity) return array;
    if (*capacity > UINT32_MAX / 2) hd_out_of_memory();
    *capacity = *capacity ? *capacity * 2 : 16;
    return hd_realloc(array, *capacity, element);
}
