/* Locks: mutexes of all kinds, reader-writer locks, spin locks, and their C11 names. Under serial a
 * thread that finds a lock taken is blocked in our scheduler and tries again when it is released;
 * the real object is always taken and released too, so that code outside our view sees the truth.
 */
#define _GNU_SOURCE
#include "runtime/rt.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

/* ---- mutexes ------------------------------------------------------------------------------ */

/* Bits of glibc's __kind. */
#define MUTEX_ROBUST_BIT 16
#define MOST_ROBUST 2048u     /* as the kernel: a list may be damaged */
#define MUTEX_LOST 0x7ffffffe /* its __owner: one died with it, and nobody mended what it left */
#define MUTEX_SHARED_BIT 128  /* other processes may hold it; robust ones have it too */

RT_PROGRAM static bool errorcheck_own(const pthread_mutex_t *m, const struct rt_thread *t) {
    return (m->__data.__kind & 3) == PTHREAD_MUTEX_ERRORCHECK_NP && m->__data.__owner == t->tid;
}

/* The C library's own way to try a robust mutex that can't be recovered leaves it locked; its way
 * to lock one never waits. */
RT_PROGRAM static int mutex_try(pthread_mutex_t *m) {
    if ((m->__data.__kind & MUTEX_ROBUST_BIT) && m->__data.__owner == MUTEX_LOST)
        return REAL(pthread_mutex_lock)(m);
    return REAL(pthread_mutex_trylock)(m);
}

/* Takes the mutex; deadline NULL waits for ever. */
RT_PROGRAM static int mutex_take(struct rt_thread *t, pthread_mutex_t *m, clockid_t clock,
                                 const struct timespec *deadline, uintptr_t pc) {
    int result = mutex_try(m);
    if (unlikely(rt.parent_session != NULL) && deadline == NULL)
        rt_child_taking(m, false, result == EBUSY && !(m->__data.__kind & MUTEX_SHARED_BIT), pc);
    if (result != EBUSY) return result;
    if (deadline != NULL && (deadline->tv_nsec < 0 || deadline->tv_nsec >= 1000000000))
        return EINVAL;
    bool outside =
        rt.mode != HD_SCHED_SERIAL || (m->__data.__kind & MUTEX_SHARED_BIT) || errorcheck_own(m, t);
    if (outside) {
        rt_block_enter(t);
        result = deadline == NULL ? REAL(pthread_mutex_lock)(m)
                                  : REAL(pthread_mutex_clocklock)(m, clock, deadline);
        rt_block_leave(t);
        return result;
    }
    while (result == EBUSY) {
        t->wait_mutex = true;
        bool in_time = rt_sched_block(t, HD_WAIT_LOCK, (uintptr_t)m, deadline, clock, pc);
        t->wait_mutex = false;
        result = mutex_try(m);
        if (result == EBUSY && !in_time) result = ETIMEDOUT;
        t->starved = result == EBUSY;
    }
    return result;
}

void rt_emit_mutex(struct rt_thread *t, unsigned kind, unsigned flags, const pthread_mutex_t *m,
                   uintptr_t pc) {
    uint32_t site = rt_site(t, pc);
    if (rt.mode == HD_SCHED_FREE) rt_owners_mutex(t, (uintptr_t)m);
    if (kind == HD_EV_ACQUIRE)
        t->mutexes++;
    else if (t->mutexes != 0)
        t->mutexes--;
    rt_emit(t, kind, HD_LOCK_MUTEX | flags, (uintptr_t)m, site);
}

static int mutex_lock(struct rt_thread *t, pthread_mutex_t *m, clockid_t clock,
                      const struct timespec *deadline, unsigned flags, uintptr_t pc) {
    rt_before_sync(t, (uintptr_t)m, pc);
    if (deadline != NULL) rt_limit(t, deadline, clock, pc);
    int result = mutex_take(t, m, clock, deadline, pc);
    if (result == 0 || result == EOWNERDEAD)
        rt_emit_mutex(t, HD_EV_ACQUIRE, flags, m, pc);
    else if (result == ETIMEDOUT)
        rt_emit_sync(t, HD_EV_TRY_FAILED, HD_LOCK_MUTEX | HD_LOCK_TIMED, (uintptr_t)m, pc);
    return result;
}

