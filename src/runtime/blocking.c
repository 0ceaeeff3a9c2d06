/* Calls that wait for time, for signals, for other processes, for file and System V locks, or for a
 * futex of the program's own: the others run meanwhile. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "runtime/blocking.h"
#include "runtime/files.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <netdb.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* clang-format off */
#define FUNCTIONS(X)                                                                              \
    X(sleep) X(usleep) X(nanosleep) X(clock_nanosleep) X(thrd_sleep) X(sched_yield) X(pause)      \
    X(sigsuspend) X(sigwait) X(sigwaitinfo) X(sigtimedwait) X(wait4) X(waitid) X(system)          \
    X(pclose) X(getaddrinfo) X(flock) X(lockf) X(semop) X(semtimedop) X(msgrcv)          \
    X(msgsnd) X(mq_receive) X(mq_timedreceive) X(mq_send) X(mq_timedsend) X(syscall)
/* clang-format on */
RT_REAL_FUNCTIONS(FUNCTIONS)

/* ---- time ----------------------------------------------------------------------------------- */

RT_PROGRAM static bool no_time(const struct timespec *time) {
    return time != NULL && time->tv_sec == 0 && time->tv_nsec == 0;
}

/* Under some policies sleeping is no more than to let others run: how long it takes is nothing that
 * a program may rely on for its order. */
static bool no_need(struct rt_thread *t) {
    if (!rt_is_serial()) return false;
    int saved = errno;
    rt_touch_resume(t);
    bool done = rt_sched_sleeps(t);
    errno = saved;
    rt_leave(t);
    return done;
}

RT_EXPORT unsigned sleep(unsigned seconds) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(sleep)(seconds);
    if (seconds > 0 && no_need(t)) return 0;
    if (seconds > 0) return WITHOUT_TURN(t, real(sleep)(seconds));
    rt_let_others(t);
    return real(sleep)(0);
}

RT_EXPORT int usleep(useconds_t microseconds) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(usleep)(microseconds);
    if (microseconds > 0 && no_need(t)) return 0;
    if (microseconds > 0) return WITHOUT_TURN(t, real(usleep)(microseconds));
    rt_let_others(t);
    return real(usleep)(0);
}

RT_EXPORT int nanosleep(const struct timespec *time, struct timespec *rest) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(nanosleep)(time, rest);
    if (!no_time(time) && no_need(t)) return 0;
    if (!no_time(time)) return WITHOUT_TURN(t, real(nanosleep)(time, rest));
    rt_let_others(t);
    return real(nanosleep)(time, rest);
}

RT_EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                              struct timespec *rest) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(clock_nanosleep)(clock, flags, time, rest);
    if (!no_time(time) && no_need(t)) return 0;
    if (!no_time(time)) return WITHOUT_TURN(t, real(clock_nanosleep)(clock, flags, time, rest));
    rt_let_others(t);
    return real(clock_nanosleep)(clock, flags, time, rest);
}

RT_EXPORT int thrd_sleep(const struct timespec *time, struct timespec *rest) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(thrd_sleep)(time, rest);
    if (!no_time(time) && no_need(t)) return 0;
    if (!no_time(time)) return WITHOUT_TURN(t, real(thrd_sleep)(time, rest));
    rt_let_others(t);
    return real(thrd_sleep)(time, rest);
}

/* Under serial a yield passes the turn on; the kernel has no part in it. */
RT_INLINE int yield(void) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL || !rt_is_serial()) return real(sched_yield)();
    rt_let_others(t);
    return 0;
}
RT_EXPORT int sched_yield(void) { return yield(); }
RT_EXPORT void thrd_yield(void) { yield(); }
#undef pthread_yield
int pthread_yield_(void) __asm__("pthread_yield");
RT_EXPORT int pthread_yield_(void) { return yield(); }

/* ---- signals -------------------------------------------------------------------------------- */

RT_EXPORT int pause(void) {
    struct rt_thread *t = rt_touch_begin();
    return t == NULL ? real(pause)() : WITHOUT_TURN(t, real(pause)());
}

