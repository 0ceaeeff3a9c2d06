/* Stand-ins for functions of the C++ library that the interceptors call, when there is none to be
 * found: a program linked with -static-libstdc++ takes operator new and the guards of static
 * variables from the runtime, and hides the rest. */
#define _GNU_SOURCE
#include "runtime/rt.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *block) {
    if (block != NULL) return block;
    void *out_of_memory = dlsym(RTLD_DEFAULT, "_ZSt17__throw_bad_allocv");
    if (out_of_memory != NULL) ((void (*)(void))out_of_memory)();
    rt_die("operator new: out of memory, and no C++ library to throw std::bad_alloc");
}
static void *plain_new(size_t bytes) { return malloc(bytes != 0 ? bytes : 1); }
static void *own_new(size_t bytes) { return checked(plain_new(bytes)); }
static void *own_new_quiet(size_t bytes, const void *nothrow) {
    (void)nothrow;
    return plain_new(bytes);
}
static void *plain_aligned(size_t bytes, size_t alignment) {
    void *block = NULL;
    if (alignment < sizeof(void *)) alignment = sizeof(void *);
    return posix_memalign(&block, alignment, bytes != 0 ? bytes : 1) == 0 ? block : NULL;
}
static void *own_aligned(size_t bytes, size_t alignment) {
    return checked(plain_aligned(bytes, alignment));
}
static void *own_aligned_quiet(size_t bytes, size_t alignment, const void *nothrow) {
    (void)nothrow;
    return plain_aligned(bytes, alignment);
}
static void own_delete(void *block) { free(block); } /* also with size, alignment, nothrow */

/* A guard: its first byte says that the variable is there, the second that somebody makes it. */
RT_PROGRAM static int own_guard_acquire(int64_t *guard) {
    uint8_t *there = (uint8_t *)guard, *made = there + 1;
    for (;;) {
        if (__atomic_load_n(there, __ATOMIC_ACQUIRE)) return 0;
        uint8_t nobody = 0;
        if (__atomic_compare_exchange_n(made, &nobody, 1, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
            if (!__atomic_load_n(there, __ATOMIC_ACQUIRE)) return 1;
            __atomic_store_n(made, 0, __ATOMIC_RELEASE);
            return 0;
        }
        sched_yield();
    }
}
RT_PROGRAM static void own_guard_release(int64_t *guard) {
    __atomic_store_n((uint8_t *)guard, 1, __ATOMIC_RELEASE);
    __atomic_store_n((uint8_t *)guard + 1, 0, __ATOMIC_RELEASE);
}
RT_PROGRAM static void own_guard_abort(int64_t *guard) {
    __atomic_store_n((uint8_t *)guard + 1, 0, __ATOMIC_RELEASE);
}

void *rt_stand_in(const char *name) {
    static const struct {
        const char *name;
        void *function;
    } own[] = {{"_Znwm", own_new},
               {"_Znam", own_new},
               {"_ZnwmRKSt9nothrow_t", own_new_quiet},
               {"_ZnamRKSt9nothrow_t", own_new_quiet},
               {"_ZnwmSt11align_val_t", own_aligned},
               {"_ZnamSt11align_val_t", own_aligned},
               {"_ZnwmSt11align_val_tRKSt9nothrow_t", own_aligned_quiet},
               {"_ZnamSt11align_val_tRKSt9nothrow_t", own_aligned_quiet},
               {"__cxa_guard_acquire", own_guard_acquire},
               {"__cxa_guard_release", own_guard_release},
               {"__cxa_guard_abort", own_guard_abort}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(own[i].name, name) == 0) return own[i].function;
    return strncmp(name, "_Zd", 3) == 0 ? (void *)own_delete : NULL;
}
