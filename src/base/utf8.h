/* UTF-8 in bytes that somebody else wrote. */
#ifndef HEDDLE_BASE_UTF8_H
#define HEDDLE_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Length of the character at a NUL-terminated text, 0 if there is none (its end, or a byte that is
 * not UTF-8). *code, if not NULL, is the character. */
size_t hd_utf8_length(const char *text, uint32_t *code);

#endif
