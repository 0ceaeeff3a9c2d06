/* A typed growing array as a plain struct: HD_VECTOR(uint32_t) list = {0}. The elements are
 * list.data[0 .. list.size). The macros that grow return true. */
#ifndef HEDDLE_BASE_VECTOR_H
#define HEDDLE_BASE_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define HD_VECTOR(type)        \
    struct {                   \
        type *data;            \
        size_t size, capacity; \
    }

/* Makes room for `more` further elements. */
#define hd_vector_reserve(vector, more)                                                          \
    ((more) <= (vector)->capacity - (vector)->size                                               \
         ? true                                                                                  \
         : hd_vector_grow((void **)&(vector)->data, &(vector)->capacity, (vector)->size, (more), \
                          sizeof *(vector)->data))

#define hd_vector_push(vector, value) \
    (hd_vector_reserve(vector, 1) ? ((vector)->data[(vector)->size++] = (value), true) : false)

#define hd_vector_free(vector) \
    (free((vector)->data), (vector)->data = NULL, (vector)->size = (vector)->capacity = 0)

/* The function behind the macros: capacity for size + more elements, at least doubling. */
bool hd_vector_grow(void **data, size_t *capacity, size_t size, size_t more, size_t element);

#endif
