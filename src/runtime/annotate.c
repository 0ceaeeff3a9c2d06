/* Annotations a program may carry: heddle's own (heddle/annotate.h), ThreadSanitizer's interface
 * for custom locks and order, and the dynamic annotations older code uses. Custom locks become
 * locks of the trace, happens-before marks become atomic updates and reads of the marked address.
 */
#include "heddle/annotate.h"

#include "runtime/rt.h"

#define ORDER_FLAGS (5u << 4)

static void mark(unsigned kind, unsigned flags, const volatile void *address, uintptr_t pc) {
    struct rt_thread *t = rt_enter();
    if (t == NULL) return;
    rt_emit_sync(t, kind, flags, (uintptr_t)address, pc);
    rt_leave(t);
}

/* ---- heddle's own ------------------------------------------------------------------------------
 */

RT_EXPORT void __heddle_lock(const volatile void *lock, int what) {
    static const uint8_t kinds[] = {[HEDDLE_LOCK_TAKEN] = HD_EV_ACQUIRE,
                                    [HEDDLE_LOCK_RELEASED] = HD_EV_RELEASE,
                                    [HEDDLE_LOCK_READ_TAKEN] = HD_EV_READ_ACQUIRE,
                                    [HEDDLE_LOCK_READ_RELEASED] = HD_EV_READ_RELEASE,
                                    [HEDDLE_LOCK_REFUSED] = HD_EV_TRY_FAILED};
    if (what == HEDDLE_LOCK_CREATED || what == HEDDLE_LOCK_DESTROYED) {
        struct rt_thread *t = rt_enter();
        if (t == NULL) return;
        rt_access(t, (uintptr_t)lock, 1, true, RT_CALLER);
        rt_leave(t);
    } else if (what > 0 && what < (int)sizeof kinds) {
        mark(kinds[what], HD_LOCK_USER, lock, RT_CALLER);
    }
}

RT_EXPORT void __heddle_order(const volatile void *object, int after) {
    mark(after ? HD_EV_ATOMIC_READ : HD_EV_ATOMIC_UPDATE, ORDER_FLAGS, object, RT_CALLER);
}

/* The hooks take the slow path as long as something is ignored. */
RT_EXPORT void __heddle_ignore(int reads, int writes) {
    struct rt_thread *t = rt_enter();
    if (t == NULL) return;
    if (reads > 0 || t->ignores_reads > 0) t->ignores_reads += (uint32_t)reads;
    if (writes > 0 || t->ignores_writes > 0) t->ignores_writes += (uint32_t)writes;
    rt_sched_marked(t);
    rt_leave(t);
}

RT_EXPORT void __heddle_note(const char *text) {
    struct rt_thread *t = rt_enter();
    if (t == NULL) return;
    rt_stamp(t);
    rt_emit(t, HD_EV_NOTE, HD_NOTE_TEXT, (uintptr_t)text, rt_site(t, RT_CALLER));
    rt_leave(t);
}

/* ---- ThreadSanitizer's
 * --------------------------------------------------------------------------- */

#define TSAN_TRY_FAILED (1u << 5)
#define TSAN_READ_LOCK (1u << 3)