RT_EXPORT int sigsuspend(const sigset_t *mask) {
    struct rt_thread *t = rt_touch_begin();
    return t == NULL ? real(sigsuspend)(mask) : WITHOUT_TURN(t, real(sigsuspend)(mask));
}

static const struct timespec now = {0, 0};

/* It was taken by a call. */
static int took(struct rt_thread *t, int number, const siginfo_t *info, uintptr_t pc) {
    if (number <= 0) return number;
    int saved = errno;
    rt_touch_resume(t);
    rt_signal_taken(t, number, info, pc);
    rt_leave(t);
    errno = saved;
    return number;
}

/* Is one of the signals there already? True if the call is done, with its result. */
static bool signal_is_there(const sigset_t *set, siginfo_t *info, int *result) {
    if (!rt_is_serial()) return false;
    int saved = errno;
    *result = real(sigtimedwait)(set, info, &now);
    if (*result < 0 && errno == EAGAIN) {
        errno = saved;
        return false;
    }
    return true;
}

RT_EXPORT int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info,
                           const struct timespec *restrict timeout) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(sigtimedwait)(set, info, timeout);
    siginfo_t own;
    if (info == NULL) info = &own;
    int result;
    if (signal_is_there(set, info, &result)) return took(t, result, info, RT_CALLER);
    if (!no_time(timeout)) {
        result = WITHOUT_TURN(t, real(sigtimedwait)(set, info, timeout));
        return took(t, result, info, RT_CALLER);
    }
    rt_let_others(t);
    return real(sigtimedwait)(set, info, timeout);
}

RT_EXPORT int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(sigwaitinfo)(set, info);
    siginfo_t own;
    if (info == NULL) info = &own;
    int result;
    if (!signal_is_there(set, info, &result))
        result = WITHOUT_TURN(t, real(sigwaitinfo)(set, info));
    return took(t, result, info, RT_CALLER);
}

RT_EXPORT int sigwait(const sigset_t *restrict set, int *restrict number) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(sigwait)(set, number);
    int result = 0, saved = errno;
    siginfo_t info;
    /* As the C library does it, which never returns because of a handler. */
    if (!signal_is_there(set, &info, &result) || (result < 0 && errno == EINTR)) {
        do {
            result = WITHOUT_TURN(t, real(sigwaitinfo)(set, &info));
        } while (result < 0 && errno == EINTR);
    }
    if (result < 0) result = -errno;
    errno = saved;
    if (result < 0) return -result;
    *number = took(t, result, &info, RT_CALLER);
    return 0;
}

/* ---- other processes ------------------------------------------------------------------------ */

static pid_t wait_for(struct rt_thread *t, pid_t pid, int *status, int options,
                      struct rusage *usage) {
    if (rt_is_serial()) {
        int saved = errno;
        pid_t ended = real(wait4)(pid, status, options | WNOHANG, usage);
        if (ended != 0) return ended;
        errno = saved;
        if (options & WNOHANG) {
            rt_let_others(t);
            return 0;
        }
    }
    return WITHOUT_TURN(t, real(wait4)(pid, status, options, usage));
}

RT_EXPORT pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(wait4)(pid, status, options, usage);
    return wait_for(t, pid, status, options, usage);
}
RT_EXPORT pid_t wait3(int *status, int options, struct rusage *usage) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(wait4)(-1, status, options, usage);
    return wait_for(t, -1, status, options, usage);
}
RT_EXPORT pid_t waitpid(pid_t pid, int *status, int options) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(wait4)(pid, status, options, NULL);
    return wait_for(t, pid, status, options, NULL);
}
RT_EXPORT pid_t wait(int *status) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(wait4)(-1, status, 0, NULL);
    return wait_for(t, -1, status, 0, NULL);
}

RT_EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(waitid)(type, id, info, options);
    if (rt_is_serial()) {
        siginfo_t unwanted, *where = info != NULL ? info : &unwanted;
        int result = real(waitid)(type, id, where, options | WNOHANG);
        if (result != 0 || where->si_pid != 0) return result;
        if (options & WNOHANG) {
            rt_let_others(t);
            return 0;
        }
    }
    return WITHOUT_TURN(t, real(waitid)(type, id, info, options));
}

