/* Streams of the C library: they use the descriptor that they stand on, and what is written into
 * one may be sent with the call or later, as it likes. So nobody counts what goes through a pipe or
 * socket that has a stream at one of its ends: who reads comes after all that was written so far.
 * The standard streams are no uses of their descriptors: every program prints. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#ifndef __NO_INLINE__
#define __NO_INLINE__ 1
#endif
#include "runtime/streams.h"
#include "runtime/blocking.h"

#include <stdarg.h>
#include <unistd.h>
#include <wchar.h>

int __vfprintf_chk(FILE *file, int flag, const char *format, va_list arguments);
int __vdprintf_chk(int fd, int flag, const char *format, va_list arguments);
int __isoc99_vfscanf(FILE *file, const char *format, va_list arguments);
int __isoc23_vfscanf(FILE *file, const char *format, va_list arguments);

/* clang-format off */
#define FUNCTIONS(X)                                                                              \
    X(vfprintf) X(__vfprintf_chk) X(vdprintf) X(__vdprintf_chk) X(fputc) X(putc) X(fflush)        \
    X(fclose) X(fopen) X(fopen64) X(fdopen) X(freopen) X(tmpfile) X(popen) X(fgetc) X(getc)     \
    X(__isoc99_vfscanf)
/* clang-format on */
RT_REAL_FUNCTIONS(FUNCTIONS)

/* ---- what a stream does to its descriptor ------------------------------------------------------
 */

RT_PROGRAM static int number_of(FILE *file) { return file != NULL ? fileno_unlocked(file) : -1; }

RT_PROGRAM void rt_stream_writes(struct rt_thread *t, FILE *file, uintptr_t pc) {
    int fd = number_of(file);
    if (fd <= STDERR_FILENO && !(rt_is_file(fd) && (rt_files[fd].sends | rt_files[fd].mail_out)))
        return;
    rt_fd_used(t, fd, pc);
    rt_file_sent_some(t, fd, pc);
}
RT_PROGRAM void rt_stream_reads(struct rt_thread *t, FILE *file, uintptr_t pc) {
    int fd = number_of(file);
    if (fd > STDERR_FILENO) rt_fd_used(t, fd, pc);
}
RT_PROGRAM void rt_stream_read(struct rt_thread *t, FILE *file, uintptr_t pc) {
    int saved = errno;
    rt_file_got_some(t, number_of(file), pc);
    errno = saved;
}

/* ---- opened and closed -------------------------------------------------------------------------
 */

static FILE *opened(struct rt_thread *t, FILE *file, uintptr_t pc) {
    if (t == NULL || file == NULL) return file;
    rt_fd_made(t, number_of(file), HD_BLOCK_FILE, pc);
    return file;
}
RT_EXPORT FILE *fopen(const char *restrict path, const char *restrict mode) {
    struct rt_thread *t = rt_touch_begin();
    return opened(t, real(fopen)(path, mode), RT_CALLER);
}
RT_EXPORT FILE *fopen64(const char *restrict path, const char *restrict mode) {
    struct rt_thread *t = rt_touch_begin();
    return opened(t, real(fopen64)(path, mode), RT_CALLER);
}
RT_EXPORT FILE *tmpfile(void) {
    struct rt_thread *t = rt_touch_begin();
    return opened(t, real(tmpfile)(), RT_CALLER);
}
RT_EXPORT FILE *popen(const char *command, const char *mode) {
    struct rt_thread *t = rt_touch_begin();
    FILE *file = real(popen)(command, mode);
    if (t != NULL && file != NULL) rt_fd_made(t, number_of(file), HD_BLOCK_PIPE, RT_CALLER);
    return file;
}
RT_EXPORT FILE *fdopen(int fd, const char *mode) {
    struct rt_thread *t = rt_touch_begin();
    if (t != NULL) rt_fd_used(t, fd, RT_CALLER);
    return real(fdopen)(fd, mode);
}
RT_EXPORT FILE *freopen(const char *restrict path, const char *restrict mode, FILE *restrict file) {
    struct rt_thread *t = rt_touch_begin();
    int fd = t != NULL ? number_of(file) : -1;
    if (fd > STDERR_FILENO) rt_fd_closes(t, fd, RT_CALLER);
    FILE *again = real(freopen)(path, mode, file);
    fd = t != NULL ? number_of(again) : -1;
    if (fd > STDERR_FILENO) rt_fd_made(t, fd, HD_BLOCK_FILE, RT_CALLER);
    return again;
}
/* What it still has is sent before it is closed. */
RT_EXPORT int fclose(FILE *file) {
    struct rt_thread *t = rt_touch_begin();
    int fd = t != NULL ? number_of(file) : -1;
    if (fd >= 0) rt_file_sent_some(t, fd, RT_CALLER);
    if (fd > STDERR_FILENO) rt_fd_closes(t, fd, RT_CALLER);
    return real(fclose)(file);
}

