/* Descriptors as objects: where a number is given out its life begins, and it ends where the number
 * is closed; the calls between are its uses. An access to a descriptor is one to an address that
 * stands for it (HD_DESCRIPTORS), so that a close that is not ordered after a use is found as a
 * free is that is not ordered after an access.
 *
 * What the C library opens and closes inside of its own calls is not seen. A number that was closed
 * and is open all the same was given out by such a call: a new life begins where it is noticed. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "runtime/blocking.h"
#include "runtime/check.h"
#include "runtime/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* What _FORTIFY_SOURCE makes of open. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int directory, const char *path, int flags);
int __openat64_2(int directory, const char *path, int flags);

/* clang-format off */
#define FUNCTIONS(X) \
    X(__open64_2) X(__open_2) X(__openat64_2) X(__openat_2) X(close) X(closedir) X(creat) \
    X(creat64) X(dup) X(dup2) X(dup3) X(epoll_create) X(epoll_create1) X(fcntl) X(fdatasync) \
    X(fsync) X(ftruncate) X(ftruncate64) X(inotify_init) X(inotify_init1) X(ioctl) X(lseek) \
    X(lseek64) X(memfd_create) X(mkostemp) X(mkstemp) X(mkstemp64) X(open) X(open64) \
    X(openat) X(opendir) X(openat64) X(shm_open) X(signalfd) X(timerfd_create) X(timerfd_settime)
/* clang-format on */
RT_REAL_FUNCTIONS(FUNCTIONS)

struct rt_file rt_files[RT_FILES];
static int highest; /* that was given out */

static bool is_open(int fd) { return rt_kernel(SYS_fcntl, fd, F_GETFD, 0, 0, 0, 0) >= 0; }

/* ---- lives ------------------------------------------------------------------------------------
 */

static void begins(struct rt_thread *t, int fd, unsigned type, uintptr_t pc) {
    uintptr_t address = hd_descriptor_address((uint32_t)fd);
    uint32_t site = rt_site(t, pc);
    if (unlikely(rt.checking)) rt_check_clear(address, HD_DESCRIPTOR_BYTES);
    rt_owners_block(t, address, HD_DESCRIPTOR_BYTES);
    rt_emit_extra(t, HD_DESCRIPTOR_BYTES, site);
    rt_emit(t, HD_EV_ALLOC, type, address, site);
    rt_files[fd].state = RT_FILE_OPEN;
    if (fd > highest) highest = fd;
}

static void ends(struct rt_thread *t, int fd, uintptr_t pc) {
    uintptr_t address = hd_descriptor_address((uint32_t)fd);
    uint32_t site = rt_site(t, pc);
    rt_before_access(t, site, address, HD_DESCRIPTOR_BYTES);
    if (unlikely(rt.checking)) rt_check_clear(address, HD_DESCRIPTOR_BYTES);
    rt_owners_block(t, address, HD_DESCRIPTOR_BYTES);
    rt_emit_extra(t, HD_DESCRIPTOR_BYTES, site);
    rt_emit(t, HD_EV_FREE, HD_BLOCK_FILE, address, site);
    if (rt_files[fd].state != RT_FILE_CLOSED) rt_files[fd].closer = t->number;
    rt_files[fd].state = RT_FILE_CLOSED;
}

/* Daemons close the standard ones, and libraries write there all the same. */
static void used_after_close(struct rt_thread *t, int fd, uintptr_t pc) {
    struct hd_wire_session *session = rt.session;
    if (fd <= STDERR_FILENO || rt_files[fd].closer == t->number || !rt_is_serial() ||
        session == NULL || session->misuse != HD_MISUSE_NONE)
        return;
    session->misuse_thread = t->number;
    session->misuse_size = (uint32_t)fd;
    session->misuse_write = 0;
    session->misuse_site = rt_site(t, pc);
    session->misuse = HD_MISUSE_CLOSED;
}

void rt_fd_used(struct rt_thread *t, int fd, uintptr_t pc) {
    if (!rt_is_file(fd)) return;
    rt_touch_resume(t);
    if (likely(rt.mode != HD_SCHED_OFF)) {
        if (unlikely(rt_files[fd].state == RT_FILE_CLOSED)) {
            if (is_open(fd))
                begins(t, fd, HD_BLOCK_FILE, 0);
            else
                used_after_close(t, fd, pc);
        }
        if (!RT_IGNORES(t, false))
            rt_access(t, hd_descriptor_address((uint32_t)fd), HD_DESCRIPTOR_BYTES, false, pc);
    }
    rt_leave(t);
}

