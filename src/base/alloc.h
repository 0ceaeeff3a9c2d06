/* Allocation that can't fail: when memory is out, the program ends with one line on standard error
 * and exit status 2. Everything in the analyser allocates through this header, so nobody has to
 * pass "out of memory" on. A length that was read from a file must be checked before it gets here.
 */
#ifndef HEDDLE_BASE_ALLOC_H
#define HEDDLE_BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Room for `count` elements of `size` bytes; never NULL, also for 0. Given back with free(). */
void *hd_alloc(size_t count, size_t size)
    __attribute__((alloc_size(1, 2), returns_nonnull, malloc));
/* The same, zeroed. */
void *hd_zalloc(size_t count, size_t size)
    __attribute__((alloc_size(1, 2), returns_nonnull, malloc));
/* Moves an allocation (or NULL) into one of another size. */
void *hd_realloc(void *old, size_t count, size_t size)
    __attribute__((alloc_size(2, 3), returns_nonnull));
/* A copy of a string; a string by printf's rules. */
char *hd_strdup(const char *text) __attribute__((returns_nonnull));
char *hd_strndup(const char *text, size_t most) __attribute__((returns_nonnull));
char *hd_format(const char *format, ...) __attribute__((format(printf, 1, 2), returns_nonnull));

/* Ends the program. Called by the functions above, and by containers whose numbers are used up. */
_Noreturn void hd_out_of_memory(void);
/* Has that line say that it was a limit of so many bytes. */
void hd_out_of_memory_at(uint64_t bytes);
/* What must happen before that, if anything: remove temporary files, end the programs that run. Set
 * by whoever has such things; called once. It must not allocate. */
extern void (*hd_before_out_of_memory)(void);

#endif
