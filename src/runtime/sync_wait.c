/* Condition variables, barriers and semaphores. Under serial they are carried out by the scheduler:
 * which signal woke which wait, and who is waiting, is known exactly. Objects shared between
 * processes go to the C library in both modes. */
#define _GNU_SOURCE
#include "runtime/rt.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdarg.h>
#include <threads.h>

/* ---- process-shared objects --------------------------------------------------------------- */

static bool any_shared; /* none so far: no need to look */

static void note_shared(const void *address) {
    struct rt_object *object = rt_object_get((uintptr_t)address);
    object->type |= RT_OBJECT_SHARED;
    rt_object_put(object);
    any_shared = true;
}

static bool is_shared(const void *address) {
    if (!any_shared) return false;
    struct rt_object *object = rt_object_get((uintptr_t)address);
    bool shared = object->type & RT_OBJECT_SHARED;
    rt_object_put(object);
    return shared;
}

static bool serial_here(const void *address) {
    return rt.mode == HD_SCHED_SERIAL && !is_shared(address);
}

/* ---- condition variables ------------------------------------------------------------------ */

static void note(enum hd_note_type type, enum hd_note_object what, const void *object,
                 uintptr_t pc) {
    struct rt_thread *t = rt_is_openmp(pc) ? NULL : rt_enter();
    if (t == NULL) return;
    rt_note_life(t, type, what, object, pc);
    rt_leave(t);
}

RT_EXPORT int pthread_cond_init(pthread_cond_t *restrict c,
                                const pthread_condattr_t *restrict attributes) {
    note(HD_NOTE_INIT, HD_NOTE_COND, c, RT_CALLER);
    int result = REAL(pthread_cond_init)(c, attributes);
    int shared = PTHREAD_PROCESS_PRIVATE;
    if (result == 0 && attributes != NULL) {
        pthread_condattr_getpshared(attributes, &shared);
        clockid_t clock = CLOCK_REALTIME;
        pthread_condattr_getclock(attributes, &clock);
        struct rt_object *object = rt_object_get((uintptr_t)c);
        object->extra = (uint32_t)clock;
        rt_object_put(object);
        if (shared == PTHREAD_PROCESS_SHARED) note_shared(c);
    }
    return result;
}

/* Like the C library's: returns when nobody waits for it any more. */
static int cond_destroy(pthread_cond_t *c, uintptr_t pc) {
    struct rt_thread *t = rt_enter();
    while (t != NULL && serial_here(c) && rt_sched_awaited(HD_WAIT_COND, (uintptr_t)c))
        rt_sched_block(t, HD_WAIT_COND | RT_WAIT_UNUSED, (uintptr_t)c, NULL, 0, pc);
    rt_object_drop((uintptr_t)c);
    if (t != NULL) rt_note_life(t, HD_NOTE_DESTROY, HD_NOTE_COND, c, pc);
    int result = REAL(pthread_cond_destroy)(c);
    if (t != NULL) rt_leave(t);
    return result;
}

RT_EXPORT int cnd_init(cnd_t *c) {
    note(HD_NOTE_INIT, HD_NOTE_COND, c, RT_CALLER);
    return REAL(cnd_init)(c);
}
RT_EXPORT int pthread_cond_destroy(pthread_cond_t *c) { return cond_destroy(c, RT_CALLER); }
RT_EXPORT void cnd_destroy(cnd_t *c) { cond_destroy((pthread_cond_t *)c, RT_CALLER); }

static void end_of_wait(const pthread_cond_t *c) {
    rt_sched_wake(HD_WAIT_COND | RT_WAIT_UNUSED, (uintptr_t)c, true);
}

static clockid_t cond_clock(const pthread_cond_t *c) {
    struct rt_object *object = rt_object_get((uintptr_t)c);
    clockid_t clock = (clockid_t)object->extra;
    rt_object_put(object);
    return clock;
}

static uint64_t last_signal(const pthread_cond_t *c) {
    struct rt_object *object = rt_object_get((uintptr_t)c);
    uint64_t number = object->round;
    rt_object_put(object);
    return number;
}

