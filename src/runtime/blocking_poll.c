/* Waiting for one of several files: poll, select, epoll. Each is first asked without waiting: an
 * answer that is there already is taken with the turn. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "runtime/blocking.h"
#include "runtime/files.h"
#include "runtime/strings_plain.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

int __poll_chk(struct pollfd *set, nfds_t count, int timeout, size_t room);
int __ppoll_chk(struct pollfd *set, nfds_t count, const struct timespec *timeout,
                const sigset_t *mask, size_t room);

/* clang-format off */
#define FUNCTIONS(X)                                                                              \
    X(poll) X(ppoll) X(__poll_chk) X(__ppoll_chk) X(select) X(pselect) X(epoll_wait)              \
    X(epoll_pwait)
/* clang-format on */
RT_REAL_FUNCTIONS(FUNCTIONS)

/* `once` asks without waiting, `call` is the call itself; both are expressions of type int. */
#define ASK_THEN_WAIT(t, waits, once, call)                          \
    __extension__({                                                  \
        int asked = 0;                                               \
        if (!rt_is_serial() || ((asked = (once)) == 0 && (waits))) { \
            asked = WITHOUT_TURN(t, call);                           \
        } else if (asked == 0) {                                     \
            rt_let_others(t);                                        \
        }                                                            \
        asked;                                                       \
    })

static const struct timespec now = {0, 0};

static bool takes_time(const struct timespec *timeout) {
    return timeout == NULL || timeout->tv_sec != 0 || timeout->tv_nsec != 0;
}

/* ---- poll ---------------------------------------------------------------------------------- */

RT_PROGRAM static void polls(struct rt_thread *t, const struct pollfd *set, nfds_t count,
                             uintptr_t pc) {
    for (nfds_t i = 0; i < count; i++) rt_fd_used(t, set[i].fd, pc);
}
/* What made it ready comes before the answer. */
RT_PROGRAM static int polled(struct rt_thread *t, const struct pollfd *set, nfds_t count,
                             int answer, uintptr_t pc) {
    for (nfds_t i = 0; i < count && answer > 0; i++)
        if (set[i].revents & (POLLIN | POLLPRI | POLLRDHUP | POLLHUP | POLLERR))
            rt_file_ready(t, set[i].fd, pc);
    return answer;
}

RT_EXPORT int poll(struct pollfd *set, nfds_t count, int timeout) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(poll)(set, count, timeout);
    polls(t, set, count, RT_CALLER);
    int answer =
        ASK_THEN_WAIT(t, timeout != 0, real(poll)(set, count, 0), real(poll)(set, count, timeout));
    return polled(t, set, count, answer, RT_CALLER);
}
RT_EXPORT int __poll_chk(struct pollfd *set, nfds_t count, int timeout, size_t room) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(__poll_chk)(set, count, timeout, room);
    polls(t, set, count, RT_CALLER);
    int answer = ASK_THEN_WAIT(t, timeout != 0, real(__poll_chk)(set, count, 0, room),
                               real(__poll_chk)(set, count, timeout, room));
    return polled(t, set, count, answer, RT_CALLER);
}
RT_EXPORT int ppoll(struct pollfd *set, nfds_t count, const struct timespec *timeout,
                    const sigset_t *mask) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(ppoll)(set, count, timeout, mask);
    polls(t, set, count, RT_CALLER);
    int answer = ASK_THEN_WAIT(t, takes_time(timeout), real(ppoll)(set, count, &now, mask),
                               real(ppoll)(set, count, timeout, mask));
    return polled(t, set, count, answer, RT_CALLER);
}
RT_EXPORT int __ppoll_chk(struct pollfd *set, nfds_t count, const struct timespec *timeout,
                          const sigset_t *mask, size_t room) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(__ppoll_chk)(set, count, timeout, mask, room);
    polls(t, set, count, RT_CALLER);
    int answer =
        ASK_THEN_WAIT(t, takes_time(timeout), real(__ppoll_chk)(set, count, &now, mask, room),
                      real(__ppoll_chk)(set, count, timeout, mask, room));
    return polled(t, set, count, answer, RT_CALLER);
}

/* ---- select: its answer takes the question's place, so the question is kept
 * ---------------------- */

#define SETS 3
#define MOST_FILES 4096
#define WORD_BITS (8 * (int)sizeof(long))

struct question {
    long word[SETS][MOST_FILES / WORD_BITS];
};

static size_t set_bytes(int files) {
    return (size_t)(files + WORD_BITS - 1) / WORD_BITS * sizeof(long);
}
static void keep(struct question *question, fd_set *const *set, int files) {
    for (int i = 0; i < SETS; i++)
        if (set[i] != NULL) plain_memmove(question->word[i], set[i], set_bytes(files));
}
static void ask_again(const struct question *question, fd_set *const *set, int files) {
    for (int i = 0; i < SETS; i++)
        if (set[i] != NULL) plain_memmove(set[i], question->word[i], set_bytes(files));
}

