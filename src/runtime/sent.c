/* Order through signals: who sends one to the process or to a thread comes before the handler that
 * runs because of it, and before the call that takes it. Signals of one number that are not taken
 * yet may be one, so who takes a signal comes after all who have sent it there. Those that come
 * from other processes are no order; those of timers come after the calls that set timers. */
#define _GNU_SOURCE
#include "runtime/files.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <unistd.h>

int tgkill(pid_t pid, pid_t tid, int number);

/* clang-format off */
#define FUNCTIONS(X)                                                                              \
    X(kill) X(killpg) X(sigqueue) X(pthread_kill) X(pthread_sigqueue) X(tgkill) X(alarm)          \
    X(setitimer)
/* clang-format on */
RT_REAL_FUNCTIONS(FUNCTIONS)

static uint16_t to_process(int number) { return rt_mail_number(RT_MAIL_SIGNAL, (uint64_t)number); }
static uint16_t to_thread(pthread_t thread, int number) {
    return rt_mail_number(RT_MAIL_SIGNAL, (uint64_t)thread << 8 ^ (uint64_t)number);
}
static uint16_t of_timers(void) { return rt_mail_number(RT_MAIL_TIMER, 0); }

/* ---- who sends ---------------------------------------------------------------------------------
 */

#define SENDS(mail)                         \
    struct rt_thread *t = rt_touch_begin(); \
    if (t != NULL) rt_mail_sent(t, (mail), RT_CALLER)

RT_EXPORT int kill(pid_t pid, int number) {
    SENDS(to_process(number));
    return real(kill)(pid, number);
}
RT_EXPORT int killpg(pid_t group, int number) {
    SENDS(to_process(number));
    return real(killpg)(group, number);
}
RT_EXPORT int sigqueue(pid_t pid, int number, const union sigval value) {
    SENDS(to_process(number));
    return real(sigqueue)(pid, number, value);
}
RT_EXPORT int pthread_kill(pthread_t thread, int number) {
    SENDS(to_thread(thread, number));
    return real(pthread_kill)(thread, number);
}
RT_EXPORT int pthread_sigqueue(pthread_t thread, int number, const union sigval value) {
    SENDS(to_thread(thread, number));
    return real(pthread_sigqueue)(thread, number, value);
}
/* Which thread that is need not be known. */
RT_EXPORT int tgkill(pid_t pid, pid_t tid, int number) {
    SENDS(to_process(number));
    return real(tgkill)(pid, tid, number);
}
RT_EXPORT unsigned alarm(unsigned seconds) {
    SENDS(of_timers());
    return real(alarm)(seconds);
}
RT_EXPORT int setitimer(__itimer_which_t which, const struct itimerval *restrict value,
                        struct itimerval *restrict old) {
    SENDS(of_timers());
    return real(setitimer)(which, value, old);
}

/* ---- who takes it ------------------------------------------------------------------------------
 */

static void taken(struct rt_thread *t, int number, int code, pid_t pid, uintptr_t pc) {
    bool sent = code == SI_USER || code == SI_QUEUE || code == SI_TKILL;
    if (code == SI_TIMER) rt_async_begun(t); /* after timer_settime, by whomever */
    if (code == SI_KERNEL) rt_mail_take(t, of_timers(), pc);
    if (!sent || pid != getpid()) return;
    /* The C library's sigwaitinfo says SI_USER for SI_TKILL, and tgkill has no pthread_t. */
    rt_mail_take(t, to_process(number), pc);
    rt_mail_take(t, to_thread(pthread_self(), number), pc);
}

void rt_signal_taken(struct rt_thread *t, int number, const void *signal_info, uintptr_t pc) {
    const siginfo_t *info = signal_info;
    taken(t, number, info->si_code, info->si_pid, pc);
}

RT_PROGRAM void rt_signals_read(struct rt_thread *t, const void *from, ssize_t bytes,
                                uintptr_t pc) {
    const struct signalfd_siginfo *info = from;
    int saved = errno;
    rt_touch_resume(t);
    for (; bytes >= (ssize_t)sizeof *info; info++, bytes -= (ssize_t)sizeof *info)
        taken(t, (int)info->ssi_signo, info->ssi_code, (pid_t)info->ssi_pid, pc);
    rt_leave(t);
    errno = saved;
}