RT_EXPORT int system(const char *command) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL || command == NULL) return real(system)(command);
    return WITHOUT_TURN(t, real(system)(command));
}

RT_EXPORT int pclose(FILE *stream) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(pclose)(stream);
    rt_fd_closes(t, fileno_unlocked(stream), RT_CALLER);
    return WITHOUT_TURN(t, real(pclose)(stream));
}

RT_EXPORT int getaddrinfo(const char *restrict node, const char *restrict service,
                          const struct addrinfo *restrict hints,
                          struct addrinfo **restrict result) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(getaddrinfo)(node, service, hints, result);
    return WITHOUT_TURN(t, real(getaddrinfo)(node, service, hints, result));
}

/* ---- file locks: first the variant that does not wait -------------------------------------- */

static bool is_taken(int error) {
    return error == EWOULDBLOCK || error == EAGAIN || error == EACCES;
}

RT_EXPORT int flock(int fd, int operation) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL || operation & LOCK_NB) return real(flock)(fd, operation);
    if (rt_is_serial()) {
        int saved = errno, result = real(flock)(fd, operation | LOCK_NB);
        if (result == 0 || !is_taken(errno)) return result;
        errno = saved;
    }
    return WITHOUT_TURN(t, real(flock)(fd, operation));
}

RT_EXPORT int lockf(int fd, int command, off_t length) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL || command != F_LOCK) return real(lockf)(fd, command, length);
    if (rt_is_serial()) {
        int saved = errno, result = real(lockf)(fd, F_TLOCK, length);
        if (result == 0 || !is_taken(errno)) return result;
        errno = saved;
    }
    return WITHOUT_TURN(t, real(lockf)(fd, command, length));
}
RT_EXPORT int lockf64(int fd, int command, off_t length) __attribute__((alias("lockf")));

/* ---- System V and POSIX queues, System V semaphores ---------------------------------------- */

RT_EXPORT int semtimedop(int id, struct sembuf *operation, size_t count,
                         const struct timespec *timeout) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(semtimedop)(id, operation, count, timeout);
    if (rt_is_serial()) {
        int saved = errno, result = real(semtimedop)(id, operation, count, &now);
        if (result == 0 || errno != EAGAIN) return result;
        errno = saved;
    }
    return WITHOUT_TURN(t, real(semtimedop)(id, operation, count, timeout));
}
RT_EXPORT int semop(int id, struct sembuf *operation, size_t count) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(semop)(id, operation, count);
    if (rt_is_serial()) {
        int saved = errno, result = real(semtimedop)(id, operation, count, &now);
        if (result == 0 || errno != EAGAIN) return result;
        errno = saved;
    }
    return WITHOUT_TURN(t, real(semop)(id, operation, count));
}

/* What is sent to a queue comes before who gets something from it. POSIX's are known by their
 * inode, since every descriptor of one has another number. */
static uint16_t mail_of_queue(int id, bool is_file) {
    struct stat status = {.st_ino = 0};
    if (is_file) rt_kernel(SYS_fstat, id, (long)&status, 0, 0, 0, 0);
    return rt_mail_number(RT_MAIL_QUEUE, is_file ? status.st_ino << 1 | 1 : (uint64_t)id << 1);
}
static void got_from_queue(struct rt_thread *t, uint16_t mail, ssize_t result, uintptr_t pc) {
    if (result >= 0) rt_mail_got(t, mail, pc);
}

RT_EXPORT ssize_t msgrcv(int id, void *message, size_t size, long type, int flags) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(msgrcv)(id, message, size, type, flags);
    ssize_t result;
    int saved = errno;
    if (rt_is_serial()) result = real(msgrcv)(id, message, size, type, flags | IPC_NOWAIT);
    if (!rt_is_serial() || (result < 0 && errno == ENOMSG && !(flags & IPC_NOWAIT))) {
        errno = saved;
        result = WITHOUT_TURN(t, real(msgrcv)(id, message, size, type, flags));
    }
    saved = errno;
    got_from_queue(t, mail_of_queue(id, false), result, RT_CALLER);
    if (result >= 0) WRITES(message, sizeof(long) + (size_t)result);
    errno = saved;
    return result;
}