/* Around a wait in the C library: a thread that is cancelled there has its mutex back, and leaves
 * the runtime without returning. */
struct library_wait {
    struct rt_thread *thread;
    pthread_mutex_t *mutex;
    uintptr_t pc;
    bool over;
};
static void end_library_wait(struct library_wait *w) {
    if (w->over) return;
    rt_block_leave(w->thread);
    rt_emit_mutex(w->thread, HD_EV_ACQUIRE, HD_LOCK_BY_WAIT, w->mutex, w->pc);
    rt_leave(w->thread);
}

RT_PROGRAM static int cond_wait(struct rt_thread *t, pthread_cond_t *c, pthread_mutex_t *m,
                                clockid_t clock, const struct timespec *deadline, uintptr_t pc) {
    if (deadline != NULL && (deadline->tv_nsec < 0 || deadline->tv_nsec >= 1000000000))
        return EINVAL;
    rt_before_sync(t, (uintptr_t)c, pc);
    if (deadline != NULL) rt_limit(t, deadline, clock, pc);
    if (serial_here(c)) {
        int result = rt_mutex_release(t, m, pc);
        if (result != 0) return result;
        t->woken = false;
        bool in_time = true;
        /* The signal that ends the wait writes the WAIT event itself, right after its own. */
        /* A signal handler ends it too, as POSIX allows: the thread is off the list while that
         * runs. */
        if (!rt_cancel_pending(t))
            in_time = rt_sched_block(t, HD_WAIT_COND, (uintptr_t)c, deadline, clock, pc);
        bool late = !t->woken && !in_time;
        end_of_wait(c);
        if (late) {
            rt_emit_sync(t, HD_EV_WAIT_TIMEOUT, 0, (uintptr_t)c, pc);
            rt_sched_expired(t);
        } else if (!t->woken)
            rt_emit_sync(t, HD_EV_WAIT, 0, (uintptr_t)c, pc);
        result = rt_mutex_acquire(t, m, pc);
        if (!t->woken) rt_cancel_point(t);
        return late && result == 0 ? ETIMEDOUT : result;
    }
    if (rt_mutex_is_foreign(t, m)) return REAL(pthread_cond_wait)(c, m); /* EPERM */
    rt_emit_mutex(t, HD_EV_RELEASE, HD_LOCK_BY_WAIT, m, pc);
    uint64_t before = last_signal(c);
    struct library_wait wait __attribute__((cleanup(end_library_wait))) = {t, m, pc, false};
    rt_block_enter(t);
    int result = deadline == NULL ? REAL(pthread_cond_wait)(c, m)
                                  : REAL(pthread_cond_clockwait)(c, m, clock, deadline);
    wait.over = true;
    rt_block_leave(t);
    uint64_t after = last_signal(c);
    if (result == 0 && after != before)
        rt_emit_sync_extra(t, HD_EV_WAIT, 0, (uintptr_t)c, after, pc);
    else if (result == ETIMEDOUT)
        rt_emit_sync(t, HD_EV_WAIT_TIMEOUT, 0, (uintptr_t)c, pc);
    rt_emit_mutex(t, HD_EV_ACQUIRE, HD_LOCK_BY_WAIT, m, pc);
    return result;
}