RT_EXPORT void __tsan_acquire(void *address);
RT_EXPORT void __tsan_acquire(void *address) {
    mark(HD_EV_ATOMIC_READ, ORDER_FLAGS, address, RT_CALLER);
}
RT_EXPORT void __tsan_release(void *address);
RT_EXPORT void __tsan_release(void *address) {
    mark(HD_EV_ATOMIC_UPDATE, ORDER_FLAGS, address, RT_CALLER);
}
RT_EXPORT void __tsan_mutex_create(void *address, unsigned flags);
RT_EXPORT void __tsan_mutex_create(void *address, unsigned flags) {
    (void)address;
    (void)flags;
}
RT_EXPORT void __tsan_mutex_destroy(void *address, unsigned flags);
RT_EXPORT void __tsan_mutex_destroy(void *address, unsigned flags) {
    (void)address;
    (void)flags;
}
RT_EXPORT void __tsan_mutex_pre_lock(void *address, unsigned flags);
RT_EXPORT void __tsan_mutex_pre_lock(void *address, unsigned flags) {
    (void)address;
    (void)flags;
}
RT_EXPORT void __tsan_mutex_post_lock(void *address, unsigned flags, int recursion);
RT_EXPORT void __tsan_mutex_post_lock(void *address, unsigned flags, int recursion) {
    (void)recursion;
    unsigned kind = flags & TSAN_TRY_FAILED  ? HD_EV_TRY_FAILED
                    : flags & TSAN_READ_LOCK ? HD_EV_READ_ACQUIRE
                                             : HD_EV_ACQUIRE;
    mark(kind, HD_LOCK_USER, address, RT_CALLER);
}
RT_EXPORT int __tsan_mutex_pre_unlock(void *address, unsigned flags);
RT_EXPORT int __tsan_mutex_pre_unlock(void *address, unsigned flags) {
    mark(flags & TSAN_READ_LOCK ? HD_EV_READ_RELEASE : HD_EV_RELEASE, HD_LOCK_USER, address,
         RT_CALLER);
    return 0;
}
RT_EXPORT void __tsan_mutex_post_unlock(void *address, unsigned flags);
RT_EXPORT void __tsan_mutex_post_unlock(void *address, unsigned flags) {
    (void)address;
    (void)flags;
}

/* Only so that programs with these calls link: parts that a detector is to ignore are recorded all
 * the same, and signals through a lock, fibers and labels of memory are nothing that a trace knows.
 */
#define NOTHING(type, name, parameters, result) \
    RT_EXPORT type name parameters;             \
    RT_EXPORT type name parameters { result; }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
NOTHING(void, __tsan_ignore_thread_begin, (void), )
NOTHING(void, __tsan_ignore_thread_end, (void), )
NOTHING(void, __tsan_flush_memory, (void), )
NOTHING(void, __tsan_mutex_pre_signal, (void *lock, unsigned flags), )
NOTHING(void, __tsan_mutex_post_signal, (void *lock, unsigned flags), )
NOTHING(void, __tsan_mutex_pre_divert, (void *lock, unsigned flags), )
NOTHING(void, __tsan_mutex_post_divert, (void *lock, unsigned flags), )
NOTHING(void *, __tsan_get_current_fiber, (void), return NULL)
NOTHING(void *, __tsan_create_fiber, (unsigned flags), return NULL)
NOTHING(void, __tsan_destroy_fiber, (void *fiber), )
NOTHING(void, __tsan_switch_to_fiber, (void *fiber, unsigned flags), )
NOTHING(void, __tsan_set_fiber_name, (void *fiber, const char *name), )
NOTHING(void *, __tsan_external_register_tag, (const char *type), return NULL)
NOTHING(void, __tsan_external_register_header, (void *tag, const char *header), )
NOTHING(void, __tsan_external_assign_tag, (void *address, void *tag), )
NOTHING(void, __tsan_external_read, (void *address, void *caller, void *tag), )
NOTHING(void, __tsan_external_write, (void *address, void *caller, void *tag), )

