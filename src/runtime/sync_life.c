/* Synchronisation objects are made and destroyed: the calls leave notes, by which an analysis knows
 * what may come before the one and after the other. Statically initialised objects have none. */
#define _GNU_SOURCE
#include "runtime/rt.h"

#include <threads.h>

void rt_note_life(struct rt_thread *t, enum hd_note_type note, enum hd_note_object what,
                  const volatile void *object, uintptr_t pc) {
    uint32_t site = rt_site(t, pc);
    rt_stamp(t);
    rt_emit(t, HD_EV_NOTE, note | (unsigned)what << HD_NOTE_OBJECT_SHIFT, (uintptr_t)object, site);
}

static void note(enum hd_note_type type, const volatile void *lock, uintptr_t pc) {
    struct rt_thread *t = rt_is_openmp(pc) ? NULL : rt_enter();
    if (unlikely(rt.parent_session != NULL)) rt_child_renews(lock);
    if (t == NULL) return;
    rt_before_sync(t, (uintptr_t)lock, pc);
    rt_note_life(t, type, HD_NOTE_LOCK, lock, pc);
    rt_leave(t);
}

RT_EXPORT int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attributes) {
    note(HD_NOTE_INIT, m, RT_CALLER);
    return REAL(pthread_mutex_init)(m, attributes);
}
RT_EXPORT int pthread_mutex_destroy(pthread_mutex_t *m) {
    note(HD_NOTE_DESTROY, m, RT_CALLER);
    return REAL(pthread_mutex_destroy)(m);
}
RT_EXPORT int pthread_rwlock_init(pthread_rwlock_t *restrict l,
                                  const pthread_rwlockattr_t *restrict attributes) {
    note(HD_NOTE_INIT, l, RT_CALLER);
    return REAL(pthread_rwlock_init)(l, attributes);
}
RT_EXPORT int pthread_rwlock_destroy(pthread_rwlock_t *l) {
    note(HD_NOTE_DESTROY, l, RT_CALLER);
    return REAL(pthread_rwlock_destroy)(l);
}
RT_EXPORT int pthread_spin_init(pthread_spinlock_t *l, int shared) {
    note(HD_NOTE_INIT, l, RT_CALLER);
    return REAL(pthread_spin_init)(l, shared);
}
RT_EXPORT int pthread_spin_destroy(pthread_spinlock_t *l) {
    note(HD_NOTE_DESTROY, l, RT_CALLER);
    return REAL(pthread_spin_destroy)(l);
}
RT_EXPORT int mtx_init(mtx_t *m, int type) {
    note(HD_NOTE_INIT, m, RT_CALLER);
    return REAL(mtx_init)(m, type);
}
RT_EXPORT void mtx_destroy(mtx_t *m) {
    note(HD_NOTE_DESTROY, m, RT_CALLER);
    REAL(mtx_destroy)(m);
}
