/* OpenMP as gcc compiles it: the entry points of libgomp. Its threads wait for each other in code
 * that we do not see, so they are without the turn there; what the entry points say about order
 * becomes events: critical sections and locks are locks, all the rest is initialisers (ONCE) that
 * others find done. A barrier is one that each thread that arrives makes anew, after those who came
 * before it, and that all who leave have seen. Task loops and offloading are not seen. */
#define _GNU_SOURCE
#include "runtime/rt.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* A parallel region, on the stack of the thread that entered it. */
struct region {
    void *first; /* the first word of the data: libgomp looks at it for reductions */
    void (*function)(void *);
    void *data;
    char begun, ended, barrier, order, tasks; /* objects: only their addresses count */
};
static struct region outermost; /* for what is called outside of all regions */

static struct region *region_of(const struct rt_thread *t) {
    return t->region != NULL ? t->region : &outermost;
}

static void done(struct rt_thread *t, const char *object, uintptr_t pc) {
    rt_emit_sync(t, HD_EV_ONCE_DONE, 0, (uintptr_t)object, pc);
}
static void seen(struct rt_thread *t, const char *object, uintptr_t pc) {
    rt_emit_sync(t, HD_EV_ONCE_PASS, 0, (uintptr_t)object, pc);
}

/* ---- parallel regions ------------------------------------------------------------------------ */

/* What each thread of a team runs. Between regions it is without the turn. */
static void member(void *argument) {
    struct region *region = argument, *around = NULL;
    struct rt_thread *t = rt_enter();
    uint32_t blocking = 0;
    if (t != NULL) {
        blocking = t->blocking;
        t->blocking = 0;
        around = t->region;
        t->region = region;
        seen(t, &region->begun, (uintptr_t)region->function);
        rt_leave(t);
    }
    region->function(region->data);
    t = rt_enter();
    if (t == NULL) return;
    rt_emit_done_too(t, &region->ended, (uintptr_t)region->function);
    rt_owners_at_barrier(t);
    t->region = around;
    t->blocking = blocking;
    rt_leave(t);
    rt_sched_lend(t);
}

static struct rt_thread *enter_region(struct region *region, void (*function)(void *), void *data,
                                      uintptr_t pc) {
    struct rt_thread *t = rt_enter();
    memset(region, 0, sizeof *region);
    region->first = data != NULL ? *(void **)data : NULL;
    region->function = function;
    region->data = data;
    if (t == NULL) return NULL;
    done(t, &region->begun, pc);
    rt_owners_phase();
    rt_block_enter(t);
    return t;
}
static void leave_region(struct rt_thread *t, const struct region *region, uintptr_t pc) {
    rt_block_leave(t);
    seen(t, &region->ended, pc);
    rt_leave(t);
}

/* clang-format off */
#define PARALLEL(name, parameters, arguments, ours)                                               \
    void name parameters;                                                                        \
    RT_EXPORT void name parameters {                                                             \
        struct region region;                                                                    \
        struct rt_thread *t = enter_region(&region, function, data, RT_CALLER);                  \
        if (t == NULL) {                                                                         \
            REAL(name) arguments;                                                                \
            return;                                                                              \
        }                                                                                        \
        REAL(name) ours;                                                                         \
        leave_region(t, &region, RT_CALLER);                                                     \
    }
#define REGION void (*function)(void *), void *data, unsigned threads
#define LOOP(name)                                                                               \
    PARALLEL(name, (REGION, long start, long end, long step, long chunk, unsigned flags),        \
             (function, data, threads, start, end, step, chunk, flags),                          \
             (member, &region, threads, start, end, step, chunk, flags))
#define LOOP_RUNTIME(name)                                                                       \
    PARALLEL(name, (REGION, long start, long end, long step, unsigned flags),                    \
             (function, data, threads, start, end, step, flags),                                 \
             (member, &region, threads, start, end, step, flags))
/* clang-format on */

PARALLEL(GOMP_parallel, (REGION, unsigned flags), (function, data, threads, flags),
         (member, &region, threads, flags))
PARALLEL(GOMP_parallel_sections, (REGION, unsigned count, unsigned flags),
         (function, data, threads, count, flags), (member, &region, threads, count, flags))
