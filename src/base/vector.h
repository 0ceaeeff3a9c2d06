/* A typed growing array as a plain struct: HD_VECTOR(uint32_t) list = {0}. The elements are
 * list.data[0 .. list.size). */
#ifndef HEDDLE_BASE_VECTOR_H
#define HEDDLE_BASE_VECTOR_H

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
         ? (void)0                                                                               \
         : hd_vector_grow((void **)&(vector)->data, &(vector)->capacity, (vector)->size, (more), \
                          sizeof *(vector)->data))

#define hd_vector_push(vector, value) \
    (hd_vector_reserve(vector, 1), (void)((vector)->data[(vector)->size++] = (value)))

#define hd_vector_free(vector) \
    (free((vector)->data), (vector)->data = NULL, (vector)->size = (vector)->capacity = 0)

/* The function behind the macros: capacity for size + more elements, at least doubling. */
void hd_vector_grow(void **data, size_t *capacity, size_t size, size_t more, size_t element);

#endif