void rt_fd_closes(struct rt_thread *t, int fd, uintptr_t pc) {
    if (!rt_is_file(fd)) return;
    struct rt_file *file = &rt_files[fd];
    if (file->state == RT_FILE_UNKNOWN && !is_open(fd)) return;
    int saved = errno;
    rt_touch_resume(t);
    if (likely(rt.mode != HD_SCHED_OFF)) {
        if (file->state == RT_FILE_CLOSED && is_open(fd)) begins(t, fd, HD_BLOCK_FILE, 0);
        if (!RT_IGNORES(t, true)) ends(t, fd, pc);
    }
    rt_leave(t);
    rt_file_ends(t, fd, false, true, pc);
    rt_file_forget(fd);
    errno = saved;
}

void rt_fd_made(struct rt_thread *t, int fd, enum hd_block_type type, uintptr_t pc) {
    if (!rt_is_file(fd)) return;
    int saved = errno;
    rt_file_forget(fd);
    rt_touch_resume(t);
    if (likely(rt.mode != HD_SCHED_OFF)) {
        begins(t, fd, type, pc);
        /* A use that is not ordered after this is of somebody who has the number from before, and
         * means another file. */
        if (!RT_IGNORES(t, true))
            rt_access(t, hd_descriptor_address((uint32_t)fd), HD_DESCRIPTOR_BYTES, true, pc);
    }
    rt_leave(t);
    errno = saved;
}

/* ---- calls that make them ----------------------------------------------------------------------
 */

/* A descriptor with nothing else to it. */
#define MAKES(type, call)                   \
    struct rt_thread *t = rt_touch_begin(); \
    int fd = real call;                     \
    if (t != NULL) rt_fd_made(t, fd, (type), RT_CALLER)
#define ONLY_MAKES(type, call) \
    MAKES(type, call);         \
    return fd

/* A named pipe is found by its inode, at either end. */
static void opened(struct rt_thread *t, int fd, uintptr_t pc) {
    if (t == NULL || !rt_is_file(fd)) return;
    struct stat status;
    bool is_pipe =
        rt_kernel(SYS_fstat, fd, (long)&status, 0, 0, 0, 0) == 0 && S_ISFIFO(status.st_mode);
    rt_fd_made(t, fd, is_pipe ? HD_BLOCK_PIPE : HD_BLOCK_FILE, pc);
    if (is_pipe)
        rt_files[fd].mail_in = rt_files[fd].mail_out =
            rt_mail_number(RT_MAIL_FIFO, status.st_ino ^ (uint64_t)status.st_dev << 40);
}

#define MODE_OF(flags, mode)                                  \
    mode_t mode = 0;                                          \
    if (((flags)&O_CREAT) != 0 || __OPEN_NEEDS_MODE(flags)) { \
        va_list arguments;                                    \
        va_start(arguments, flags);                           \
        mode = va_arg(arguments, mode_t);                     \
        va_end(arguments);                                    \
    }
#define OPENS(call)                         \
    struct rt_thread *t = rt_touch_begin(); \
    int fd = real call;                     \
    opened(t, fd, RT_CALLER);               \
    return fd

RT_EXPORT int open(const char *path, int flags, ...) {
    MODE_OF(flags, mode)
    OPENS((open)(path, flags, mode));
}
RT_EXPORT int open64(const char *path, int flags, ...) {
    MODE_OF(flags, mode)
    OPENS((open64)(path, flags, mode));
}
RT_EXPORT int openat(int directory, const char *path, int flags, ...) {
    MODE_OF(flags, mode)
    OPENS((openat)(directory, path, flags, mode));
}
RT_EXPORT int openat64(int directory, const char *path, int flags, ...) {
    MODE_OF(flags, mode)
    OPENS((openat64)(directory, path, flags, mode));
}
RT_EXPORT int creat(const char *path, mode_t mode) { OPENS((creat)(path, mode)); }
RT_EXPORT int creat64(const char *path, mode_t mode) { OPENS((creat64)(path, mode)); }

RT_EXPORT int __open_2(const char *path, int flags) { OPENS((__open_2)(path, flags)); }
RT_EXPORT int __open64_2(const char *path, int flags) { OPENS((__open64_2)(path, flags)); }
RT_EXPORT int __openat_2(int directory, const char *path, int flags) {
    OPENS((__openat_2)(directory, path, flags));
}
RT_EXPORT int __openat64_2(int directory, const char *path, int flags) {
    OPENS((__openat64_2)(directory, path, flags));
}

