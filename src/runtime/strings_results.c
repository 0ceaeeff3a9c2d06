/* Calls of the C library that leave their result in memory of the program's: times, file status,
 * names, descriptors, sorted arrays. Without them that memory would seem never to have been
 * written. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "runtime/touch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* clang-format off */
#define FUNCTIONS(X)                                                                              \
    X(time) X(clock_gettime) X(gettimeofday) X(localtime_r) X(gmtime_r) X(ctime_r) X(asctime_r)   \
    X(strftime) X(getcwd) X(readlink) X(readlinkat) X(realpath) X(gethostname)                    \
    X(getrandom) X(getentropy) X(inet_ntop) X(inet_pton) X(qsort) X(qsort_r) X(strlen)
/* clang-format on */
RT_REAL_FUNCTIONS(FUNCTIONS)

static size_t text_bytes(const char *text) { return text != NULL ? real(strlen)(text) + 1 : 0; }

#if __GLIBC_PREREQ(2, 33)
RT_REAL_VARIABLE(stat)
RT_REAL_VARIABLE(lstat)
RT_REAL_VARIABLE(fstat)
RT_REAL_VARIABLE(fstatat)
#endif

/* One interceptor: calls the real function, whose value is `result`, and notes `bytes` at `address`
 * as written; for some, that it is something no schedule controls (enum hd_note_type). */
#define RESULT_OF(source, type, symbol, function, parameters, arguments, address, bytes) \
    RT_EXPORT type symbol parameters {                                                   \
        struct rt_thread *t = rt_touch_begin();                                          \
        type result = real(function) arguments;                                          \
        if (likely(t == NULL)) return result;                                            \
        int saved = errno;                                                               \
        if (source != HD_NOTE_TEXT) rt_source(t, source, RT_CALLER);                     \
        WRITES(address, bytes);                                                          \
        errno = saved;                                                                   \
        return result;                                                                   \
    }
#define RESULT(...) RESULT_OF(HD_NOTE_TEXT, __VA_ARGS__)
/* The same for a clock, whose time is ahead if waits were made to expire. */
#define TIME(type, function, parameters, arguments, address, bytes, move) \
    RT_EXPORT type function parameters {                                  \
        struct rt_thread *t = rt_touch_begin();                           \
        type result = real(function) arguments;                           \
        if (likely(t == NULL)) return result;                             \
        int saved = errno;                                                \
        uint64_t ahead = rt_clock_ahead();                                \
        if (unlikely(ahead > 0)) move;                                    \
        rt_source(t, HD_NOTE_TIME, RT_CALLER);                            \
        WRITES(address, bytes);                                           \
        errno = saved;                                                    \
        return result;                                                    \
    }
#define IF_DONE(bytes) (result == 0 ? (bytes) : 0)

static time_t move_seconds(time_t now, time_t *to, uint64_t ahead) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    now += (time_t)((ahead + (uint64_t)exact.tv_nsec) / 1000000000u);
    if (to != NULL) *to = now;
    return now;
}
static void move_clock(clockid_t clock, struct timespec *now, uint64_t ahead) {
    if (clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID || clock < 0) return;
    ahead += (uint64_t)now->tv_nsec;
    now->tv_sec += (time_t)(ahead / 1000000000u);
    now->tv_nsec = (long)(ahead % 1000000000u);
}
static void move_day(struct timeval *now, uint64_t ahead) {
    uint64_t microseconds = ahead / 1000 + (uint64_t)now->tv_usec;
    now->tv_sec += (time_t)(microseconds / 1000000u);
    now->tv_usec = (suseconds_t)(microseconds % 1000000u);
}
TIME(time_t, time, (time_t * to), (to), to, to != NULL ? sizeof *to : 0,
     result = move_seconds(result, to, ahead))
TIME(int, clock_gettime, (clockid_t clock, struct timespec *to), (clock, to), to,
     IF_DONE(sizeof *to), if (result == 0) move_clock(clock, to, ahead))
TIME(int, gettimeofday, (struct timeval *restrict to, void *restrict zone), (to, zone), to,
     IF_DONE(sizeof *to), if (result == 0) move_day(to, ahead))
RESULT(struct tm *, localtime_r, localtime_r, (const time_t *restrict from, struct tm *restrict to),
       (from, to), to, result != NULL ? sizeof *to : 0)
RESULT(struct tm *, gmtime_r, gmtime_r, (const time_t *restrict from, struct tm *restrict to),
       (from, to), to, result != NULL ? sizeof *to : 0)