/* A mutex that checks its owner, which is another thread: to release it is an error. */
RT_PROGRAM bool rt_mutex_is_foreign(const struct rt_thread *t, const pthread_mutex_t *m) {
    int kind = m->__data.__kind & 3;
    bool checked = kind == PTHREAD_MUTEX_ERRORCHECK_NP || kind == PTHREAD_MUTEX_RECURSIVE_NP;
    return checked && m->__data.__owner != t->tid;
}

RT_PROGRAM static int mutex_unlock(struct rt_thread *t, pthread_mutex_t *m, unsigned flags,
                                   uintptr_t pc) {
    if (rt_mutex_is_foreign(t, m)) return REAL(pthread_mutex_unlock)(m); /* EPERM */
    rt_emit_mutex(t, HD_EV_RELEASE, flags, m, pc);
    int result = REAL(pthread_mutex_unlock)(m);
    if (flags & HD_LOCK_BY_WAIT) /* to release and to wait is one step */
        rt_sched_wake(HD_WAIT_LOCK, (uintptr_t)m, false);
    else
        rt_sched_hand_over(t, HD_WAIT_LOCK, (uintptr_t)m, false);
    rt_after_sync(t);
    return result;
}

RT_PROGRAM static int mutex_trylock(struct rt_thread *t, pthread_mutex_t *m, uintptr_t pc) {
    rt_before_sync(t, (uintptr_t)m, pc);
    int result = mutex_try(m);
    if (result == 0 || result == EOWNERDEAD)
        rt_emit_mutex(t, HD_EV_ACQUIRE, HD_LOCK_BY_TRY, m, pc);
    else if (result == EBUSY)
        rt_emit_sync(t, HD_EV_TRY_FAILED, HD_LOCK_MUTEX, (uintptr_t)m, pc);
    return result;
}

/* The thread ends: robust mutexes that it holds are released, and their next owner gets EOWNERDEAD.
 * The kernel does that, also for those who wait (for a robust mutex, always in the C library). */
RT_PROGRAM void rt_robust_end(struct rt_thread *t) {
    struct robust_list_head *head = NULL;
    size_t bytes = 0;
    if (syscall(SYS_get_robust_list, 0, &head, &bytes) != 0 || head == NULL) return;
    struct robust_list *at = head->list.next;
    for (unsigned i = 0; i < MOST_ROBUST && at != &head->list; i++) {
        /* The lowest bit says that the mutex inherits priorities. */
        uintptr_t entry = (uintptr_t)at & ~(uintptr_t)1;
        at = ((struct robust_list *)entry)->next;
        const pthread_mutex_t *m =
            (const void *)(entry - offsetof(pthread_mutex_t, __data.__list.__next));
        bool recursive = (m->__data.__kind & 3) == PTHREAD_MUTEX_RECURSIVE_NP;
        for (unsigned depth = recursive ? m->__data.__count : 1; depth > 0; depth--)
            rt_emit_mutex(t, HD_EV_RELEASE, 0, m, 0);
    }
}

/* For condition variables. */
int rt_mutex_release(struct rt_thread *t, pthread_mutex_t *m, uintptr_t pc) {
    return mutex_unlock(t, m, HD_LOCK_BY_WAIT, pc);
}
int rt_mutex_acquire(struct rt_thread *t, pthread_mutex_t *m, uintptr_t pc) {
    return mutex_lock(t, m, 0, NULL, HD_LOCK_BY_WAIT, pc);
}

/* Body of an interceptor that takes a lock: as RT_INTERCEPT, and a child process that is not
 * recorded tells what it does. */
#define INTERCEPT_TAKING(real_call, child_call, body)                        \
    struct rt_thread *t = rt_enter();                                        \
    if (t == NULL && unlikely(rt.parent_session != NULL)) return child_call; \
    if (t == NULL) return REAL real_call;                                    \
    int result = body;                                                       \
    rt_leave(t);                                                             \
    return result

RT_PROGRAM static int child_mutex_lock(pthread_mutex_t *m, uintptr_t pc) {
    struct hd_wire_child_lock *told = rt_child_takes(m, false, pc);
    int result = mutex_try(m);
    if (result != EBUSY) return result;
    if (m->__data.__kind & MUTEX_SHARED_BIT) return REAL(pthread_mutex_lock)(m);
    rt_child_waits(told, pc);
    result = REAL(pthread_mutex_lock)(m);
    rt_child_goes_on(told);
    return result;
}

