/* Growing arrays: see vector.h. */
#include "base/vector.h"

#include "base/alloc.h"

#include <stdint.h>

void hd_vector_grow(void **data, size_t *capacity, size_t size, size_t more, size_t element) {
    if (more > SIZE_MAX / 2 / element || size > SIZE_MAX / 2 / element - more) hd_out_of_memory();
    size_t wanted = size + more;
    size_t doubled = *capacity > SIZE_MAX / 4 / element ? wanted : *capacity * 2;
    if (wanted < doubled) wanted = doubled;
    if (wanted < 8) wanted = 8;
    *data = hd_realloc(*data, wanted, element);
    *capacity = wanted;
}