RT_EXPORT int mkstemp(char *name) { ONLY_MAKES(HD_BLOCK_FILE, (mkstemp)(name)); }
RT_EXPORT int mkstemp64(char *name) { ONLY_MAKES(HD_BLOCK_FILE, (mkstemp64)(name)); }
RT_EXPORT int mkostemp(char *name, int flags) {
    ONLY_MAKES(HD_BLOCK_FILE, (mkostemp)(name, flags));
}
RT_EXPORT int memfd_create(const char *name, unsigned flags) {
    ONLY_MAKES(HD_BLOCK_FILE, (memfd_create)(name, flags));
}
RT_EXPORT int shm_open(const char *name, int flags, mode_t mode) {
    ONLY_MAKES(HD_BLOCK_FILE, (shm_open)(name, flags, mode));
}
RT_EXPORT int inotify_init(void) { ONLY_MAKES(HD_BLOCK_KERNEL, (inotify_init)()); }
RT_EXPORT int inotify_init1(int flags) { ONLY_MAKES(HD_BLOCK_KERNEL, (inotify_init1)(flags)); }
static int made_epoll(const struct rt_thread *t, int fd) {
    if (t == NULL || !rt_is_file(fd)) return fd;
    struct rt_file *file = &rt_files[fd];
    file->kind = RT_FILE_EPOLL;
    file->mail_in = file->mail_out = rt_mail_number(RT_MAIL_EPOLL, (uint64_t)fd);
    return fd;
}
RT_EXPORT int epoll_create(int size) {
    MAKES(HD_BLOCK_EPOLL, (epoll_create)(size));
    return made_epoll(t, fd);
}
RT_EXPORT int epoll_create1(int flags) {
    MAKES(HD_BLOCK_EPOLL, (epoll_create1)(flags));
    return made_epoll(t, fd);
}
/* Its time runs from the call that sets it. */
RT_EXPORT int timerfd_create(clockid_t clock, int flags) {
    MAKES(HD_BLOCK_KERNEL, (timerfd_create)(clock, flags));
    if (t != NULL && rt_is_file(fd))
        rt_files[fd].mail_in = rt_files[fd].mail_out =
            rt_mail_number(RT_MAIL_TIMER, (uint64_t)fd + 1);
    return fd;
}
RT_EXPORT int timerfd_settime(int fd, int flags, const struct itimerspec *time,
                              struct itimerspec *old) {
    struct rt_thread *t = rt_touch_begin();
    if (t != NULL) {
        rt_fd_used(t, fd, RT_CALLER);
        rt_file_sent_some(t, fd, RT_CALLER);
    }
    return real(timerfd_settime)(fd, flags, time, old);
}
RT_EXPORT int signalfd(int old, const sigset_t *mask, int flags) {
    struct rt_thread *t = rt_touch_begin();
    if (t != NULL && old >= 0) rt_fd_used(t, old, RT_CALLER);
    int fd = real(signalfd)(old, mask, flags);
    if (t != NULL && old < 0 && rt_is_file(fd)) {
        rt_fd_made(t, fd, HD_BLOCK_KERNEL, RT_CALLER);
        rt_files[fd].kind = RT_FILE_SIGNALS;
    }
    return fd;
}

/* ---- copies ------------------------------------------------------------------------------------
 */

static unsigned type_of(int fd) {
    struct stat status;
    if (rt_files[fd].kind == RT_FILE_EPOLL) return HD_BLOCK_EPOLL;
    if (rt_kernel(SYS_fstat, fd, (long)&status, 0, 0, 0, 0) != 0) return HD_BLOCK_FILE;
    return S_ISFIFO(status.st_mode)   ? HD_BLOCK_PIPE
           : S_ISSOCK(status.st_mode) ? HD_BLOCK_SOCKET
                                      : HD_BLOCK_FILE;
}

static void copied(struct rt_thread *t, int fd, int copy, uintptr_t pc) {
    if (!rt_is_file(copy) || !rt_is_file(fd)) return;
    int saved = errno;
    rt_fd_made(t, copy, type_of(copy), pc);
    rt_file_copied(fd, copy);
    errno = saved;
}

/* A copy in the place of a descriptor that is open takes the place at once: who uses the number
 * meanwhile gets the one or the other. Programs do that on purpose, so that nobody gets a third: it
 * is a use of the number, not its end. */
static int copy_to(struct rt_thread *t, int fd, int to, int flags, uintptr_t pc) {
    bool was_open = is_open(to);
    rt_fd_used(t, fd, pc);
    if (was_open && to != fd) {
        rt_fd_used(t, to, pc);
        rt_file_ends(t, to, false, true, pc);
    }
    int copy = flags >= 0 ? real(dup3)(fd, to, flags) : real(dup2)(fd, to);
    if (copy < 0 || copy == fd) return copy;
    if (was_open)
        rt_file_copied(fd, copy);
    else
        copied(t, fd, copy, pc);
    return copy;
}