/* True if the answer was there; if not the sets are as before. */
static bool select_now(int files, fd_set *const *set, const sigset_t *mask, int *answer) {
    struct question question;
    if (!rt_is_serial() || files < 0 || files > MOST_FILES) return false;
    keep(&question, set, files);
    *answer = real(pselect)(files, set[0], set[1], set[2], &now, mask);
    if (*answer != 0) return true;
    ask_again(&question, set, files);
    return false;
}

static bool is_in(const fd_set *set, int fd) {
    return set != NULL && (((const long *)(const void *)set)[fd / WORD_BITS] >> fd % WORD_BITS & 1);
}
RT_PROGRAM static void selects(struct rt_thread *t, int files, fd_set *const *set, uintptr_t pc) {
    for (int fd = 0; fd < files && fd < MOST_FILES; fd++)
        if (is_in(set[0], fd) || is_in(set[1], fd) || is_in(set[2], fd)) rt_fd_used(t, fd, pc);
}
RT_PROGRAM static int selected(struct rt_thread *t, int files, fd_set *const *set, int answer,
                               uintptr_t pc) {
    for (int fd = 0; fd < files && fd < MOST_FILES && answer > 0; fd++)
        if (is_in(set[0], fd) || is_in(set[2], fd)) rt_file_ready(t, fd, pc);
    return answer;
}

RT_EXPORT int select(int files, fd_set *restrict in, fd_set *restrict out, fd_set *restrict except,
                     struct timeval *restrict timeout) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(select)(files, in, out, except, timeout);
    fd_set *const set[SETS] = {in, out, except};
    int answer;
    selects(t, files, set, RT_CALLER);
    if (timeout == NULL || timeout->tv_sec != 0 || timeout->tv_usec != 0) {
        if (!select_now(files, set, NULL, &answer))
            answer = WITHOUT_TURN(t, real(select)(files, in, out, except, timeout));
        return selected(t, files, set, answer, RT_CALLER);
    }
    answer = real(select)(files, in, out, except, timeout);
    if (answer == 0) rt_let_others(t);
    return selected(t, files, set, answer, RT_CALLER);
}

RT_EXPORT int pselect(int files, fd_set *restrict in, fd_set *restrict out, fd_set *restrict except,
                      const struct timespec *restrict timeout, const sigset_t *restrict mask) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(pselect)(files, in, out, except, timeout, mask);
    fd_set *const set[SETS] = {in, out, except};
    int answer;
    selects(t, files, set, RT_CALLER);
    if (takes_time(timeout)) {
        if (!select_now(files, set, mask, &answer))
            answer = WITHOUT_TURN(t, real(pselect)(files, in, out, except, timeout, mask));
        return selected(t, files, set, answer, RT_CALLER);
    }
    answer = real(pselect)(files, in, out, except, timeout, mask);
    if (answer == 0) rt_let_others(t);
    return selected(t, files, set, answer, RT_CALLER);
}

/* ---- epoll --------------------------------------------------------------------------------- */

#define NOTE_EVENTS(answer)                                                   \
    do {                                                                      \
        int saved = errno;                                                    \
        if ((answer) > 0) WRITES(event, (size_t)(answer) * sizeof *event);    \
        if ((answer) > 0) rt_epoll_answered(t, fd, event, answer, RT_CALLER); \
        errno = saved;                                                        \
    } while (0)

RT_EXPORT int epoll_wait(int fd, struct epoll_event *event, int room, int timeout) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(epoll_wait)(fd, event, room, timeout);
    rt_fd_used(t, fd, RT_CALLER);
    int answer = ASK_THEN_WAIT(t, timeout != 0, real(epoll_wait)(fd, event, room, 0),
                               real(epoll_wait)(fd, event, room, timeout));
    NOTE_EVENTS(answer);
    return answer;
}
RT_EXPORT int epoll_pwait(int fd, struct epoll_event *event, int room, int timeout,
                          const sigset_t *mask) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(epoll_pwait)(fd, event, room, timeout, mask);
    rt_fd_used(t, fd, RT_CALLER);
    int answer = ASK_THEN_WAIT(t, timeout != 0, real(epoll_pwait)(fd, event, room, 0, mask),
                               real(epoll_pwait)(fd, event, room, timeout, mask));
    NOTE_EVENTS(answer);
    return answer;
}

#if __GLIBC_PREREQ(2, 35)
RT_REAL_VARIABLE(epoll_pwait2)
RT_EXPORT int epoll_pwait2(int fd, struct epoll_event *event, int room,
                           const struct timespec *timeout, const sigset_t *mask) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return real(epoll_pwait2)(fd, event, room, timeout, mask);
    rt_fd_used(t, fd, RT_CALLER);
    int answer =
        ASK_THEN_WAIT(t, takes_time(timeout), real(epoll_pwait2)(fd, event, room, &now, mask),
                      real(epoll_pwait2)(fd, event, room, timeout, mask));
    NOTE_EVENTS(answer);
    return answer;
}
#endif
