/* For interceptors of functions that read and write the program's memory: how such a call is
 * counted and its ranges recorded, and how the real function is found even before the dynamic
 * loader is done. The real function always runs with the runtime left, so that it may fault, be
 * interrupted by a signal or be cancelled. */
#ifndef HEDDLE_RUNTIME_TOUCH_H
#define HEDDLE_RUNTIME_TOUCH_H

#include "runtime/rt.h"

#include <dlfcn.h>

/* A call begins: it counts, and if another thread's turn has come it waits here. Under serial the
 * thread then has the turn until its next hook, so what the real function does and what is noted
 * after it are one step. NULL: not recording, or a call of the runtime's own. Only for functions
 * that the program calls, and inline parts of them: who called is seen by the return address. */
RT_INLINE struct rt_thread *rt_touch_begin(void) {
    if (likely(rt.mode == HD_SCHED_OFF) || rt_self.busy) return NULL;
    if (rt_is_runtime_code(RT_CALLER) || rt_is_openmp(RT_CALLER)) return NULL;
    struct rt_thread *t = rt_enter();
    if (t != NULL) rt_leave(t);
    return t;
}

/* Back into the runtime after the real function, which may have slept long enough to lose the
 * turn. */
RT_INLINE void rt_touch_resume(struct rt_thread *t) {
    if (unlikely(t->state != RT_RUNNING || t->suspect)) rt_sched_preempted(t);
    t->busy++;
    t->inside++;
}

RT_INLINE void rt_touch(struct rt_thread *t, const volatile void *address, size_t size, bool write,
                        uintptr_t pc) {
    if (size == 0) return;
    rt_touch_resume(t);
    if (likely(rt.mode != HD_SCHED_OFF) && !RT_IGNORES(t, write))
        rt_access(t, (uintptr_t)address, size, write, pc);
    rt_leave(t);
}
/* The same of two ranges of one size. */
RT_INLINE void rt_touch_both(struct rt_thread *t, const volatile void *read,
                             const volatile void *other, bool write, size_t size, uintptr_t pc) {
    if (size == 0) return;
    rt_touch_resume(t);
    if (likely(rt.mode != HD_SCHED_OFF)) {
        if (!RT_IGNORES(t, false)) rt_access(t, (uintptr_t)read, size, false, pc);
        if (!RT_IGNORES(t, write)) rt_access(t, (uintptr_t)other, size, write, pc);
    }
    rt_leave(t);
}
#define READS(address, size) rt_touch(t, (address), (size), false, RT_CALLER)
#define WRITES(address, size) rt_touch(t, (address), (size), true, RT_CALLER)

/* A file lists the functions it stands in front of: FUNCTIONS(X). A constructor finds the real ones
 * together, so that a signal handler need not call dlsym; what runs earlier finds its own. */
#define RT_REAL_VARIABLE(name) static void *real_##name;
#define RT_REAL_FIND(name) real_##name = dlsym(RTLD_NEXT, #name);
#define RT_REAL_FUNCTIONS(FUNCTIONS)                                          \
    FUNCTIONS(RT_REAL_VARIABLE)                                               \
    __attribute__((constructor(101))) static void find_real_functions(void) { \
        FUNCTIONS(RT_REAL_FIND)                                               \
    }
#define RT_REAL_POINTER(name) \
    (likely(real_##name != NULL) ? real_##name : rt_real(#name, &real_##name))
#define real(name) ((__typeof__(&name))RT_REAL_POINTER(name))

#endif