static int cond_signal(struct rt_thread *t, pthread_cond_t *c, bool all, uintptr_t pc) {
    unsigned kind = all ? HD_EV_BROADCAST : HD_EV_SIGNAL;
    if (all) rt_owners_phase(); /* as barriers that programs make for themselves do */
    rt_before_sync(t, (uintptr_t)c, pc);
    if (!serial_here(c)) {
        struct rt_object *object = rt_object_get((uintptr_t)c);
        uint32_t number = atomic_fetch_add(&rt.signals, 1) + 1;
        rt_emit_sync_extra(t, kind, 0, (uintptr_t)c, number, pc);
        object->round = number;
        rt_object_put(object);
    } else {
        uint32_t number = atomic_fetch_add(&rt.signals, 1) + 1;
        rt_emit_sync_extra(t, kind, 0, (uintptr_t)c, number, pc);
        struct rt_thread *waiter;
        uint32_t chosen = rt.options.policy == HD_POLICY_REPLAY ? rt_replay_woken(t) : UINT32_MAX;
        while ((waiter = rt_sched_wake_one(HD_WAIT_COND, (uintptr_t)c, chosen)) != NULL) {
            rt_emit_as(t, waiter);
            uint32_t site = rt_site(waiter, waiter->wait_pc);
            rt_emit_extra(waiter, number, site);
            rt_emit(waiter, HD_EV_WAIT, 0, (uintptr_t)c, site);
            rt_emit_back(t, waiter);
            if (!all) break;
        }
        end_of_wait(c);
    }
    return all ? REAL(pthread_cond_broadcast)(c) : REAL(pthread_cond_signal)(c);
}

RT_EXPORT int pthread_cond_wait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m) {
    RT_INTERCEPT((pthread_cond_wait)(c, m), cond_wait(t, c, m, 0, NULL, RT_CALLER));
}
RT_EXPORT int pthread_cond_timedwait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m,
                                     const struct timespec *restrict deadline) {
    RT_INTERCEPT((pthread_cond_timedwait)(c, m, deadline),
                 cond_wait(t, c, m, cond_clock(c), deadline, RT_CALLER));
}
RT_EXPORT int pthread_cond_clockwait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m,
                                     clockid_t clock, const struct timespec *restrict deadline) {
    RT_INTERCEPT((pthread_cond_clockwait)(c, m, clock, deadline),
                 cond_wait(t, c, m, clock, deadline, RT_CALLER));
}
RT_EXPORT int pthread_cond_signal(pthread_cond_t *c) {
    RT_INTERCEPT((pthread_cond_signal)(c), cond_signal(t, c, false, RT_CALLER));
}
RT_EXPORT int pthread_cond_broadcast(pthread_cond_t *c) {
    RT_INTERCEPT((pthread_cond_broadcast)(c), cond_signal(t, c, true, RT_CALLER));
}

RT_EXPORT int cnd_wait(cnd_t *c, mtx_t *m) {
    RT_INTERCEPT(
        (cnd_wait)(c, m),
        rt_c11_error(cond_wait(t, (pthread_cond_t *)c, (pthread_mutex_t *)m, 0, NULL, RT_CALLER)));
}
RT_EXPORT int cnd_timedwait(cnd_t *restrict c, mtx_t *restrict m,
                            const struct timespec *restrict deadline) {
    RT_INTERCEPT((cnd_timedwait)(c, m, deadline),
                 rt_c11_error(cond_wait(t, (pthread_cond_t *)c, (pthread_mutex_t *)m,
                                        CLOCK_REALTIME, deadline, RT_CALLER)));
}
RT_EXPORT int cnd_signal(cnd_t *c) {
    RT_INTERCEPT((cnd_signal)(c),
                 rt_c11_error(cond_signal(t, (pthread_cond_t *)c, false, RT_CALLER)));
}
RT_EXPORT int cnd_broadcast(cnd_t *c) {
    RT_INTERCEPT((cnd_broadcast)(c),
                 rt_c11_error(cond_signal(t, (pthread_cond_t *)c, true, RT_CALLER)));
}

/* ---- barriers ----------------------------------------------------------------------------- */

RT_EXPORT int pthread_barrier_init(pthread_barrier_t *restrict b,
                                   const pthread_barrierattr_t *restrict attributes,
                                   unsigned count) {
    note(HD_NOTE_INIT, HD_NOTE_BARRIER, b, RT_CALLER);
    int result = REAL(pthread_barrier_init)(b, attributes, count);
    if (result != 0) return result;
    int shared = PTHREAD_PROCESS_PRIVATE;
    if (attributes != NULL) pthread_barrierattr_getpshared(attributes, &shared);
    struct rt_object *object = rt_object_get((uintptr_t)b);
    object->type = RT_OBJECT_BARRIER;
    object->value = count;
    object->extra = 0;
    object->round = object->done = 0;
    rt_object_put(object);
    if (shared == PTHREAD_PROCESS_SHARED) note_shared(b);
    return 0;
}