/* ---- written -----------------------------------------------------------------------------------
 */

#define WRITES_TO(file)                     \
    struct rt_thread *t = rt_touch_begin(); \
    if (unlikely(t != NULL)) rt_stream_writes(t, (file), RT_CALLER)
#define WITH_ARGUMENTS(after, call) \
    va_list arguments;              \
    va_start(arguments, after);     \
    int result = call;              \
    va_end(arguments);              \
    return result

RT_EXPORT int fflush(FILE *file) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL) && file != NULL) rt_stream_writes(t, file, RT_CALLER);
    return real(fflush)(file);
}
RT_EXPORT int vfprintf(FILE *restrict file, const char *restrict format, va_list arguments) {
    WRITES_TO(file);
    return real(vfprintf)(file, format, arguments);
}
RT_EXPORT int __vfprintf_chk(FILE *file, int flag, const char *format, va_list arguments) {
    WRITES_TO(file);
    return real(__vfprintf_chk)(file, flag, format, arguments);
}
RT_EXPORT int fprintf(FILE *restrict file, const char *restrict format, ...) {
    WRITES_TO(file);
    WITH_ARGUMENTS(format, real(vfprintf)(file, format, arguments));
}
RT_EXPORT int __fprintf_chk(FILE *file, int flag, const char *format, ...);
RT_EXPORT int __fprintf_chk(FILE *file, int flag, const char *format, ...) {
    WRITES_TO(file);
    WITH_ARGUMENTS(format, real(__vfprintf_chk)(file, flag, format, arguments));
}
RT_EXPORT int fputc(int character, FILE *file) {
    WRITES_TO(file);
    return real(fputc)(character, file);
}
RT_EXPORT int putc(int character, FILE *file) {
    WRITES_TO(file);
    return real(putc)(character, file);
}

/* These have no stream of their own to keep anything in. */
#define WRITES_AT_ONCE                           \
    struct rt_thread *t = rt_touch_begin();      \
    if (t != NULL) rt_fd_used(t, fd, RT_CALLER); \
    if (t != NULL) rt_file_sent_some(t, fd, RT_CALLER)
RT_EXPORT int vdprintf(int fd, const char *restrict format, va_list arguments) {
    WRITES_AT_ONCE;
    return real(vdprintf)(fd, format, arguments);
}
RT_EXPORT int __vdprintf_chk(int fd, int flag, const char *format, va_list arguments) {
    WRITES_AT_ONCE;
    return real(__vdprintf_chk)(fd, flag, format, arguments);
}
RT_EXPORT int dprintf(int fd, const char *restrict format, ...) {
    WRITES_AT_ONCE;
    WITH_ARGUMENTS(format, real(vdprintf)(fd, format, arguments));
}
RT_EXPORT int __dprintf_chk(int fd, int flag, const char *format, ...);
RT_EXPORT int __dprintf_chk(int fd, int flag, const char *format, ...) {
    WRITES_AT_ONCE;
    WITH_ARGUMENTS(format, real(__vdprintf_chk)(fd, flag, format, arguments));
}

/* ---- read --------------------------------------------------------------------------------------
 */

#define READS_FROM(file, type, call)                                \
    struct rt_thread *t = rt_touch_begin();                         \
    if (unlikely(t != NULL)) rt_stream_reads(t, (file), RT_CALLER); \
    type result = call;                                             \
    if (unlikely(t != NULL)) rt_stream_read(t, (file), RT_CALLER)

RT_EXPORT int fgetc(FILE *file) {
    READS_FROM(file, int, real(fgetc)(file));
    return result;
}
RT_EXPORT int getc(FILE *file) {
    READS_FROM(file, int, real(getc)(file));
    return result;
}
RT_EXPORT int __isoc99_vfscanf(FILE *file, const char *format, va_list arguments) {
    READS_FROM(file, int, real(__isoc99_vfscanf)(file, format, arguments));
    return result;
}
/* What fscanf is called by the headers of older and newer C libraries. */
#define SCANS(name, real_name)                                           \
    RT_EXPORT int name(FILE *file, const char *format, ...) {            \
        va_list arguments;                                               \
        va_start(arguments, format);                                     \
        READS_FROM(file, int, real(real_name)(file, format, arguments)); \
        va_end(arguments);                                               \
        return result;                                                   \
    }
int __isoc99_fscanf(FILE *file, const char *format, ...);
SCANS(__isoc99_fscanf, __isoc99_vfscanf)
#if __GLIBC_PREREQ(2, 38)
RT_REAL_VARIABLE(__isoc23_vfscanf)
int __isoc23_fscanf(FILE *file, const char *format, ...);
SCANS(__isoc23_fscanf, __isoc23_vfscanf)
RT_EXPORT int __isoc23_vfscanf(FILE *file, const char *format, va_list arguments) {
    READS_FROM(file, int, real(__isoc23_vfscanf)(file, format, arguments));
    return result;
}
#endif
