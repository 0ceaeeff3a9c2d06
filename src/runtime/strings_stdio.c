/* The C library's formatted and buffered input and output, where it writes into or reads from a
 * buffer of the program's: how much is known when it is done. A thread that blocks in it is the
 * watchdog's. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#ifndef __NO_INLINE__ /* the C library's inline variants would be in the way */
#define __NO_INLINE__ 1
#endif
#include "runtime/streams.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int __vsprintf_chk(char *to, int flag, size_t room, const char *format, va_list arguments);
int __vsnprintf_chk(char *to, size_t size, int flag, size_t room, const char *format,
                    va_list arguments);
char *__fgets_chk(char *to, size_t room, int size, FILE *file);
char *__fgets_unlocked_chk(char *to, size_t room, int size, FILE *file);
size_t __fread_chk(void *to, size_t room, size_t size, size_t count, FILE *file);
size_t __fread_unlocked_chk(void *to, size_t room, size_t size, size_t count, FILE *file);
ssize_t __getdelim(char **line, size_t *room, int end, FILE *file);

/* clang-format off */
#define FUNCTIONS(X)                                                                              \
    X(vsprintf) X(vsnprintf) X(__vsprintf_chk) X(__vsnprintf_chk) X(fread) X(fread_unlocked)      \
    X(__fread_chk) X(__fread_unlocked_chk) X(fgets) X(fgets_unlocked) X(__fgets_chk)              \
    X(__fgets_unlocked_chk) X(fwrite) X(fwrite_unlocked) X(fputs) X(puts) X(getdelim) X(strlen)
/* clang-format on */
RT_REAL_FUNCTIONS(FUNCTIONS)

/* ---- printf into memory --------------------------------------------------------------------- */

/* length is what the real function returned: without the end, and maybe more than there was room.
 */
RT_INLINE int note_printed(struct rt_thread *t, char *to, size_t room, int length, uintptr_t pc) {
    if (likely(t == NULL) || length < 0) return length;
    size_t size = (size_t)length + 1;
    rt_touch(t, to, size < room ? size : room, true, pc);
    return length;
}

RT_EXPORT int vsprintf(char *restrict to, const char *restrict format, va_list arguments) {
    struct rt_thread *t = rt_touch_begin();
    return note_printed(t, to, SIZE_MAX, real(vsprintf)(to, format, arguments), RT_CALLER);
}
RT_EXPORT int vsnprintf(char *restrict to, size_t size, const char *restrict format,
                        va_list arguments) {
    struct rt_thread *t = rt_touch_begin();
    return note_printed(t, to, size, real(vsnprintf)(to, size, format, arguments), RT_CALLER);
}
RT_EXPORT int __vsprintf_chk(char *to, int flag, size_t room, const char *format,
                             va_list arguments) {
    struct rt_thread *t = rt_touch_begin();
    int length = real(__vsprintf_chk)(to, flag, room, format, arguments);
    return note_printed(t, to, SIZE_MAX, length, RT_CALLER);
}
RT_EXPORT int __vsnprintf_chk(char *to, size_t size, int flag, size_t room, const char *format,
                              va_list arguments) {
    struct rt_thread *t = rt_touch_begin();
    int length = real(__vsnprintf_chk)(to, size, flag, room, format, arguments);
    return note_printed(t, to, size, length, RT_CALLER);
}

RT_EXPORT int sprintf(char *restrict to, const char *restrict format, ...) {
    struct rt_thread *t = rt_touch_begin();
    va_list arguments;
    va_start(arguments, format);
    int length = real(vsprintf)(to, format, arguments);
    va_end(arguments);
    return note_printed(t, to, SIZE_MAX, length, RT_CALLER);
}
RT_EXPORT int snprintf(char *restrict to, size_t size, const char *restrict format, ...) {
    struct rt_thread *t = rt_touch_begin();
    va_list arguments;
    va_start(arguments, format);
    int length = real(vsnprintf)(to, size, format, arguments);
    va_end(arguments);
    return note_printed(t, to, size, length, RT_CALLER);
}
RT_EXPORT int __sprintf_chk(char *to, int flag, size_t room, const char *format, ...);
RT_EXPORT int __sprintf_chk(char *to, int flag, size_t room, const char *format, ...) {
    struct rt_thread *t = rt_touch_begin();
    va_list arguments;
    va_start(arguments, format);
    int length = real(__vsprintf_chk)(to, flag, room, format, arguments);
    va_end(arguments);
    return note_printed(t, to, SIZE_MAX, length, RT_CALLER);
}
RT_EXPORT int __snprintf_chk(char *to, size_t size, int flag, size_t room, const char *format, ...);
RT_EXPORT int __snprintf_chk(char *to, size_t size, int flag, size_t room, const char *format,
                             ...) {
    struct rt_thread *t = rt_touch_begin();
    va_list arguments;
    va_start(arguments, format);
    int length = real(__vsnprintf_chk)(to, size, flag, room, format, arguments);
    va_end(arguments);
    return note_printed(t, to, size, length, RT_CALLER);
}

/* ---- files ---------------------------------------------------------------------------------- */

