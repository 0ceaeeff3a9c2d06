/* What everything else in the runtime stands on: marks for functions, memory, messages, futexes, a
 * small lock, the real functions behind the interceptors, and records of synchronisation objects by
 * address (util.c). */
#ifndef HEDDLE_RUNTIME_BASE_H
#define HEDDLE_RUNTIME_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Nothing of the runtime is visible to the program but hooks and interceptors. */
#pragma GCC visibility push(hidden)

/* A hook, which never looks at the program's memory, and an interceptor, which may. */
#define RT_HOOK __attribute__((visibility("default")))
#define RT_EXPORT __attribute__((visibility("default"), section("rt_program")))
/* Other functions that use pointers which the program gave: a fault there may be its own. */
#define RT_PROGRAM __attribute__((section("rt_program")))
#define RT_NOINLINE __attribute__((noinline))
#define RT_INLINE static inline __attribute__((always_inline))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define RT_CALLER ((uintptr_t)__builtin_return_address(0))

void *rt_map(size_t bytes); /* zeroed, lazily backed, never fails (aborts with a message) */
void rt_unmap(void *memory, size_t bytes);
void rt_message(const char *text); /* one line on standard error */
__attribute__((noreturn)) void rt_die(const char *text);
long rt_futex_wait(uint32_t *word, uint32_t value, const struct timespec *timeout, bool shared);
long rt_futex_wake(uint32_t *word, int count, bool shared);
int rt_gettid(void);

struct rt_spin {
    uint32_t word;
};
long rt_futex_wait_until(uint32_t *word, uint32_t value, const struct timespec *deadline,
                         clockid_t clock); /* deadline absolute, NULL: none */
void rt_spin_lock_slow(struct rt_spin *lock);
RT_INLINE void rt_spin_lock(struct rt_spin *lock) {
    uint32_t free_word = 0;
    if (!__atomic_compare_exchange_n(&lock->word, &free_word, 1, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        rt_spin_lock_slow(lock);
}
void rt_spin_unlock(struct rt_spin *lock);

/* Real functions behind the interceptors, by dlsym(RTLD_NEXT), on first use. */
void *rt_real(const char *name, void **cache);
void *rt_stand_in(const char *name); /* our own, if there is no real one (cxx_own.c) */
#define REAL(name)                                                                      \
    ({                                                                                  \
        static void *cache_;                                                            \
        (__typeof__(&name))(likely(cache_ != NULL) ? cache_ : rt_real(#name, &cache_)); \
    })

/* Table from addresses of synchronisation objects to a small record (util.c): barriers' counts,
 * once controls, process-shared objects. */
struct rt_object {
    uintptr_t address;
    uint32_t type;  /* enum rt_object_type */
    uint32_t value; /* barrier: count; mutex: recursion depth... */
    uint32_t extra;
    uint32_t owner; /* thread number + 1 */
    uint64_t round, done;
};
enum rt_object_type {
    RT_OBJECT_NONE = 0,
    RT_OBJECT_MUTEX,
    RT_OBJECT_RWLOCK,
    RT_OBJECT_SPIN,
    RT_OBJECT_COND,
    RT_OBJECT_BARRIER,
    RT_OBJECT_SEM,
    RT_OBJECT_ONCE,
    RT_OBJECT_THREAD
};
#define RT_OBJECT_SHARED 0x100u /* process-shared: other processes may change it */
/* Finds or makes; the record is locked until rt_object_put. */
struct rt_object *rt_object_get(uintptr_t address);
void rt_object_put(struct rt_object *object);
void rt_object_drop(uintptr_t address);
void rt_objects_unlock(void); /* these: in a forked child */
void rt_modules_unlock(void);
void rt_atomics_unlock(void);
void rt_files_unlock(void);
void rt_sockets_unlock(void);
void rt_epoll_unlock(void);
void rt_once_unlock(void);

#pragma GCC visibility pop

#endif
