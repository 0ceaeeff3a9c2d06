/* Threads: their records, and the interceptors that start, join, detach, cancel and end them, for
 * POSIX and C11 threads. */
#define _GNU_SOURCE
#include "runtime/check.h"
#include "runtime/startup.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <threads.h>

__thread struct rt_thread rt_self = {.open = (char *)rt_nothing_open, .repeats = rt_nothing_open};

/* Code that `heddle cc` has assembled counts its branches here without a call. */
_Static_assert(offsetof(struct rt_thread, passed) == 0, "rt_self begins with the branch count");
extern RT_HOOK __thread uint64_t __heddle_branched __attribute__((alias("rt_self")));

#define FRAMES (256u * 1024u) /* more calls than a default stack can hold; address space only */

static pthread_key_t end_key;
static bool end_key_made;

static void attach(struct rt_thread *t, uint32_t number) {
    t->number = number;
    t->tid = rt_gettid();
    t->handle = pthread_self();
    t->left = -1;
    t->calls_mark = UINT64_MAX; /* no calls yet */
    t->calls_emitted = t->branches_emitted = 0;
    t->passed = HD_COUNTS_CALL;
    t->text_size = 0;
    t->sequence = 0;
    t->mark = t->force_call = 0;
    t->held_back = t->ran_r = t->ran_c = false;
    t->region = NULL;
    t->ignores_reads = t->ignores_writes = 0;
    rt_stream_none(t);
    rt_expect_begin(t);
    t->frame_base = rt_map(FRAMES * sizeof *t->frame_base);
    t->frame_end = t->frame_base + FRAMES;
    t->frame = t->frame_low = t->frame_emitted = t->frame_base;
    t->overflow = 0;
    t->stack_low = t->stack_end = 0;
    t->registered = true;
    t->stamp = t->stamp_stored = 0;
    if (rt.checking) rt_check_thread_starts(t);
    rt.slot[number].handle = t->handle;
    __atomic_store_n(&rt.slot[number].thread, t, __ATOMIC_RELEASE);
}

static uint32_t new_number(const struct rt_thread *creator) {
    uint32_t least = 0, number = UINT32_MAX;
    if (atomic_load(&rt.threads) > 0) { /* the first of all is 0 */
        number = rt_replay_number(creator, &least);
        if (number != UINT32_MAX) least = number + 1;
    }
    uint32_t threads = atomic_load(&rt.threads);
    while (threads < least && !atomic_compare_exchange_weak(&rt.threads, &threads, least)) {
    }
    if (number == UINT32_MAX) number = atomic_fetch_add(&rt.threads, 1);
    if (number < RT_MAX_THREADS - 1) {
        rt.slot[number].made = true;
        __atomic_fetch_add(&rt.session->threads_started, 1, __ATOMIC_RELAXED);
        return number;
    }
    atomic_fetch_sub(&rt.threads, 1);
    return UINT32_MAX;
}

static void remember_handle(pthread_t handle, uint32_t number) {
    struct rt_object *object = rt_object_get((uintptr_t)handle);
    object->type = RT_OBJECT_THREAD;
    object->value = number;
    rt_object_put(object);
}

static uint32_t number_of(pthread_t handle) {
    struct rt_object *object = rt_object_get((uintptr_t)handle);
    uint32_t number = object->type == RT_OBJECT_THREAD ? object->value : UINT32_MAX;
    rt_object_put(object);
    if (number != UINT32_MAX && !pthread_equal(rt.slot[number].handle, handle)) number = UINT32_MAX;
    return number;
}

/* ---- the end of a thread ------------------------------------------------------------------ */

static void thread_end(struct rt_thread *t) {
    if (t->state == RT_DEAD || rt.mode == HD_SCHED_OFF) return;
    if (t->signals_pending && t->busy == 0) rt_leave_signals(t);
    t->busy++;
    t->inside++; /* and so it stays: what runs after this is not recorded */
    if (rt.mode == HD_SCHED_SERIAL && t->state == RT_OUTSIDE) rt_sched_acquire(t);
    rt_robust_end(t);
    rt_stamp(t);
    if (t->number != 0 && t->stack_end != 0) { /* the first thread's stays */
        rt_emit_extra(t, t->stack_end - t->stack_low, 0);
        rt_emit(t, HD_EV_FREE, HD_BLOCK_STACK, t->stack_low, 0);
    }
    rt_emit(t, HD_EV_END, 0, 0, 0);
    struct rt_slot *slot = &rt.slot[t->number];
    if (rt.mode == HD_SCHED_FREE) rt_chunk_submit(t);
    slot->calls = rt_calls(t);
    slot->ended = true;
    if (rt.checking) rt_check_thread_ends(t);
    rt_sched_wake(HD_WAIT_JOIN, t->number, true);
    __atomic_store_n(&slot->thread, NULL, __ATOMIC_RELEASE);
    /* From here on a handler runs unrecorded, at once. It must find either all of the record or
     * none of it: no signal may come while it goes. */
    sigset_t mask;
    rt_signals_hold(&mask);
    rt_sched_exit(t);
    t->state = RT_DEAD;
    rt_set_left(t, -1);
    struct rt_frame *frames = t->frame_base;
    t->frame = t->frame_low = t->frame_emitted = t->frame_base = t->frame_end = NULL;
    rt_unmap(frames, FRAMES * sizeof *frames);
    rt_expect_end(t);
    rt_signals_let(&mask);
    rt_signals_end(t);
}