RT_EXPORT int pthread_mutex_lock(pthread_mutex_t *m) {
    INTERCEPT_TAKING((pthread_mutex_lock)(m), child_mutex_lock(m, RT_CALLER),
                     mutex_lock(t, m, 0, NULL, 0, RT_CALLER));
}
RT_EXPORT int pthread_mutex_trylock(pthread_mutex_t *m) {
    RT_INTERCEPT((pthread_mutex_trylock)(m), mutex_trylock(t, m, RT_CALLER));
}
RT_EXPORT int pthread_mutex_timedlock(pthread_mutex_t *restrict m,
                                      const struct timespec *restrict deadline) {
    RT_INTERCEPT((pthread_mutex_timedlock)(m, deadline),
                 mutex_lock(t, m, CLOCK_REALTIME, deadline, HD_LOCK_BY_TRY, RT_CALLER));
}
RT_EXPORT int pthread_mutex_clocklock(pthread_mutex_t *restrict m, clockid_t clock,
                                      const struct timespec *restrict deadline) {
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return EINVAL;
    RT_INTERCEPT((pthread_mutex_clocklock)(m, clock, deadline),
                 mutex_lock(t, m, clock, deadline, HD_LOCK_BY_TRY, RT_CALLER));
}
RT_EXPORT int pthread_mutex_unlock(pthread_mutex_t *m) {
    RT_INTERCEPT((pthread_mutex_unlock)(m), mutex_unlock(t, m, 0, RT_CALLER));
}

int rt_c11_error(int error) {
    switch (error) {
    case 0:
        return thrd_success;
    case EBUSY:
        return thrd_busy;
    case ETIMEDOUT:
        return thrd_timedout;
    case ENOMEM:
        return thrd_nomem;
    default:
        return thrd_error;
    }
}

RT_EXPORT int mtx_lock(mtx_t *m) {
    INTERCEPT_TAKING((mtx_lock)(m), rt_c11_error(child_mutex_lock((pthread_mutex_t *)m, RT_CALLER)),
                     rt_c11_error(mutex_lock(t, (pthread_mutex_t *)m, 0, NULL, 0, RT_CALLER)));
}
RT_EXPORT int mtx_trylock(mtx_t *m) {
    RT_INTERCEPT((mtx_trylock)(m), rt_c11_error(mutex_trylock(t, (pthread_mutex_t *)m, RT_CALLER)));
}
RT_EXPORT int mtx_timedlock(mtx_t *restrict m, const struct timespec *restrict deadline) {
    RT_INTERCEPT((mtx_timedlock)(m, deadline),
                 rt_c11_error(mutex_lock(t, (pthread_mutex_t *)m, CLOCK_REALTIME, deadline,
                                         HD_LOCK_BY_TRY, RT_CALLER)));
}
RT_EXPORT int mtx_unlock(mtx_t *m) {
    RT_INTERCEPT((mtx_unlock)(m),
                 rt_c11_error(mutex_unlock(t, (pthread_mutex_t *)m, 0, RT_CALLER)));
}

/* ---- reader-writer locks ------------------------------------------------------------------ */

static int rwlock_try(pthread_rwlock_t *l, bool write) {
    return write ? REAL(pthread_rwlock_trywrlock)(l) : REAL(pthread_rwlock_tryrdlock)(l);
}

static int rwlock_real(pthread_rwlock_t *l, bool write, clockid_t clock,
                       const struct timespec *deadline) {
    if (deadline == NULL)
        return write ? REAL(pthread_rwlock_wrlock)(l) : REAL(pthread_rwlock_rdlock)(l);
    return write ? REAL(pthread_rwlock_clockwrlock)(l, clock, deadline)
                 : REAL(pthread_rwlock_clockrdlock)(l, clock, deadline);
}

