/* Memory of a symbols handle: interned strings and arrays that grow. Everything in a pool lives
 * until the pool is freed. */
#ifndef HEDDLE_TRACE_SYMBOLS_POOL_H
#define HEDDLE_TRACE_SYMBOLS_POOL_H

#include <stddef.h>
#include <stdint.h>

struct hd_pool;

struct hd_pool *hd_pool_new(void);
void hd_pool_free(struct hd_pool *pool);
void *hd_pool_alloc(struct hd_pool *pool, size_t bytes);
/* One copy per distinct text. */
const char *hd_pool_intern(struct hd_pool *pool, const char *text, size_t length);
const char *hd_pool_text(struct hd_pool *pool, const char *text);
const char *hd_pool_format(struct hd_pool *pool, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Room for one more element: the array, moved if need be. */
void *hd_pool_grow(void *array, uint32_t count, uint32_t *capacity, size_t element);

#endif