/* Destructors of other keys may run instrumented code: end in the last round of them. */
static void end_destructor(void *round) {
    uintptr_t n = (uintptr_t)round;
    if (n < PTHREAD_DESTRUCTOR_ITERATIONS && pthread_setspecific(end_key, (void *)(n + 1)) == 0)
        return;
    thread_end(&rt_self);
}

static void emit_stack_block(struct rt_thread *t) {
    pthread_attr_t attributes;
    void *lowest;
    size_t bytes;
    if (pthread_getattr_np(t->handle, &attributes) != 0) return;
    if (pthread_attr_getstack(&attributes, &lowest, &bytes) == 0) {
        if (rt.checking) rt_check_clear((uintptr_t)lowest, bytes);
        t->stack_low = (uintptr_t)lowest;
        t->stack_end = t->stack_low + bytes;
        rt_emit_extra(t, bytes, 0);
        rt_emit(t, HD_EV_ALLOC, HD_BLOCK_STACK, (uintptr_t)lowest, 0);
    }
    pthread_attr_destroy(&attributes);
}

void rt_threads_start(struct rt_thread *t) {
    if (!end_key_made) {
        end_key_made = pthread_key_create(&end_key, end_destructor) == 0;
    }
    t->children = 0;
    attach(t, new_number(NULL));
    rt_sched_first(t);
    remember_handle(t->handle, t->number);
    pthread_setspecific(end_key, (void *)1);
    rt_emit_sync(t, HD_EV_BEGIN, 0, 0, 0);
    emit_stack_block(t);
}

void rt_thread_attach_foreign(struct rt_thread *t) {
    if (unlikely(rt.startup)) rt_startup_fail(HD_REPLY_THREADS, 0);
    uint32_t number = new_number(NULL);
    if (number == UINT32_MAX) {
        t->inside++; /* beyond what a trace can number: runs unrecorded */
        return;
    }
    t->busy++;
    t->inside++;
    attach(t, number);
    remember_handle(t->handle, number);
    pthread_setspecific(end_key, (void *)1);
    rt_sched_start();
    if (rt.mode == HD_SCHED_SERIAL)
        rt_sched_acquire(t);
    else
        rt_sched_begin(t);
    rt_emit_sync(t, HD_EV_BEGIN, 0, 0, 0);
    rt_async_begun(t);
    t->inside--;
    t->busy--;
}

struct rt_thread *rt_enter_slow(void) {
    struct rt_thread *t = &rt_self;
    if (t->state == RT_DEAD) return NULL;
    if (rt_only_checks(t) && t->state == RT_RUNNING && !t->signals_pending) {
        t->busy++;
        t->inside++;
        return t;
    }
    int saved = errno;
    t->next_address = 0;
    if (unlikely(rt.forcing) && !t->inside) rt_force_call(t);
    rt_sched_preempted(t);
    errno = saved;
    if (rt.mode == HD_SCHED_OFF || t->inside) return NULL;
    t->busy++;
    t->inside++;
    return t;
}

/* ---- starting ----------------------------------------------------------------------------- */

static void *trampoline(void *argument) {
    uint32_t number = (uint32_t)(uintptr_t)argument;
    struct rt_slot *slot = &rt.slot[number];
    struct rt_thread *t = &rt_self;
    t->busy = t->inside = 1;
    attach(t, number);
    pthread_setspecific(end_key, (void *)1);
    rt_signals_let(slot->mask); /* what comes from here on is kept until the thread has its turn */
    void *(*function)(void *) = slot->function;
    void *function_argument = slot->argument;
    bool c11 = slot->c11, outside = slot->outside;
    __atomic_store_n(&slot->started, 1, __ATOMIC_RELEASE);
    rt_futex_wake(&slot->started, 1, false);
    while (!__atomic_load_n(&slot->permit, __ATOMIC_ACQUIRE))
        rt_futex_wait(&slot->permit, 0, NULL, false);
    rt_sched_begin(t);
    rt_stamp(t);
    rt_emit(t, HD_EV_BEGIN, 0, 0, 0);
    emit_stack_block(t);
    t->inside = 0;
    t->busy = 0;
    if (t->signals_pending) rt_leave_signals(t);
    if (outside) rt_sched_lend(t);
    if (!c11) return function(function_argument);
    return (void *)(intptr_t)((thrd_start_t)(void *)function)(function_argument);
}