RT_EXPORT int pthread_barrier_destroy(pthread_barrier_t *b) {
    note(HD_NOTE_DESTROY, HD_NOTE_BARRIER, b, RT_CALLER);
    int result = REAL(pthread_barrier_destroy)(b);
    if (result == 0) rt_object_drop((uintptr_t)b);
    return result;
}

static int barrier_wait(struct rt_thread *t, pthread_barrier_t *b, uintptr_t pc) {
    rt_before_sync(t, (uintptr_t)b, pc);
    struct rt_object *object = rt_object_get((uintptr_t)b);
    if (object->value == 0) { /* initialised before we were there */
        rt_object_put(object);
        rt_block_enter(t);
        int result = REAL(pthread_barrier_wait)(b);
        rt_block_leave(t);
        return result;
    }
    if (object->extra == 0) object->round = atomic_fetch_add(&rt.rounds, 1) + 1;
    uint64_t round = object->round;
    bool last = ++object->extra == object->value;
    if (last) {
        object->extra = 0;
        object->done = round;
        rt_owners_phase();
    }
    rt_emit_sync_extra(t, HD_EV_BARRIER_ARRIVE, 0, (uintptr_t)b, round, pc);
    rt_owners_at_barrier(t);
    rt_object_put(object);
    int result = last ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
    if (!serial_here(b)) {
        rt_block_enter(t);
        result = REAL(pthread_barrier_wait)(b);
        rt_block_leave(t);
    } else if (last) {
        rt_sched_wake(HD_WAIT_BARRIER, (uintptr_t)b, true);
    } else {
        for (bool open = true; open;) {
            rt_sched_block(t, HD_WAIT_BARRIER, (uintptr_t)b, NULL, 0, pc);
            object = rt_object_get((uintptr_t)b);
            open = object->value != 0 && object->done < round;
            rt_object_put(object);
        }
    }
    rt_emit_sync_extra(t, HD_EV_BARRIER_LEAVE, 0, (uintptr_t)b, round, pc);
    return result;
}

RT_EXPORT int pthread_barrier_wait(pthread_barrier_t *b) {
    RT_INTERCEPT((pthread_barrier_wait)(b), barrier_wait(t, b, RT_CALLER));
}

/* ---- semaphores --------------------------------------------------------------------------- */

RT_EXPORT int sem_init(sem_t *s, int shared, unsigned value) {
    struct rt_thread *t = rt_enter();
    int result = REAL(sem_init)(s, shared, value);
    if (result == 0 && shared) note_shared(s);
    if (t == NULL) return result;
    if (result == 0) {
        rt_emit_sync_extra(t, HD_EV_SEM_INIT, 0, (uintptr_t)s, value, RT_CALLER);
        rt_note_life(t, HD_NOTE_INIT, HD_NOTE_SEM, s, RT_CALLER);
    }
    rt_leave(t);
    return result;
}

RT_EXPORT sem_t *sem_open(const char *name, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    unsigned value = flags & O_CREAT ? va_arg(arguments, unsigned) : 0;
    va_end(arguments);
    struct rt_thread *t = rt_enter();
    sem_t *s = REAL(sem_open)(name, flags, mode, value);
    if (s != SEM_FAILED) note_shared(s);
    if (t == NULL) return s;
    int now = 0;
    if (s != SEM_FAILED && REAL(sem_getvalue)(s, &now) == 0 && now >= 0)
        rt_emit_sync_extra(t, HD_EV_SEM_INIT, 0, (uintptr_t)s, (uint64_t)now, RT_CALLER);
    rt_leave(t);
    return s;
}

RT_EXPORT int sem_destroy(sem_t *s) {
    note(HD_NOTE_DESTROY, HD_NOTE_SEM, s, RT_CALLER);
    if (is_shared(s)) rt_object_drop((uintptr_t)s);
    return REAL(sem_destroy)(s);
}

