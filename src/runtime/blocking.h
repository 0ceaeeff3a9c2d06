/* For interceptors of calls that may block in the kernel. Under the serial scheduler such a call
 * gives its turn away, but only if it would really block: a call that returns at once keeps it, so
 * that the order of threads does not depend on the kernel. */
#ifndef HEDDLE_RUNTIME_BLOCKING_H
#define HEDDLE_RUNTIME_BLOCKING_H

#include "runtime/touch.h"

#include <errno.h>

/* A system call that leaves errno alone: returns -errno. */
RT_INLINE long rt_kernel(long number, long a, long b, long c, long d, long e, long f) {
    register long fourth __asm__("r10") = d;
    register long fifth __asm__("r8") = e;
    register long sixth __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    return result;
}

/* Only the serial scheduler cares whether a call would block. */
RT_INLINE bool rt_is_serial(void) { return rt.mode == HD_SCHED_SERIAL; }

/* Runs a call without the turn; its value, and errno as it left it. The thread may be cancelled in
 * the call: it has left the runtime then. */
#define WITHOUT_TURN(t, call)              \
    __extension__({                        \
        rt_touch_resume(t);                \
        rt_block_enter(t);                 \
        __typeof__(call) result_ = (call); \
        int errno_ = errno;                \
        rt_block_leave(t);                 \
        rt_leave(t);                       \
        errno = errno_;                    \
        result_;                           \
    })

/* For a call that found nothing to do and says so at once: whoever calls it in a loop waits for
 * another thread. */
RT_INLINE void rt_let_others(struct rt_thread *t) {
    if (!rt_is_serial()) return;
    int saved = errno;
    rt_touch_resume(t);
    rt_sched_yield(t);
    rt_leave(t);
    errno = saved;
}

#endif