/* A new thread has all signals blocked until it has its record. A mask of its own that its
 * attributes ask for is put aside meanwhile; NULL: it has none. */
RT_PROGRAM static const sigset_t *own_mask(const pthread_attr_t *attributes, sigset_t *mask) {
    if (attributes == NULL || pthread_attr_getsigmask_np(attributes, mask) != 0) return NULL;
    sigset_t all;
    sigfillset(&all);
    pthread_attr_setsigmask_np((pthread_attr_t *)attributes, &all);
    return mask;
}

RT_PROGRAM static int create(pthread_t *handle, const pthread_attr_t *attributes,
                             void *(*function)(void *), void *argument, bool c11, uintptr_t pc) {
    struct rt_thread *t = rt_enter();
    if (t == NULL) return -1;
    if (unlikely(rt.startup)) rt_startup_fail(HD_REPLY_THREADS, 0);
    rt_before_sync(t, 0, pc);
    uint32_t number = new_number(t);
    if (number == UINT32_MAX) {
        rt_leave(t);
        return EAGAIN;
    }
    rt_sched_start();
    struct rt_slot *slot = &rt.slot[number];
    slot->function = function;
    slot->argument = argument;
    slot->c11 = c11;
    slot->outside = t->blocking != 0;
    int detached = PTHREAD_CREATE_JOINABLE;
    if (attributes != NULL) pthread_attr_getdetachstate(attributes, &detached);
    slot->detached = detached == PTHREAD_CREATE_DETACHED;
    pthread_t made;
    sigset_t mask, wanted;
    const sigset_t *own = own_mask(attributes, &wanted);
    rt_signals_hold(&mask);
    rt_signals_inherited(t, &mask);
    slot->mask = own != NULL ? own : &mask;
    int result = REAL(pthread_create)(&made, attributes, trampoline, (void *)(uintptr_t)number);
    if (own != NULL) pthread_attr_setsigmask_np((pthread_attr_t *)attributes, own);
    rt_signals_let(&mask);
    if (result == 0) {
        if (handle != NULL) *handle = made;
        t->children++;
        while (!__atomic_load_n(&slot->started, __ATOMIC_ACQUIRE))
            rt_futex_wait(&slot->started, 0, NULL, false);
        remember_handle(made, number);
        struct rt_thread *child = slot->thread;
        rt_emit_sync(t, HD_EV_FORK, 0, number, pc);
        if (rt.mode == HD_SCHED_SERIAL) rt_sched_add(child);
        __atomic_store_n(&slot->permit, 1, __ATOMIC_RELEASE);
        rt_futex_wake(&slot->permit, 1, false);
        rt_after_sync(t);
    } else {
        slot->made = false;
    }
    bool outside = slot->outside;
    rt_leave(t);
    if (outside) rt_sched_lend(t);
    return result;
}

RT_EXPORT int pthread_create(pthread_t *restrict handle, const pthread_attr_t *restrict attributes,
                             void *(*function)(void *), void *restrict argument) {
    int result = create(handle, attributes, function, argument, false, RT_CALLER);
    if (result >= 0) return result;
    if (unlikely(rt.parent_session != NULL)) rt_child_has_threads();
    return REAL(pthread_create)(handle, attributes, function, argument);
}

/* ---- joining, detaching, cancelling ------------------------------------------------------- */

bool rt_cancel_pending(const struct rt_thread *t) {
    if (!t->cancelled) return false;
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    pthread_setcancelstate(state, NULL);
    return state == PTHREAD_CANCEL_ENABLE;
}

void rt_cancel_point(struct rt_thread *t) {
    if (!t->cancelled) return;
    uint32_t busy = t->busy, inside = t->inside;
    t->busy = t->inside = 0;
    pthread_testcancel();
    t->busy = busy;
    t->inside = inside;
}

enum join_how { JOIN_WAIT, JOIN_TRY, JOIN_UNTIL };