RT_PROGRAM static int sem_take(struct rt_thread *t, sem_t *s, clockid_t clock,
                               const struct timespec *deadline, uintptr_t pc) {
    rt_before_sync(t, (uintptr_t)s, pc);
    if (deadline != NULL) rt_limit(t, deadline, clock, pc);
    if (REAL(sem_trywait)(s) == 0) return 0;
    if (errno != EAGAIN) return -1;
    if (deadline != NULL && (deadline->tv_nsec < 0 || deadline->tv_nsec >= 1000000000)) {
        errno = EINVAL;
        return -1;
    }
    if (!serial_here(s)) {
        rt_block_enter(t);
        int result = deadline == NULL ? REAL(sem_wait)(s) : REAL(sem_clockwait)(s, clock, deadline);
        int saved = errno;
        rt_block_leave(t);
        errno = saved;
        return result;
    }
    uint32_t handlers = t->handlers_run;
    for (;;) {
        bool in_time = rt_sched_block(t, HD_WAIT_SEM, (uintptr_t)s, deadline, clock, pc);
        t->starved = REAL(sem_trywait)(s) != 0;
        if (!t->starved) return 0;
        rt_cancel_point(t);
        if (!in_time || t->handlers_run != handlers) {
            t->starved = false;
            errno = in_time ? EINTR : ETIMEDOUT;
            return -1;
        }
    }
}

#define MISSED (HD_NOTE_MISSED | HD_NOTE_SEM << HD_NOTE_OBJECT_SHIFT)

static int sem_down(struct rt_thread *t, sem_t *s, clockid_t clock, const struct timespec *deadline,
                    uintptr_t pc) {
    int saved = errno, result = sem_take(t, s, clock, deadline, pc);
    if (result != 0) {
        saved = errno;
        if (saved == ETIMEDOUT) rt_tell(t, MISSED | HD_NOTE_TIMED, s, pc);
    } else {
        rt_emit_sync(t, HD_EV_SEM_WAIT, deadline != NULL ? HD_LOCK_BY_TRY : 0, (uintptr_t)s, pc);
    }
    errno = saved;
    return result;
}

RT_EXPORT int sem_wait(sem_t *s) {
    RT_INTERCEPT((sem_wait)(s), sem_down(t, s, 0, NULL, RT_CALLER));
}
RT_EXPORT int sem_timedwait(sem_t *restrict s, const struct timespec *restrict deadline) {
    RT_INTERCEPT((sem_timedwait)(s, deadline), sem_down(t, s, CLOCK_REALTIME, deadline, RT_CALLER));
}
RT_EXPORT int sem_clockwait(sem_t *restrict s, clockid_t clock,
                            const struct timespec *restrict deadline) {
    RT_INTERCEPT((sem_clockwait)(s, clock, deadline), sem_down(t, s, clock, deadline, RT_CALLER));
}

static int sem_try(struct rt_thread *t, sem_t *s, uintptr_t pc) {
    int result = REAL(sem_trywait)(s), saved = errno;
    if (result == 0)
        rt_emit_sync(t, HD_EV_SEM_WAIT, HD_LOCK_BY_TRY, (uintptr_t)s, pc);
    else if (saved == EAGAIN)
        rt_tell(t, MISSED, s, pc);
    errno = saved;
    return result;
}
RT_EXPORT int sem_trywait(sem_t *s) { RT_INTERCEPT((sem_trywait)(s), sem_try(t, s, RT_CALLER)); }

static int sem_up(struct rt_thread *t, sem_t *s, uintptr_t pc) {
    rt_before_sync(t, (uintptr_t)s, pc);
    rt_emit_sync(t, HD_EV_POST, 0, (uintptr_t)s, pc);
    int result = REAL(sem_post)(s);
    rt_sched_hand_over(t, HD_WAIT_SEM, (uintptr_t)s, false);
    return result;
}
RT_EXPORT int sem_post(sem_t *s) { RT_INTERCEPT((sem_post)(s), sem_up(t, s, RT_CALLER)); }