RT_PROGRAM static int rwlock_take(struct rt_thread *t, pthread_rwlock_t *l, bool write,
                                  clockid_t clock, const struct timespec *deadline, uintptr_t pc) {
    int result = rwlock_try(l, write);
    if (unlikely(rt.parent_session != NULL) && deadline == NULL)
        rt_child_taking(l, !write, result == EBUSY && !l->__data.__shared, pc);
    if (result != EBUSY) return result;
    if (deadline != NULL && (deadline->tv_nsec < 0 || deadline->tv_nsec >= 1000000000))
        return EINVAL;
    if (rt.mode != HD_SCHED_SERIAL || l->__data.__shared) {
        rt_block_enter(t);
        result = rwlock_real(l, write, clock, deadline);
        rt_block_leave(t);
        return result;
    }
    /* The C library sees that a thread asks again for what it has written-locked itself. */
    if (l->__data.__cur_writer == t->tid) return rwlock_real(l, write, clock, deadline);
    while (result == EBUSY) {
        t->wait_reads = !write;
        bool in_time = rt_sched_block(t, HD_WAIT_LOCK, (uintptr_t)l, deadline, clock, pc);
        t->wait_reads = false;
        result = rwlock_try(l, write);
        if (result == EBUSY && !in_time) result = ETIMEDOUT;
        t->starved = result == EBUSY;
    }
    return result;
}

/* One that keeps readers out while a writer waits: here nobody waits in the lock itself, so that
 * this does not come about. */
static void tell_preference(struct rt_thread *t, const pthread_rwlock_t *l, uintptr_t pc) {
    if (l->__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) rt_choice(t, pc);
}

static int rwlock_lock(struct rt_thread *t, pthread_rwlock_t *l, bool write, clockid_t clock,
                       const struct timespec *deadline, uintptr_t pc) {
    rt_before_sync(t, (uintptr_t)l, pc);
    tell_preference(t, l, pc);
    if (deadline != NULL) rt_limit(t, deadline, clock, pc);
    int result = rwlock_take(t, l, write, clock, deadline, pc);
    unsigned flags = HD_LOCK_RWLOCK | (deadline != NULL ? HD_LOCK_BY_TRY : 0);
    unsigned reads = write ? 0 : HD_LOCK_READS;
    if (result == 0)
        rt_emit_sync(t, write ? HD_EV_ACQUIRE : HD_EV_READ_ACQUIRE, flags, (uintptr_t)l, pc);
    else if (result == ETIMEDOUT)
        rt_emit_sync(t, HD_EV_TRY_FAILED, HD_LOCK_RWLOCK | HD_LOCK_TIMED | reads, (uintptr_t)l, pc);
    return result;
}

static int rwlock_trylock(struct rt_thread *t, pthread_rwlock_t *l, bool write, uintptr_t pc) {
    rt_before_sync(t, (uintptr_t)l, pc);
    tell_preference(t, l, pc);
    int result = rwlock_try(l, write);
    if (result == 0)
        rt_emit_sync(t, write ? HD_EV_ACQUIRE : HD_EV_READ_ACQUIRE, HD_LOCK_RWLOCK | HD_LOCK_BY_TRY,
                     (uintptr_t)l, pc);
    else if (result == EBUSY)
        rt_emit_sync(t, HD_EV_TRY_FAILED, HD_LOCK_RWLOCK | (write ? 0 : HD_LOCK_READS),
                     (uintptr_t)l, pc);
    return result;
}

RT_PROGRAM static int rwlock_unlock(struct rt_thread *t, pthread_rwlock_t *l, uintptr_t pc) {
    bool write = l->__data.__cur_writer == t->tid;
    rt_emit_sync(t, write ? HD_EV_RELEASE : HD_EV_READ_RELEASE, HD_LOCK_RWLOCK, (uintptr_t)l, pc);
    int result = REAL(pthread_rwlock_unlock)(l);
    rt_sched_hand_over(t, HD_WAIT_LOCK, (uintptr_t)l, true);
    rt_after_sync(t);
    return result;
}

RT_PROGRAM static int child_rwlock_lock(pthread_rwlock_t *l, bool write, uintptr_t pc) {
    struct hd_wire_child_lock *told = rt_child_takes(l, !write, pc);
    int result = rwlock_try(l, write);
    if (result != EBUSY) return result;
    if (l->__data.__shared) return rwlock_real(l, write, 0, NULL);
    rt_child_waits(told, pc);
    result = rwlock_real(l, write, 0, NULL);
    rt_child_goes_on(told);
    return result;
}