RT_PROGRAM static int join(struct rt_thread *t, pthread_t handle, void **result, enum join_how how,
                           clockid_t clock, const struct timespec *deadline, uintptr_t pc) {
    uint32_t number = number_of(handle);
    int status = 0;
    rt_before_sync(t, 0, pc);
    if (rt.mode == HD_SCHED_SERIAL && number != UINT32_MAX && number != t->number &&
        !rt.slot[number].detached && how != JOIN_TRY) {
        while (!rt.slot[number].ended) {
            bool in_time = rt_sched_block(t, HD_WAIT_JOIN, number,
                                          how == JOIN_UNTIL ? deadline : NULL, clock, pc);
            rt_cancel_point(t);
            if (in_time || rt.slot[number].ended) continue;
            return ETIMEDOUT;
        }
        status = REAL(pthread_join)(handle, result);
    } else {
        rt_block_enter(t);
        if (how == JOIN_TRY)
            status = REAL(pthread_tryjoin_np)(handle, result);
        else if (how == JOIN_UNTIL)
            status = REAL(pthread_clockjoin_np)(handle, result, clock, deadline);
        else
            status = REAL(pthread_join)(handle, result);
        rt_block_leave(t);
    }
    if (status == 0 && number != UINT32_MAX) {
        rt_object_drop((uintptr_t)handle);
        rt_emit_sync(t, HD_EV_JOIN, 0, number, pc);
    }
    return status;
}

RT_EXPORT int pthread_join(pthread_t handle, void **result) {
    struct rt_thread *t = rt_enter();
    if (t == NULL) return REAL(pthread_join)(handle, result);
    int status = join(t, handle, result, JOIN_WAIT, 0, NULL, RT_CALLER);
    rt_leave(t);
    return status;
}

RT_EXPORT int pthread_tryjoin_np(pthread_t handle, void **result) {
    struct rt_thread *t = rt_enter();
    if (t == NULL) return REAL(pthread_tryjoin_np)(handle, result);
    rt_choice(t, RT_CALLER);
    int status = join(t, handle, result, JOIN_TRY, 0, NULL, RT_CALLER);
    rt_leave(t);
    return status;
}

RT_EXPORT int pthread_timedjoin_np(pthread_t handle, void **result,
                                   const struct timespec *deadline) {
    struct rt_thread *t = rt_enter();
    if (t == NULL) return REAL(pthread_timedjoin_np)(handle, result, deadline);
    rt_choice(t, RT_CALLER);
    int status = join(t, handle, result, JOIN_UNTIL, CLOCK_REALTIME, deadline, RT_CALLER);
    rt_leave(t);
    return status;
}

RT_EXPORT int pthread_clockjoin_np(pthread_t handle, void **result, clockid_t clock,
                                   const struct timespec *deadline) {
    struct rt_thread *t = rt_enter();
    if (t == NULL) return REAL(pthread_clockjoin_np)(handle, result, clock, deadline);
    rt_choice(t, RT_CALLER);
    int status = join(t, handle, result, JOIN_UNTIL, clock, deadline, RT_CALLER);
    rt_leave(t);
    return status;
}

static int detach(pthread_t handle, uintptr_t pc) {
    struct rt_thread *t = rt_enter();
    if (t == NULL) return REAL(pthread_detach)(handle);
    uint32_t number = number_of(handle);
    int status = REAL(pthread_detach)(handle);
    if (status == 0 && number != UINT32_MAX) {
        rt.slot[number].detached = true;
        rt_emit_sync(t, HD_EV_DETACH, 0, number, pc);
    }
    rt_leave(t);
    return status;
}

RT_EXPORT int pthread_detach(pthread_t handle) { return detach(handle, RT_CALLER); }

RT_EXPORT int pthread_cancel(pthread_t handle) {
    struct rt_thread *t = rt_enter();
    int status = REAL(pthread_cancel)(handle);
    if (t == NULL) return status;
    rt_choice(t, RT_CALLER);
    uint32_t number = number_of(handle);
    struct rt_thread *other = number != UINT32_MAX ? rt.slot[number].thread : NULL;
    if (status == 0 && other != NULL) {
        other->cancelled = true;
        rt_sched_wake_cancelled(other);
    }
    rt_leave(t);
    return status;
}

/* ---- C11 threads: the same objects under other names -------------------------------------- */

RT_EXPORT int thrd_create(thrd_t *handle, thrd_start_t function, void *argument) {
    int result = create((pthread_t *)handle, NULL, (void *(*)(void *))(void *)function, argument,
                        true, RT_CALLER);
    if (result < 0) return REAL(thrd_create)(handle, function, argument);
    return result == 0 ? thrd_success : result == ENOMEM ? thrd_nomem : thrd_error;
}

RT_EXPORT int thrd_join(thrd_t handle, int *result) {
    struct rt_thread *t = rt_enter();
    if (t == NULL) return REAL(thrd_join)(handle, result);
    void *value = NULL;
    int status = join(t, handle, &value, JOIN_WAIT, 0, NULL, RT_CALLER);
    rt_leave(t);
    if (result != NULL) *result = (int)(intptr_t)value;
    return status == 0 ? thrd_success : thrd_error;
}

RT_EXPORT int thrd_detach(thrd_t handle) {
    return detach(handle, RT_CALLER) == 0 ? thrd_success : thrd_error;
}
