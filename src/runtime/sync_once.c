/* One-time initialisation: pthread_once, call_once, and the guards of C++ function-local statics.
 * The initialiser runs as ordinary recorded code; others that come meanwhile wait in our scheduler.
 */
#define _GNU_SOURCE
#include "runtime/rt.h"

#include <threads.h>

/* glibc sets this bit of a pthread_once_t when the initialiser has returned. */
#define ONCE_DONE_BIT 2

/* Free: what is done comes after all that was, and before all that will be, as one step. */
static struct rt_spin done_too;
void rt_once_unlock(void) { done_too.word = 0; }

void rt_emit_done_too(struct rt_thread *t, const char *object, uintptr_t pc) {
    bool free = rt.mode == HD_SCHED_FREE;
    if (free) rt_spin_lock(&done_too);
    rt_emit_sync(t, HD_EV_ONCE_PASS, 0, (uintptr_t)object, pc);
    rt_emit_sync(t, HD_EV_ONCE_DONE, 0, (uintptr_t)object, pc);
    if (free) rt_spin_unlock(&done_too);
}

#define ONCE(what) (HD_NOTE_ONCE | (what) << HD_NOTE_OBJECT_SHIFT)

struct running {
    uintptr_t address;
};

static void set_running(uintptr_t address, uint32_t owner) {
    struct rt_object *object = rt_object_get(address);
    object->owner = owner;
    rt_object_put(object);
}

static uint32_t runner(uintptr_t address) {
    struct rt_object *object = rt_object_get(address);
    uint32_t owner = object->owner;
    rt_object_put(object);
    return owner;
}

/* Also when the initialiser leaves by an exception or a cancellation. */
static void stop_running(struct running *r) {
    set_running(r->address, 0);
    rt_sched_wake(HD_WAIT_ONCE, r->address, true);
}

RT_PROGRAM static int once(struct rt_thread *t, pthread_once_t *control, void (*function)(void),
                           uintptr_t pc) {
    uintptr_t address = (uintptr_t)control;
    for (;;) {
        uint32_t owner = runner(address);
        /* Also when the initialiser has returned: its DONE is to be recorded before any PASS. */
        if (owner != 0 && owner != t->number + 1 && rt.mode == HD_SCHED_SERIAL) {
            rt_sched_block(t, HD_WAIT_ONCE, address, NULL, 0, pc);
            continue;
        }
        if (__atomic_load_n(control, __ATOMIC_ACQUIRE) & ONCE_DONE_BIT) break;
        if (owner != 0) { /* free: wait in the C library; a recursive call hangs as it would */
            rt_block_enter(t);
            REAL(pthread_once)(control, function);
            rt_block_leave(t);
            continue;
        }
        struct running r __attribute__((cleanup(stop_running))) = {address};
        set_running(address, t->number + 1);
        rt_tell(t, ONCE(HD_NOTE_FIRST), control, pc);
        rt_leave(t);
        int result = REAL(pthread_once)(control, function);
        t = rt_enter();
        if (t != NULL) rt_emit_sync(t, HD_EV_ONCE_DONE, 0, address, pc);
        return result;
    }
    rt_emit_sync(t, HD_EV_ONCE_PASS, 0, address, pc);
    return 0;
}

RT_EXPORT int pthread_once(pthread_once_t *control, void (*function)(void)) {
    struct rt_thread *t = rt_enter();
    if (t == NULL) return REAL(pthread_once)(control, function);
    int result = once(t, control, function, RT_CALLER);
    if (t->inside) rt_leave(t);
    return result;
}

RT_EXPORT void call_once(once_flag *flag, void (*function)(void)) {
    struct rt_thread *t = rt_enter();
    if (t == NULL) {
        REAL(call_once)(flag, function);
        return;
    }
    once(t, (pthread_once_t *)(void *)flag, function, RT_CALLER);
    if (t->inside) rt_leave(t);
}

/* ---- C++ function-local statics: the compiled code reads the guard as an atomic byte --------- */

int __cxa_guard_acquire(int64_t *guard);
void __cxa_guard_release(int64_t *guard);
void __cxa_guard_abort(int64_t *guard);

#define GUARD_FLAGS (5u << 4) /* one byte, sequentially consistent */

RT_EXPORT int __cxa_guard_acquire(int64_t *guard) {
    struct rt_thread *t = rt_enter();
    if (t == NULL) return REAL(__cxa_guard_acquire)(guard);
    uintptr_t address = (uintptr_t)guard;
    uint32_t owner;
    while (rt.mode == HD_SCHED_SERIAL && (owner = runner(address)) != 0 && owner != t->number + 1)
        rt_sched_block(t, HD_WAIT_ONCE, address, NULL, 0, RT_CALLER);
    bool may_block = rt.mode != HD_SCHED_SERIAL;
    if (may_block) rt_block_enter(t);
    int mine = REAL(__cxa_guard_acquire)(guard);
    if (may_block) rt_block_leave(t);
    if (mine) {
        rt_tell(t, ONCE(HD_NOTE_FIRST), guard, RT_CALLER);
        set_running(address, t->number + 1);
    } else {
        rt_tell(t, ONCE(HD_NOTE_PASS), guard, RT_CALLER);
        rt_emit_sync(t, HD_EV_ATOMIC_READ, GUARD_FLAGS, address, RT_CALLER);
    }
    rt_leave(t);
    return mine;
}

RT_EXPORT void __cxa_guard_release(int64_t *guard) {
    struct rt_thread *t = rt_enter();
    if (t != NULL) {
        rt_emit_sync(t, HD_EV_ATOMIC_WRITE, GUARD_FLAGS, (uintptr_t)guard, RT_CALLER);
        rt_tell(t, ONCE(HD_NOTE_DONE), guard, RT_CALLER);
        set_running((uintptr_t)guard, 0);
    }
    REAL(__cxa_guard_release)(guard);
    if (t == NULL) return;
    rt_sched_wake(HD_WAIT_ONCE, (uintptr_t)guard, true);
    rt_leave(t);
}

RT_EXPORT void __cxa_guard_abort(int64_t *guard) {
    struct rt_thread *t = rt_enter();
    if (t != NULL) {
        rt_choice(t, RT_CALLER); /* another one begins anew */
        set_running((uintptr_t)guard, 0);
    }
    REAL(__cxa_guard_abort)(guard);
    if (t == NULL) return;
    rt_sched_wake(HD_WAIT_ONCE, (uintptr_t)guard, true);
    rt_leave(t);
}