RT_EXPORT int msgsnd(int id, const void *message, size_t size, int flags) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(msgsnd)(id, message, size, flags);
    READS(message, sizeof(long) + size);
    rt_mail_sent(t, mail_of_queue(id, false), RT_CALLER);
    if (rt_is_serial()) {
        int saved = errno, result = real(msgsnd)(id, message, size, flags | IPC_NOWAIT);
        if (result == 0 || errno != EAGAIN || flags & IPC_NOWAIT) return result;
        errno = saved;
    }
    return WITHOUT_TURN(t, real(msgsnd)(id, message, size, flags));
}

RT_EXPORT ssize_t mq_receive(mqd_t queue, char *to, size_t size, unsigned *priority) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(mq_receive)(queue, to, size, priority);
    ssize_t result = WITHOUT_TURN(t, real(mq_receive)(queue, to, size, priority));
    got_from_queue(t, mail_of_queue(queue, true), result, RT_CALLER);
    if (result > 0) WRITES(to, (size_t)result);
    return result;
}
RT_EXPORT ssize_t mq_timedreceive(mqd_t queue, char *restrict to, size_t size,
                                  unsigned *restrict priority,
                                  const struct timespec *restrict deadline) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(mq_timedreceive)(queue, to, size, priority, deadline);
    ssize_t result = WITHOUT_TURN(t, real(mq_timedreceive)(queue, to, size, priority, deadline));
    got_from_queue(t, mail_of_queue(queue, true), result, RT_CALLER);
    if (result > 0) WRITES(to, (size_t)result);
    return result;
}
RT_EXPORT int mq_send(mqd_t queue, const char *from, size_t size, unsigned priority) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(mq_send)(queue, from, size, priority);
    READS(from, size);
    rt_mail_sent(t, mail_of_queue(queue, true), RT_CALLER);
    return WITHOUT_TURN(t, real(mq_send)(queue, from, size, priority));
}
RT_EXPORT int mq_timedsend(mqd_t queue, const char *from, size_t size, unsigned priority,
                           const struct timespec *deadline) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(mq_timedsend)(queue, from, size, priority, deadline);
    READS(from, size);
    rt_mail_sent(t, mail_of_queue(queue, true), RT_CALLER);
    return WITHOUT_TURN(t, real(mq_timedsend)(queue, from, size, priority, deadline));
}

/* ---- futexes of the program's own ---------------------------------------------------------- */

RT_PROGRAM static bool waits_on_futex(const long *argument) {
    switch ((int)argument[1] & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
        /* The kernel compares too; a value that differs already means that it returns at once. */
        return argument[0] != 0 &&
               __atomic_load_n((uint32_t *)argument[0], __ATOMIC_SEQ_CST) == (uint32_t)argument[2];
    case FUTEX_LOCK_PI:
    case FUTEX_WAIT_REQUEUE_PI:
        return true;
    default:
        return false;
    }
}

/* The runtime's own system calls come through here as well, and go straight to the kernel. */
RT_EXPORT long syscall(long number, ...) {
    long argument[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++) argument[i] = va_arg(arguments, long);
    va_end(arguments);
    if (real_syscall == NULL || rt_is_runtime_code(RT_CALLER)) {
        long result = rt_kernel(number, argument[0], argument[1], argument[2], argument[3],
                                argument[4], argument[5]);
        if (likely((unsigned long)result < -4095ul)) return result;
        errno = (int)-result;
        return -1;
    }
#define FORWARD                                                                            \
    real(syscall)(number, argument[0], argument[1], argument[2], argument[3], argument[4], \
                  argument[5])
    if (number != SYS_futex || !rt_is_serial() || !waits_on_futex(argument)) return FORWARD;
    struct rt_thread *t = rt_touch_begin();
    return t == NULL ? FORWARD : WITHOUT_TURN(t, FORWARD);
#undef FORWARD
}