RT_EXPORT int dup(int fd) {
    struct rt_thread *t = rt_touch_begin();
    if (t != NULL) rt_fd_used(t, fd, RT_CALLER);
    int copy = real(dup)(fd);
    if (t != NULL) copied(t, fd, copy, RT_CALLER);
    return copy;
}
RT_EXPORT int dup2(int fd, int to) {
    struct rt_thread *t = rt_touch_begin();
    return t == NULL ? real(dup2)(fd, to) : copy_to(t, fd, to, -1, RT_CALLER);
}
RT_EXPORT int dup3(int fd, int to, int flags) {
    struct rt_thread *t = rt_touch_begin();
    return t == NULL ? real(dup3)(fd, to, flags) : copy_to(t, fd, to, flags, RT_CALLER);
}

/* A lock that others hold is waited for without the turn: first the variant that does not wait. */
RT_INLINE int control(int fd, int command, void *argument, uintptr_t pc) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(fcntl)(fd, command, argument);
    if (command == F_GETFD) return real(fcntl)(fd, command, argument); /* "is it open?" */
    rt_fd_used(t, fd, pc);
    int try = command == F_SETLKW ? F_SETLK : command == F_OFD_SETLKW ? F_OFD_SETLK : 0;
    if (try == 0) {
        int result = real(fcntl)(fd, command, argument);
        if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) copied(t, fd, result, pc);
        return result;
    }
    if (rt_is_serial()) {
        int saved = errno, result = real(fcntl)(fd, try, argument);
        if (result == 0 || (errno != EAGAIN && errno != EACCES)) return result;
        errno = saved;
    }
    return WITHOUT_TURN(t, real(fcntl)(fd, command, argument));
}
RT_EXPORT int fcntl(int fd, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return control(fd, command, argument, RT_CALLER);
}
RT_EXPORT int fcntl64(int fd, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return control(fd, command, argument, RT_CALLER);
}

/* ---- calls that close them ---------------------------------------------------------------------
 */

RT_EXPORT int close(int fd) {
    struct rt_thread *t = rt_touch_begin();
    if (t != NULL) rt_fd_closes(t, fd, RT_CALLER);
    return real(close)(fd);
}
RT_EXPORT DIR *opendir(const char *path) {
    struct rt_thread *t = rt_touch_begin();
    DIR *directory = real(opendir)(path);
    if (t != NULL && directory != NULL) rt_fd_made(t, dirfd(directory), HD_BLOCK_FILE, RT_CALLER);
    return directory;
}
RT_EXPORT int closedir(DIR *directory) {
    struct rt_thread *t = rt_touch_begin();
    if (t != NULL) rt_fd_closes(t, dirfd(directory), RT_CALLER);
    return real(closedir)(directory);
}

static void close_all(struct rt_thread *t, unsigned first, unsigned last, uintptr_t pc) {
    for (unsigned fd = first; fd <= last && fd <= (unsigned)highest; fd++)
        if (rt_files[fd].state == RT_FILE_OPEN) rt_fd_closes(t, (int)fd, pc);
}
#if __GLIBC_PREREQ(2, 34)
RT_REAL_VARIABLE(close_range)
RT_REAL_VARIABLE(closefrom)
RT_EXPORT int close_range(unsigned first, unsigned last, int flags) {
    struct rt_thread *t = rt_touch_begin();
    if (t != NULL && flags == 0) close_all(t, first, last, RT_CALLER);
    return real(close_range)(first, last, flags);
}
RT_EXPORT void closefrom(int first) {
    struct rt_thread *t = rt_touch_begin();
    if (t != NULL) close_all(t, first > 0 ? (unsigned)first : 0, UINT32_MAX, RT_CALLER);
    real(closefrom)(first);
}
#endif

/* ---- calls that only use them ------------------------------------------------------------------
 */

/* Those that tell whether it is open (fstat, F_GETFD) are no uses: programs ask. */
#define USES(call)                               \
    struct rt_thread *t = rt_touch_begin();      \
    if (t != NULL) rt_fd_used(t, fd, RT_CALLER); \
    return real call

RT_EXPORT off_t lseek(int fd, off_t offset, int whence) { USES((lseek)(fd, offset, whence)); }
RT_EXPORT off64_t lseek64(int fd, off64_t offset, int whence) {
    USES((lseek64)(fd, offset, whence));
}
RT_EXPORT int ftruncate(int fd, off_t size) { USES((ftruncate)(fd, size)); }
RT_EXPORT int ftruncate64(int fd, off64_t size) { USES((ftruncate64)(fd, size)); }
RT_EXPORT int fsync(int fd) { USES((fsync)(fd)); }
RT_EXPORT int fdatasync(int fd) { USES((fdatasync)(fd)); }
RT_EXPORT int ioctl(int fd, unsigned long command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    USES((ioctl)(fd, command, argument));
}