#define READ_INTO(result, to, bytes)            \
    if (unlikely(t != NULL)) {                  \
        int saved = errno;                      \
        rt_stream_read(t, file, RT_CALLER);     \
        rt_source(t, HD_NOTE_INPUT, RT_CALLER); \
        WRITES(to, bytes);                      \
        errno = saved;                          \
    }                                           \
    return result;

RT_EXPORT size_t fread(void *restrict to, size_t size, size_t count, FILE *restrict file) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) rt_stream_reads(t, file, RT_CALLER);
    size_t result = real(fread)(to, size, count, file);
    READ_INTO(result, to, result * size)
}
RT_EXPORT size_t fread_unlocked(void *restrict to, size_t size, size_t count, FILE *restrict file) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) rt_stream_reads(t, file, RT_CALLER);
    size_t result = real(fread_unlocked)(to, size, count, file);
    READ_INTO(result, to, result * size)
}
RT_EXPORT size_t __fread_chk(void *to, size_t room, size_t size, size_t count, FILE *file) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) rt_stream_reads(t, file, RT_CALLER);
    size_t result = real(__fread_chk)(to, room, size, count, file);
    READ_INTO(result, to, result * size)
}
RT_EXPORT size_t __fread_unlocked_chk(void *to, size_t room, size_t size, size_t count,
                                      FILE *file) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) rt_stream_reads(t, file, RT_CALLER);
    size_t result = real(__fread_unlocked_chk)(to, room, size, count, file);
    READ_INTO(result, to, result * size)
}

static size_t line_bytes(const char *line) { return line != NULL ? real(strlen)(line) + 1 : 0; }

RT_EXPORT char *fgets(char *restrict to, int size, FILE *restrict file) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) rt_stream_reads(t, file, RT_CALLER);
    char *result = real(fgets)(to, size, file);
    READ_INTO(result, to, line_bytes(result))
}
RT_EXPORT char *fgets_unlocked(char *restrict to, int size, FILE *restrict file) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) rt_stream_reads(t, file, RT_CALLER);
    char *result = real(fgets_unlocked)(to, size, file);
    READ_INTO(result, to, line_bytes(result))
}
RT_EXPORT char *__fgets_chk(char *to, size_t room, int size, FILE *file) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) rt_stream_reads(t, file, RT_CALLER);
    char *result = real(__fgets_chk)(to, room, size, file);
    READ_INTO(result, to, line_bytes(result))
}
RT_EXPORT char *__fgets_unlocked_chk(char *to, size_t room, int size, FILE *file) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) rt_stream_reads(t, file, RT_CALLER);
    char *result = real(__fgets_unlocked_chk)(to, room, size, file);
    READ_INTO(result, to, line_bytes(result))
}

RT_INLINE ssize_t read_line(char **line, size_t *room, int end, FILE *file, uintptr_t pc) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) rt_stream_reads(t, file, pc);
    ssize_t length = real(getdelim)(line, room, end, file);
    if (likely(t == NULL)) return length;
    int saved = errno;
    rt_stream_read(t, file, pc);
    rt_source(t, HD_NOTE_INPUT, pc);
    rt_touch(t, line, sizeof *line, true, pc);
    rt_touch(t, room, sizeof *room, true, pc);
    if (length >= 0) rt_touch(t, *line, (size_t)length + 1, true, pc);
    errno = saved;
    return length;
}
RT_EXPORT ssize_t getdelim(char **restrict line, size_t *restrict room, int end,
                           FILE *restrict file) {
    return read_line(line, room, end, file, RT_CALLER);
}
RT_EXPORT ssize_t __getdelim(char **line, size_t *room, int end, FILE *file) {
    return read_line(line, room, end, file, RT_CALLER);
}
RT_EXPORT ssize_t getline(char **restrict line, size_t *restrict room, FILE *restrict file) {
    return read_line(line, room, '\n', file, RT_CALLER);
}

#define WRITTEN_FROM(result, from, bytes) \
    if (unlikely(t != NULL)) {            \
        int saved = errno;                \
        READS(from, bytes);               \
        errno = saved;                    \
    }                                     \
    return result;

RT_EXPORT size_t fwrite(const void *restrict from, size_t size, size_t count, FILE *restrict file) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) rt_stream_writes(t, file, RT_CALLER);
    size_t result = real(fwrite)(from, size, count, file);
    WRITTEN_FROM(result, from, result * size)
}
RT_EXPORT size_t fwrite_unlocked(const void *restrict from, size_t size, size_t count,
                                 FILE *restrict file) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) rt_stream_writes(t, file, RT_CALLER);
    size_t result = real(fwrite_unlocked)(from, size, count, file);
    WRITTEN_FROM(result, from, result * size)
}
/* These write the whole string or fail. */
RT_EXPORT int fputs(const char *restrict text, FILE *restrict file) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) rt_stream_writes(t, file, RT_CALLER);
    if (unlikely(t != NULL)) READS(text, line_bytes(text));
    return real(fputs)(text, file);
}
RT_EXPORT int puts(const char *text) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL)) READS(text, line_bytes(text));
    return real(puts)(text);
}