RT_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *l) {
    INTERCEPT_TAKING((pthread_rwlock_rdlock)(l), child_rwlock_lock(l, false, RT_CALLER),
                     rwlock_lock(t, l, false, 0, NULL, RT_CALLER));
}
RT_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *l) {
    INTERCEPT_TAKING((pthread_rwlock_wrlock)(l), child_rwlock_lock(l, true, RT_CALLER),
                     rwlock_lock(t, l, true, 0, NULL, RT_CALLER));
}
RT_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t *l) {
    RT_INTERCEPT((pthread_rwlock_tryrdlock)(l), rwlock_trylock(t, l, false, RT_CALLER));
}
RT_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t *l) {
    RT_INTERCEPT((pthread_rwlock_trywrlock)(l), rwlock_trylock(t, l, true, RT_CALLER));
}
RT_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t *restrict l,
                                         const struct timespec *restrict deadline) {
    RT_INTERCEPT((pthread_rwlock_timedrdlock)(l, deadline),
                 rwlock_lock(t, l, false, CLOCK_REALTIME, deadline, RT_CALLER));
}
RT_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t *restrict l,
                                         const struct timespec *restrict deadline) {
    RT_INTERCEPT((pthread_rwlock_timedwrlock)(l, deadline),
                 rwlock_lock(t, l, true, CLOCK_REALTIME, deadline, RT_CALLER));
}
RT_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t *restrict l, clockid_t clock,
                                         const struct timespec *restrict deadline) {
    RT_INTERCEPT((pthread_rwlock_clockrdlock)(l, clock, deadline),
                 rwlock_lock(t, l, false, clock, deadline, RT_CALLER));
}
RT_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t *restrict l, clockid_t clock,
                                         const struct timespec *restrict deadline) {
    RT_INTERCEPT((pthread_rwlock_clockwrlock)(l, clock, deadline),
                 rwlock_lock(t, l, true, clock, deadline, RT_CALLER));
}
RT_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *l) {
    RT_INTERCEPT((pthread_rwlock_unlock)(l), rwlock_unlock(t, l, RT_CALLER));
}

/* ---- spin locks --------------------------------------------------------------------------- */

static int spin_lock(struct rt_thread *t, pthread_spinlock_t *l, uintptr_t pc) {
    int result = 0;
    rt_before_sync(t, (uintptr_t)l, pc);
    if (rt.mode == HD_SCHED_SERIAL) {
        while ((result = REAL(pthread_spin_trylock)(l)) == EBUSY) {
            rt_sched_block(t, HD_WAIT_LOCK, (uintptr_t)l, NULL, 0, pc);
            t->starved = true;
        }
        t->starved = false;
    } else {
        rt_block_enter(t);
        result = REAL(pthread_spin_lock)(l);
        rt_block_leave(t);
    }
    if (result == 0) rt_emit_sync(t, HD_EV_ACQUIRE, HD_LOCK_SPIN, (uintptr_t)l, pc);
    return result;
}

static int spin_trylock(struct rt_thread *t, pthread_spinlock_t *l, uintptr_t pc) {
    rt_before_sync(t, (uintptr_t)l, pc);
    int result = REAL(pthread_spin_trylock)(l);
    unsigned flags = HD_LOCK_SPIN | (result == 0 ? HD_LOCK_BY_TRY : 0);
    rt_emit_sync(t, result == 0 ? HD_EV_ACQUIRE : HD_EV_TRY_FAILED, flags, (uintptr_t)l, pc);
    return result;
}

static int spin_unlock(struct rt_thread *t, pthread_spinlock_t *l, uintptr_t pc) {
    rt_emit_sync(t, HD_EV_RELEASE, HD_LOCK_SPIN, (uintptr_t)l, pc);
    int result = REAL(pthread_spin_unlock)(l);
    rt_sched_hand_over(t, HD_WAIT_LOCK, (uintptr_t)l, false);
    rt_after_sync(t);
    return result;
}

/* Whether other processes may hold it is not known: that it waits is not told. */
static int child_spin_lock(pthread_spinlock_t *l, uintptr_t pc) {
    rt_child_takes(l, false, pc);
    return REAL(pthread_spin_lock)(l);
}

RT_EXPORT int pthread_spin_lock(pthread_spinlock_t *l) {
    INTERCEPT_TAKING((pthread_spin_lock)(l), child_spin_lock(l, RT_CALLER),
                     spin_lock(t, l, RT_CALLER));
}
RT_EXPORT int pthread_spin_trylock(pthread_spinlock_t *l) {
    RT_INTERCEPT((pthread_spin_trylock)(l), spin_trylock(t, l, RT_CALLER));
}
RT_EXPORT int pthread_spin_unlock(pthread_spinlock_t *l) {
    RT_INTERCEPT((pthread_spin_unlock)(l), spin_unlock(t, l, RT_CALLER));
}