RESULT(char *, ctime_r, ctime_r, (const time_t *restrict from, char *restrict to), (from, to), to,
       text_bytes(result))
RESULT(char *, asctime_r, asctime_r, (const struct tm *restrict from, char *restrict to),
       (from, to), to, text_bytes(result))
RESULT(size_t, strftime, strftime,
       (char *restrict to, size_t room, const char *restrict format,
        const struct tm *restrict from),
       (to, room, format, from), to, result > 0 ? result + 1 : 0)

#if __GLIBC_PREREQ(2, 33) /* before that, they were no functions that can be replaced */
RESULT(int, stat, stat, (const char *restrict path, struct stat *restrict to), (path, to), to,
       IF_DONE(sizeof *to))
RESULT(int, lstat, lstat, (const char *restrict path, struct stat *restrict to), (path, to), to,
       IF_DONE(sizeof *to))
RESULT(int, fstat, fstat, (int fd, struct stat *to), (fd, to), to, IF_DONE(sizeof *to))
RESULT(int, fstatat, fstatat,
       (int fd, const char *restrict path, struct stat *restrict to, int flags),
       (fd, path, to, flags), to, IF_DONE(sizeof *to))
/* The same structure under another name. */
#define STAT64(to) (struct stat *)(to)
RESULT(int, stat64, stat, (const char *restrict path, struct stat64 *restrict to),
       (path, STAT64(to)), to, IF_DONE(sizeof *to))
RESULT(int, lstat64, lstat, (const char *restrict path, struct stat64 *restrict to),
       (path, STAT64(to)), to, IF_DONE(sizeof *to))
RESULT(int, fstat64, fstat, (int fd, struct stat64 *to), (fd, STAT64(to)), to, IF_DONE(sizeof *to))
RESULT(int, fstatat64, fstatat,
       (int fd, const char *restrict path, struct stat64 *restrict to, int flags),
       (fd, path, STAT64(to), flags), to, IF_DONE(sizeof *to))
#endif

RESULT(char *, getcwd, getcwd, (char *to, size_t room), (to, room), result, text_bytes(result))
RESULT(ssize_t, readlink, readlink, (const char *restrict path, char *restrict to, size_t room),
       (path, to, room), to, result > 0 ? (size_t)result : 0)
RESULT(ssize_t, readlinkat, readlinkat,
       (int fd, const char *restrict path, char *restrict to, size_t room), (fd, path, to, room),
       to, result > 0 ? (size_t)result : 0)
RESULT(char *, realpath, realpath, (const char *restrict path, char *restrict to), (path, to),
       result, text_bytes(result))
RESULT(int, gethostname, gethostname, (char *to, size_t room), (to, room), to,
       IF_DONE(text_bytes(to)))
RESULT_OF(HD_NOTE_RANDOM, ssize_t, getrandom, getrandom, (void *to, size_t room, unsigned flags),
          (to, room, flags), to, result > 0 ? (size_t)result : 0)
RESULT_OF(HD_NOTE_RANDOM, int, getentropy, getentropy, (void *to, size_t room), (to, room), to,
          IF_DONE(room))

RESULT(const char *, inet_ntop, inet_ntop,
       (int family, const void *restrict from, char *restrict to, socklen_t room),
       (family, from, to, room), to, text_bytes(result))
RESULT(int, inet_pton, inet_pton, (int family, const char *restrict from, void *restrict to),
       (family, from, to), to,
       result != 1          ? 0
       : family == AF_INET6 ? sizeof(struct in6_addr)
                            : sizeof(struct in_addr))

/* ---- sorting: elements are moved by the C library, compared by the program
 * ------------------------- */

RT_EXPORT void qsort(void *base, size_t count, size_t size,
                     int (*compare)(const void *, const void *)) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL) && count > 1) READS(base, count * size);
    real(qsort)(base, count, size, compare);
    if (unlikely(t != NULL) && count > 1) WRITES(base, count * size);
}
RT_EXPORT void qsort_r(void *base, size_t count, size_t size,
                       int (*compare)(const void *, const void *, void *), void *argument) {
    struct rt_thread *t = rt_touch_begin();
    if (unlikely(t != NULL) && count > 1) READS(base, count * size);
    real(qsort_r)(base, count, size, compare, argument);
    if (unlikely(t != NULL) && count > 1) WRITES(base, count * size);
}
