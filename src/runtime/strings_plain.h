/* The memory and string functions that the dynamic loader and other libraries' first code may call
 * before the C library's can be found: simple loops. The empty statement in each loop keeps
 * compilers from recognising the function and calling it in its own place. */
#ifndef HEDDLE_RUNTIME_STRINGS_PLAIN_H
#define HEDDLE_RUNTIME_STRINGS_PLAIN_H

#include <stddef.h>

#define OPAQUE __asm__ volatile("" ::: "memory")
#define PLAIN __attribute__((unused)) static

PLAIN void *plain_memmove(void *to, const void *from, size_t size) {
    char *t = to;
    const char *f = from;
    if (t <= f || t >= f + size) {
        for (size_t i = 0; i < size; i++) {
            OPAQUE;
            t[i] = f[i];
        }
    } else {
        for (size_t i = size; i > 0; i--) {
            OPAQUE;
            t[i - 1] = f[i - 1];
        }
    }
    return to;
}
PLAIN void *plain_memcpy(void *restrict to, const void *restrict from, size_t size) {
    return plain_memmove(to, from, size);
}

PLAIN void *plain_memset(void *to, int byte, size_t size) {
    for (size_t i = 0; i < size; i++) {
        OPAQUE;
        ((unsigned char *)to)[i] = (unsigned char)byte;
    }
    return to;
}

PLAIN int plain_memcmp(const void *one, const void *other, size_t size) {
    const unsigned char *a = one, *b = other;
    for (size_t i = 0; i < size; i++) {
        OPAQUE;
        if (a[i] != b[i]) return a[i] - b[i];
    }
    return 0;
}

PLAIN void *plain_memchr(const void *in, int byte, size_t size) {
    const unsigned char *at = in;
    for (size_t i = 0; i < size; i++) {
        OPAQUE;
        if (at[i] == (unsigned char)byte) return (void *)(at + i);
    }
    return NULL;
}

PLAIN size_t plain_strlen(const char *text) {
    size_t length = 0;
    while (text[length] != '\0') {
        OPAQUE;
        length++;
    }
    return length;
}

PLAIN size_t plain_strnlen(const char *text, size_t limit) {
    size_t length = 0;
    while (length < limit && text[length] != '\0') {
        OPAQUE;
        length++;
    }
    return length;
}

PLAIN int plain_strncmp(const char *one, const char *other, size_t limit) {
    const unsigned char *a = (const unsigned char *)one, *b = (const unsigned char *)other;
    for (size_t i = 0; i < limit; i++) {
        OPAQUE;
        if (a[i] != b[i]) return a[i] - b[i];
        if (a[i] == '\0') break;
    }
    return 0;
}
PLAIN int plain_strcmp(const char *one, const char *other) {
    return plain_strncmp(one, other, (size_t)-1);
}

PLAIN char *plain_strchrnul(const char *in, int byte) {
    while (*in != (char)byte && *in != '\0') {
        OPAQUE;
        in++;
    }
    return (char *)in;
}
PLAIN char *plain_strchr(const char *in, int byte) {
    char *at = plain_strchrnul(in, byte);
    return *at == (char)byte ? at : NULL;
}
PLAIN char *plain_strrchr(const char *in, int byte) {
    const char *found = NULL;
    for (;; in++) {
        OPAQUE;
        if (*in == (char)byte) found = in;
        if (*in == '\0') return (char *)found;
    }
}

PLAIN char *plain_strcpy(char *restrict to, const char *restrict from) {
    plain_memmove(to, from, plain_strlen(from) + 1);
    return to;
}
PLAIN char *plain_strcat(char *restrict to, const char *restrict from) {
    plain_strcpy(to + plain_strlen(to), from);
    return to;
}
PLAIN char *plain_strncat(char *restrict to, const char *restrict from, size_t limit) {
    size_t length = plain_strnlen(from, limit), at = plain_strlen(to);
    plain_memmove(to + at, from, length);
    to[at + length] = '\0';
    return to;
}
PLAIN char *plain_strncpy(char *restrict to, const char *restrict from, size_t size) {
    size_t length = plain_strnlen(from, size);
    plain_memmove(to, from, length);
    plain_memset(to + length, 0, size - length);
    return to;
}

#endif