/* The older ones have the place as their first arguments. */
#define PLACE const char *file, int line
#define OBJECT const volatile void *object
NOTHING(void, AnnotateIgnoreReadsBegin, (PLACE), __heddle_ignore(1, 0))
NOTHING(void, AnnotateIgnoreReadsEnd, (PLACE), __heddle_ignore(-1, 0))
NOTHING(void, AnnotateIgnoreWritesBegin, (PLACE), __heddle_ignore(0, 1))
NOTHING(void, AnnotateIgnoreWritesEnd, (PLACE), __heddle_ignore(0, -1))
NOTHING(void, AnnotateIgnoreSyncBegin, (PLACE), )
NOTHING(void, AnnotateIgnoreSyncEnd, (PLACE), )
NOTHING(void, AnnotateRWLockCreate, (PLACE, OBJECT), )
NOTHING(void, AnnotateRWLockCreateStatic, (PLACE, OBJECT), )
NOTHING(void, AnnotateRWLockDestroy, (PLACE, OBJECT), )
NOTHING(void, AnnotateCondVarSignal, (PLACE, OBJECT), )
NOTHING(void, AnnotateCondVarSignalAll, (PLACE, OBJECT), )
NOTHING(void, AnnotateCondVarWait, (PLACE, OBJECT, const volatile void *lock), )
NOTHING(void, AnnotateMutexIsNotPHB, (PLACE, OBJECT), )
NOTHING(void, AnnotateMutexIsUsedAsCondVar, (PLACE, OBJECT), )
NOTHING(void, AnnotatePCQCreate, (PLACE, OBJECT), )
NOTHING(void, AnnotatePCQDestroy, (PLACE, OBJECT), )
NOTHING(void, AnnotatePCQPut, (PLACE, OBJECT), )
NOTHING(void, AnnotatePCQGet, (PLACE, OBJECT), )
NOTHING(void, AnnotatePublishMemoryRange, (PLACE, OBJECT, size_t bytes), )
NOTHING(void, AnnotateUnpublishMemoryRange, (PLACE, OBJECT, size_t bytes), )
NOTHING(void, AnnotateNewMemory, (PLACE, OBJECT, size_t bytes), )
NOTHING(void, AnnotateMemoryIsInitialized, (PLACE, OBJECT, size_t bytes), )
NOTHING(void, AnnotateMemoryIsUninitialized, (PLACE, OBJECT, size_t bytes), )
NOTHING(void, AnnotateBenignRace, (PLACE, OBJECT, const char *why), )
NOTHING(void, AnnotateBenignRaceSized, (PLACE, OBJECT, size_t bytes, const char *why), )
NOTHING(void, AnnotateExpectRace, (PLACE, OBJECT, const char *why), )
NOTHING(void, AnnotateFlushExpectedRaces, (PLACE), )
NOTHING(void, AnnotateFlushState, (PLACE), )
NOTHING(void, AnnotateEnableRaceDetection, (PLACE, int enable), )
NOTHING(void, AnnotateThreadName, (PLACE, const char *name), )
NOTHING(void, AnnotateTraceMemory, (PLACE, OBJECT), )
NOTHING(void, AnnotateNoOp, (PLACE, OBJECT), )
NOTHING(int, RunningOnValgrind, (void), return 0)
#pragma GCC diagnostic pop

RT_EXPORT void AnnotateHappensBefore(const char *file, int line, const volatile void *address);
RT_EXPORT void AnnotateHappensBefore(const char *file, int line, const volatile void *address) {
    (void)file;
    (void)line;
    mark(HD_EV_ATOMIC_UPDATE, ORDER_FLAGS, address, RT_CALLER);
}
RT_EXPORT void AnnotateHappensAfter(const char *file, int line, const volatile void *address);
RT_EXPORT void AnnotateHappensAfter(const char *file, int line, const volatile void *address) {
    (void)file;
    (void)line;
    mark(HD_EV_ATOMIC_READ, ORDER_FLAGS, address, RT_CALLER);
}
RT_EXPORT void AnnotateRWLockAcquired(const char *file, int line, const volatile void *address,
                                      long write);
RT_EXPORT void AnnotateRWLockAcquired(const char *file, int line, const volatile void *address,
                                      long write) {
    (void)file;
    (void)line;
    mark(write ? HD_EV_ACQUIRE : HD_EV_READ_ACQUIRE, HD_LOCK_USER, address, RT_CALLER);
}
RT_EXPORT void AnnotateRWLockReleased(const char *file, int line, const volatile void *address,
                                      long write);
RT_EXPORT void AnnotateRWLockReleased(const char *file, int line, const volatile void *address,
                                      long write) {
    (void)file;
    (void)line;
    mark(write ? HD_EV_RELEASE : HD_EV_READ_RELEASE, HD_LOCK_USER, address, RT_CALLER);
}