LOOP(GOMP_parallel_loop_static)
LOOP(GOMP_parallel_loop_dynamic)
LOOP(GOMP_parallel_loop_guided)
LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
LOOP(GOMP_parallel_loop_nonmonotonic_guided)
LOOP_RUNTIME(GOMP_parallel_loop_runtime)
LOOP_RUNTIME(GOMP_parallel_loop_nonmonotonic_runtime)
LOOP_RUNTIME(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

unsigned GOMP_parallel_reductions(REGION, unsigned flags);
RT_EXPORT unsigned GOMP_parallel_reductions(REGION, unsigned flags) {
    struct region region;
    struct rt_thread *t = enter_region(&region, function, data, RT_CALLER);
    if (t == NULL) return REAL(GOMP_parallel_reductions)(function, data, threads, flags);
    unsigned result = REAL(GOMP_parallel_reductions)(member, &region, threads, flags);
    leave_region(t, &region, RT_CALLER);
    return result;
}

/* ---- barriers, alone and at the end of loops, sections and copies -----------------------------
 */

#define BARRIER(type, name, parameters, arguments, result, value) \
    type name parameters;                                         \
    RT_EXPORT type name parameters {                              \
        struct rt_thread *t = rt_enter();                         \
        if (t == NULL) return REAL(name) arguments;               \
        rt_emit_done_too(t, &region_of(t)->barrier, RT_CALLER);   \
        rt_owners_at_barrier(t);                                  \
        rt_block_enter(t);                                        \
        result REAL(name) arguments;                              \
        rt_block_leave(t);                                        \
        /* Tasks that were left are done now, too. */             \
        seen(t, &region_of(t)->tasks, RT_CALLER);                 \
        seen(t, &region_of(t)->barrier, RT_CALLER);               \
        rt_leave(t);                                              \
        return value;                                             \
    }
BARRIER(void, GOMP_barrier, (void), (), , )
BARRIER(void, GOMP_loop_end, (void), (), , )
BARRIER(void, GOMP_sections_end, (void), (), , )
BARRIER(void, GOMP_single_copy_end, (void *data), (data), , )
BARRIER(void *, GOMP_single_copy_start, (void), (), void *result =, result)
BARRIER(bool, GOMP_barrier_cancel, (void), (), bool result =, result)
BARRIER(bool, GOMP_loop_end_cancel, (void), (), bool result =, result)
BARRIER(bool, GOMP_sections_end_cancel, (void), (), bool result =, result)

/* ---- what runs in the order of the iterations ---------------------------------------------------
 */

void GOMP_ordered_start(void);
RT_EXPORT void GOMP_ordered_start(void) {
    struct rt_thread *t = rt_enter();
    if (t == NULL) {
        REAL(GOMP_ordered_start)();
        return;
    }
    rt_block_enter(t);
    REAL(GOMP_ordered_start)();
    rt_block_leave(t);
    seen(t, &region_of(t)->order, RT_CALLER);
    rt_leave(t);
}
void GOMP_ordered_end(void);
RT_EXPORT void GOMP_ordered_end(void) {
    struct rt_thread *t = rt_enter();
    if (t != NULL) {
        done(t, &region_of(t)->order, RT_CALLER);
        rt_leave(t);
    }
    REAL(GOMP_ordered_end)();
}

/* ---- critical sections and locks ---------------------------------------------------------------
 */

/* Under serial a thread that finds it taken is blocked in the scheduler; the real one is free then.
 * Another call of the owner's of a lock that nests is no event. */
static bool take(struct rt_thread *t, const void *lock, bool nests, bool tries, uintptr_t pc) {
    for (;;) {
        struct rt_object *object = rt_object_get((uintptr_t)lock);
        bool mine = nests && object->owner == t->number + 1;
        bool free_now = object->owner == 0;
        if (mine || free_now) {
            object->owner = t->number + 1;
            object->extra = mine ? object->extra + 1 : 1;
        }
        rt_object_put(object);
        if (mine) return true;
        if (free_now) break;
        if (tries) {
            rt_emit_sync(t, HD_EV_TRY_FAILED, HD_LOCK_USER, (uintptr_t)lock, pc);
            return false;
        }
        if (rt.mode == HD_SCHED_SERIAL) {
            rt_sched_block(t, HD_WAIT_LOCK, (uintptr_t)lock, NULL, 0, pc);
        } else {
            rt_block_enter(t);
            sched_yield();
            rt_block_leave(t);
        }
    }
    rt_emit_sync(t, HD_EV_ACQUIRE, HD_LOCK_USER | (tries ? HD_LOCK_BY_TRY : 0), (uintptr_t)lock,
                 pc);
    return true;
}

static void give_back(struct rt_thread *t, const void *lock, uintptr_t pc) {
    struct rt_object *object = rt_object_get((uintptr_t)lock);
    bool last = object->owner != t->number + 1 || --object->extra == 0;
    rt_object_put(object);
    if (!last) return;
    rt_emit_sync(t, HD_EV_RELEASE, HD_LOCK_USER, (uintptr_t)lock, pc);
    object = rt_object_get((uintptr_t)lock);
    object->owner = object->extra = 0;
    rt_object_put(object);
    rt_sched_hand_over(t, HD_WAIT_LOCK, (uintptr_t)lock, false);
}

static char unnamed, atomic_section; /* the lock of all critical sections without a name */

#define TAKES(name, parameters, arguments, lock, nests)        \
    void name parameters;                                      \
    RT_EXPORT void name parameters {                           \
        struct rt_thread *t = rt_enter();                      \
        if (t != NULL) take(t, lock, nests, false, RT_CALLER); \
        REAL(name) arguments;                                  \
        if (t != NULL) rt_leave(t);                            \
    }
#define GIVES(name, parameters, arguments, lock) \
    void name parameters;                        \
    RT_EXPORT void name parameters {             \
        struct rt_thread *t = rt_enter();        \
        REAL(name) arguments;                    \
        if (t == NULL) return;                   \
        give_back(t, lock, RT_CALLER);           \
        rt_leave(t);                             \
    }
TAKES(GOMP_critical_start, (void), (), &unnamed, false)
GIVES(GOMP_critical_end, (void), (), &unnamed)
TAKES(GOMP_critical_name_start, (void **name), (name), name, false)
GIVES(GOMP_critical_name_end, (void **name), (name), name)
TAKES(GOMP_atomic_start, (void), (), &atomic_section, false)
GIVES(GOMP_atomic_end, (void), (), &atomic_section)
TAKES(omp_set_lock, (void *lock), (lock), lock, false)
GIVES(omp_unset_lock, (void *lock), (lock), lock)
TAKES(omp_set_nest_lock, (void *lock), (lock), lock, true)
GIVES(omp_unset_nest_lock, (void *lock), (lock), lock)

#define TRIES(name, nests)                                              \
    int name(void *lock);                                               \
    RT_EXPORT int name(void *lock) {                                    \
        struct rt_thread *t = rt_enter();                               \
        bool mine = t == NULL || take(t, lock, nests, true, RT_CALLER); \
        int result = mine ? REAL(name)(lock) : 0;                       \
        if (t != NULL) rt_leave(t);                                     \
        return result;                                                  \
    }
TRIES(omp_test_lock, false)
TRIES(omp_test_nest_lock, true)

/* ---- tasks --------------------------------------------------------------------------------------
 */

/* A task with its data, which libgomp would have copied. */
struct task {
    void (*function)(void *);
    struct region *region; /* of the thread that made it */
    char made;             /* object */
    char data[] __attribute__((aligned(64)));
};

static void run_task(void *argument) {
    struct task *task = *(struct task **)argument;
    struct rt_thread *t = rt_enter();
    uint32_t blocking = 0;
    struct region *around = NULL;
    if (t != NULL) {
        blocking = t->blocking;
        t->blocking = 0;
        around = t->region;
        t->region = task->region;
        seen(t, &task->made, (uintptr_t)task->function);
        rt_leave(t);
    }
    task->function(task->data);
    t = rt_enter();
    if (t != NULL) {
        rt_emit_done_too(t, &region_of(t)->tasks, (uintptr_t)task->function);
        t->region = around;
        t->blocking = blocking;
        rt_leave(t);
    }
    free(task); /* an event, as its allocation: the next task there has other data */
    if (blocking) rt_sched_lend(t);
}

#define TASK                                                                                       \
    void (*function)(void *), void *data, void (*copy)(void *, void *), long size, long alignment, \
        bool condition, unsigned flags, void **depend, int priority, void *detach
void GOMP_task(TASK);
RT_EXPORT void GOMP_task(TASK) {
    size_t bytes = (sizeof(struct task) + (size_t)size + 63) & ~(size_t)63;
    struct task *task =
        rt.mode != HD_SCHED_OFF && alignment <= 64 ? aligned_alloc(64, bytes) : NULL;
    struct rt_thread *t = task != NULL ? rt_enter() : NULL;
    if (t == NULL) {
        free(task);
        REAL(GOMP_task)
        (function, data, copy, size, alignment, condition, flags, depend, priority, detach);
        return;
    }
    task->function = function;
    task->region = t->region;
    done(t, &task->made, RT_CALLER);
    rt_leave(t);
    if (copy != NULL)
        copy(task->data, data);
    else
        memcpy(task->data, data, (size_t)size);
    REAL(GOMP_task)
    (run_task, &task, NULL, sizeof task, _Alignof(struct task *), condition, flags, depend,
     priority, detach);
}

#define WAITS(name, parameters, arguments)        \
    void name parameters;                         \
    RT_EXPORT void name parameters {              \
        struct rt_thread *t = rt_enter();         \
        if (t == NULL) {                          \
            REAL(name) arguments;                 \
            return;                               \
        }                                         \
        rt_block_enter(t);                        \
        REAL(name) arguments;                     \
        rt_block_leave(t);                        \
        seen(t, &region_of(t)->tasks, RT_CALLER); \
        rt_leave(t);                              \
    }
WAITS(GOMP_taskwait, (void), ())
WAITS(GOMP_taskgroup_end, (void), ())
WAITS(GOMP_taskwait_depend, (void **depend), (depend))
