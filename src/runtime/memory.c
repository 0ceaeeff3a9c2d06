/* Memory blocks: malloc and its family, operator new and delete, mmap. A block's life begins with
 * ALLOC and ends with FREE; memory that comes back at the same address is another location. */
#define _GNU_SOURCE
#include "runtime/check.h"
#include "runtime/marks.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>

/* ---- before the real allocator is known: dlsym itself may allocate --------------------------- */

static char early[128 * 1024] __attribute__((aligned(16)));
static size_t early_used;

static void *early_alloc(size_t bytes, size_t alignment) {
    size_t at = __atomic_load_n(&early_used, __ATOMIC_RELAXED), next;
    do {
        next = (at + 16 + alignment - 1) / alignment * alignment;
        if (next + bytes > sizeof early) return NULL;
    } while (!__atomic_compare_exchange_n(&early_used, &at, next + bytes, false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    memcpy(early + next - sizeof bytes, &bytes, sizeof bytes);
    return early + next;
}
static bool is_early(const void *block) {
    return (const char *)block >= early && (const char *)block < early + sizeof early;
}
static size_t early_bytes(const void *block) {
    size_t bytes;
    memcpy(&bytes, (const char *)block - sizeof bytes, sizeof bytes);
    return bytes;
}

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    void *(*memalign)(size_t, size_t);
    size_t (*usable)(void *);
} real;
static bool resolving;

static bool resolved(void) {
    if (likely(real.usable != NULL)) return true;
    if (resolving) return false;
    resolving = true;
    void *at;
    rt_real("malloc", &at), real.malloc = (void *(*)(size_t))at;
    rt_real("calloc", &at), real.calloc = (void *(*)(size_t, size_t))at;
    rt_real("realloc", &at), real.realloc = (void *(*)(void *, size_t))at;
    rt_real("free", &at), real.free = (void (*)(void *))at;
    rt_real("memalign", &at), real.memalign = (void *(*)(size_t, size_t))at;
    rt_real("malloc_usable_size", &at), real.usable = (size_t(*)(void *))at;
    resolving = false;
    return true;
}

/* ---- allocators that are compiled for us ------------------------------------------------------
 */

/* What an allocator does inside of blocks and to its own locks is of no interest, and its locks are
 * not seen while its caller is in the runtime: its hooks do nothing then. They take the slow path,
 * where it is looked at whether the thread is inside. */
static int64_t hush(void) {
    static uint8_t own; /* 0: not known yet, 1: no, 2: it is */
    struct rt_thread *t = &rt_self;
    if (likely(own == 1) || rt.mode == HD_SCHED_OFF) return -1;
    if (own == 0) own = rt_is_hooked((uintptr_t)real.malloc) ? 2 : 1;
    if (own == 1 || !t->inside || t->left < 0) return -1;
    int64_t left = t->left;
    rt_set_left(t, -1);
    return left;
}
static void unhush(int64_t left) {
    struct rt_thread *t = &rt_self;
    if (likely(left < 0)) return;
    int64_t made = -1 - t->left;
    rt_set_left(t, left > made ? left - made : -1);
}

/* ---- recording ---------------------------------------------------------------------------- */

/* Of a block that is freed so many bytes are marked: uses after free are found there. */
#define MOST_MARKED (1024u * 1024u)

static bool is_from_c_library(void) {
    static uint8_t known; /* 0: not looked yet, 1: no, 2: yes */
    if (unlikely(known == 0)) known = rt_is_c_library((uintptr_t)real.malloc) ? 2 : 1;
    return known == 2;
}

/* A mapping of its own goes back to the system when it is freed: what is mapped there next may not
 * be seen. */
#define LARGE_BLOCK (64u * 1024u)
static bool is_mapping(const void *block, size_t usable) {
    if (!is_from_c_library()) return usable > LARGE_BLOCK;
    size_t head; /* of malloc's chunk: its size, and in bit 1 whether it is a mapping */
    memcpy(&head, (const char *)block - sizeof head, sizeof head);
    return head & 2;
}

/* What the allocator has beyond the bytes that were asked for is not the program's, nor is the
 * word in front of each of the C library's blocks, the next one's included. */
static void set_bounds(void *block, size_t bytes, size_t usable) {
    uintptr_t at = (uintptr_t)block;
    if (rt.mode != HD_SCHED_SERIAL) return;
    if (usable < bytes) {
        rt_unmark(at, bytes);
        return;
    }
    rt_mark_rest(at, bytes, usable);
    if (!is_from_c_library()) return;
    rt_mark(at - sizeof(size_t), sizeof(size_t), HD_MISUSE_BETWEEN);
    if (!is_mapping(block, usable)) rt_mark(at + usable, sizeof(size_t), HD_MISUSE_BETWEEN);
}

static void born(struct rt_thread *t, void *block, size_t bytes, unsigned type, uintptr_t pc) {
    if (block == NULL) return;
    uint32_t site = rt_site(t, pc);
    if (unlikely(rt.checking)) rt_check_clear((uintptr_t)block, bytes);
    if (type == HD_BLOCK_MMAP) rt_unmark((uintptr_t)block, bytes); /* of others: set_bounds */
    rt_owners_block(t, (uintptr_t)block, bytes);
    rt_emit_extra(t, bytes, site);
    rt_emit(t, HD_EV_ALLOC, type, (uintptr_t)block, site);
}

#define UNMAPPED 0x100u /* beside the type: its memory goes back to the system */
static unsigned heap_type(const void *block, size_t usable) {
    return HD_BLOCK_HEAP | (is_mapping(block, usable) ? UNMAPPED : 0);
}

static void dies(struct rt_thread *t, void *block, size_t bytes, unsigned type, uintptr_t pc) {
    uint32_t site = rt_site(t, pc);
    rt_before_access(t, site, (uintptr_t)block, bytes);
    if (unlikely(rt.checking)) rt_check_clear((uintptr_t)block, bytes);
    if (type & UNMAPPED)
        rt_unmark((uintptr_t)block, bytes);
    else
        rt_mark((uintptr_t)block, bytes < MOST_MARKED ? bytes : MOST_MARKED, HD_MISUSE_FREED);
    rt_owners_block(t, (uintptr_t)block, bytes);
    rt_emit_extra(t, bytes, site);
    rt_emit(t, HD_EV_FREE, type & ~UNMAPPED, (uintptr_t)block, site);
}

#define SMALL_BLOCK 64u
/* Serial: it stays in its place: from now on it has this many bytes, where at least `old` were its
 * own. */
static void lives_on(struct rt_thread *t, void *block, size_t old, size_t bytes, uintptr_t pc) {
    uint32_t site = rt_site(t, pc);
    if (bytes > old && unlikely(rt.checking)) rt_check_clear((uintptr_t)block + old, bytes - old);
    rt_emit_extra(t, bytes, site);
    rt_emit(t, HD_EV_ALLOC, HD_BLOCK_HEAP | HD_BLOCK_GROWN, (uintptr_t)block, site);
}

/* The allocator's own size class is what free() and a later malloc() see; the asked-for size is
 * what the program sees. ALLOC has the latter, FREE the former. */
static void *allocate(size_t bytes, size_t alignment, bool zero, uintptr_t pc) {
    if (unlikely(!resolved())) return early_alloc(bytes, alignment > 16 ? alignment : 16);
    struct rt_thread *t = rt_enter_from(pc);
    int64_t left = hush();
    void *block = alignment > 16 ? real.memalign(alignment, bytes)
                  : zero         ? real.calloc(1, bytes)
                                 : real.malloc(bytes);
    if (t == NULL) {
        if (block != NULL) rt_unmark((uintptr_t)block, real.usable(block));
        unhush(left);
        return block;
    }
    int saved = errno;
    born(t, block, bytes, zero ? HD_BLOCK_HEAP | HD_BLOCK_ZEROED : HD_BLOCK_HEAP, pc);
    if (block != NULL) set_bounds(block, bytes, real.usable(block));
    unhush(left);
    rt_leave(t);
    errno = saved;
    return block;
}

static void release(void *block, uintptr_t pc) {
    if (block == NULL || unlikely(is_early(block))) return;
    if (unlikely(!resolved())) return;
    struct rt_thread *t = rt_enter_from(pc);
    int64_t left = hush();
    /* What the loader frees (threads' tables of thread-local storage) it may have allocated out of
     * our sight, while the runtime makes a thread: such a block would seem to be freed twice. */
    if (t != NULL && !rt_is_loader(pc)) {
        int saved = errno;
        size_t usable = real.usable(block);
        dies(t, block, usable, heap_type(block, usable), pc);
        errno = saved;
    }
    real.free(block);
    unhush(left);
    if (t != NULL) rt_leave(t);
}

static void *resize(void *block, size_t bytes, uintptr_t pc) {
    if (block == NULL) return allocate(bytes, 0, false, pc);
    if (unlikely(is_early(block))) {
        void *moved = allocate(bytes, 0, false, pc);
        size_t old = early_bytes(block);
        if (moved != NULL) memcpy(moved, block, old < bytes ? old : bytes);
        return moved;
    }
    if (unlikely(!resolved())) return NULL;
    struct rt_thread *t = rt_enter_from(pc);
    int64_t left = hush();
    if (t == NULL) {
        void *moved = real.realloc(block, bytes);
        if (moved != NULL) rt_unmark((uintptr_t)moved, real.usable(moved));
        unhush(left);
        return moved;
    }
    size_t old = real.usable(block);
    int saved = errno;
    /* Under free another thread must not be given the old block before its end is recorded. Under
     * serial nobody else runs meanwhile: a block that stays in its place lives on, and only its end
     * moves; realloc may read what is in it. */
    bool alone = rt.mode == HD_SCHED_SERIAL;
    unsigned type = heap_type(block, old);
    if (!alone) dies(t, block, old, type, pc);
    errno = saved;
    void *moved = real.realloc(block, bytes);
    saved = errno;
    if (alone && moved == block) {
        /* Only the allocator's size is known, which is more than was asked for: the C library's is
         * not twice as much, unless the block is small. What was not asked for may be an older
         * block's in the trace: it becomes this one's before it is read. */
        if (bytes > old / 2 || old <= SMALL_BLOCK || !rt_is_c_library((uintptr_t)real.malloc))
            lives_on(t, block, old, bytes, pc);
        rt_unmark((uintptr_t)block, old);
        rt_access(t, (uintptr_t)block, old < bytes ? old : bytes, false, pc);
        size_t usable = real.usable(block);
        set_bounds(block, bytes, usable > old ? usable : old);
    } else if (alone && (moved != NULL || bytes == 0)) {
        dies(t, block, old, type, pc);
        if (moved != NULL) {
            born(t, moved, bytes, HD_BLOCK_HEAP, pc);
            set_bounds(moved, bytes, real.usable(moved));
        }
    } else if (alone) {
        /* it failed: the block lives on */
    } else if (moved != NULL)
        born(t, moved, bytes, HD_BLOCK_HEAP, pc);
    else if (bytes != 0)
        born(t, block, old, HD_BLOCK_HEAP, pc); /* it failed: the block lives on */
    unhush(left);
    rt_leave(t);
    errno = saved;
    return moved;
}

RT_EXPORT void *malloc(size_t bytes) { return allocate(bytes, 0, false, RT_CALLER); }
RT_EXPORT void free(void *block) { release(block, RT_CALLER); }
RT_EXPORT void cfree(void *block);
RT_EXPORT void cfree(void *block) { release(block, RT_CALLER); }
RT_EXPORT void *calloc(size_t count, size_t each) {
    size_t bytes;
    if (__builtin_mul_overflow(count, each, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return allocate(bytes, 0, true, RT_CALLER);
}
RT_EXPORT void *realloc(void *block, size_t bytes) { return resize(block, bytes, RT_CALLER); }
RT_EXPORT void *reallocarray(void *block, size_t count, size_t each) {
    size_t bytes;
    if (__builtin_mul_overflow(count, each, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return resize(block, bytes, RT_CALLER);
}
RT_EXPORT void *memalign(size_t alignment, size_t bytes) {
    return allocate(bytes, alignment, false, RT_CALLER);
}
RT_EXPORT void *aligned_alloc(size_t alignment, size_t bytes) {
    return allocate(bytes, alignment, false, RT_CALLER);
}
RT_EXPORT int posix_memalign(void **block, size_t alignment, size_t bytes) {
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0)
        return EINVAL;
    int saved = errno;
    void *made = allocate(bytes, alignment, false, RT_CALLER);
    errno = saved;
    if (made == NULL) return ENOMEM;
    *block = made;
    return 0;
}
RT_EXPORT void *valloc(size_t bytes) { return allocate(bytes, 4096, false, RT_CALLER); }
RT_EXPORT void *pvalloc(size_t bytes) {
    return allocate((bytes + 4095) & ~(size_t)4095, 4096, false, RT_CALLER);
}
RT_EXPORT size_t malloc_usable_size(void *block) {
    if (block != NULL && is_early(block)) return early_bytes(block);
    if (!resolved()) return 0;
    size_t usable = real.usable(block);
    if (block != NULL) rt_unmark((uintptr_t)block, usable); /* now it is the program's */
    return usable;
}

/* ---- C++: the real operators throw, call new handlers, or come from the program ----------------
 */

/* Where the program has a malloc of its own, nobody knows how much a block has but its first byte.
 */
static size_t usable_size(void *block) {
    static uint8_t foreign; /* 0: not looked yet, 1: no, 2: yes */
    if (is_early(block)) return early_bytes(block);
    if (!resolved()) return 0;
    if (unlikely(foreign == 0)) foreign = dlsym(RTLD_DEFAULT, "malloc") == (void *)malloc ? 1 : 2;
    if (unlikely(foreign == 2)) return 1;
    int64_t left = hush();
    size_t bytes = real.usable(block);
    unhush(left);
    return bytes;
}

static void deleted(struct rt_thread *t, void *block, uintptr_t pc) {
    size_t usable = usable_size(block);
    dies(t, block, usable, heap_type(block, usable), pc);
}

#define NEW(name, parameters, arguments, bytes)                                              \
    RT_EXPORT void *name parameters;                                                         \
    RT_EXPORT void *name parameters {                                                        \
        struct rt_thread *t = rt_enter();                                                    \
        if (t == NULL) return REAL(name) arguments;                                          \
        struct new_scope scope __attribute__((cleanup(leave_new))) = {t};                    \
        void *block = REAL(name) arguments;                                                  \
        (void)scope;                                                                         \
        born(t, block, bytes, HD_BLOCK_HEAP, RT_CALLER);                                     \
        if (block != NULL && !is_early(block)) set_bounds(block, bytes, usable_size(block)); \
        return block;                                                                        \
    }
#define DELETE(name, parameters, arguments)                      \
    RT_EXPORT void name parameters;                              \
    RT_EXPORT void name parameters {                             \
        struct rt_thread *t = block != NULL ? rt_enter() : NULL; \
        if (t != NULL) deleted(t, block, RT_CALLER);             \
        REAL(name) arguments;                                    \
        if (t != NULL) rt_leave(t);                              \
    }

struct new_scope {
    struct rt_thread *thread;
};
static void leave_new(struct new_scope *scope) { rt_leave(scope->thread); }

NEW(_Znwm, (size_t bytes), (bytes), bytes)
NEW(_Znam, (size_t bytes), (bytes), bytes)
NEW(_ZnwmRKSt9nothrow_t, (size_t bytes, const void *nothrow), (bytes, nothrow), bytes)
NEW(_ZnamRKSt9nothrow_t, (size_t bytes, const void *nothrow), (bytes, nothrow), bytes)
NEW(_ZnwmSt11align_val_t, (size_t bytes, size_t alignment), (bytes, alignment), bytes)
NEW(_ZnamSt11align_val_t, (size_t bytes, size_t alignment), (bytes, alignment), bytes)
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t bytes, size_t alignment, const void *nothrow),
    (bytes, alignment, nothrow), bytes)
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t bytes, size_t alignment, const void *nothrow),
    (bytes, alignment, nothrow), bytes)
DELETE(_ZdlPv, (void *block), (block))
DELETE(_ZdaPv, (void *block), (block))
DELETE(_ZdlPvm, (void *block, size_t bytes), (block, bytes))
DELETE(_ZdaPvm, (void *block, size_t bytes), (block, bytes))
DELETE(_ZdlPvRKSt9nothrow_t, (void *block, const void *nothrow), (block, nothrow))
DELETE(_ZdaPvRKSt9nothrow_t, (void *block, const void *nothrow), (block, nothrow))
DELETE(_ZdlPvSt11align_val_t, (void *block, size_t alignment), (block, alignment))
DELETE(_ZdaPvSt11align_val_t, (void *block, size_t alignment), (block, alignment))
DELETE(_ZdlPvmSt11align_val_t, (void *block, size_t bytes, size_t alignment),
       (block, bytes, alignment))
DELETE(_ZdaPvmSt11align_val_t, (void *block, size_t bytes, size_t alignment),
       (block, bytes, alignment))

/* ---- mappings ----------------------------------------------------------------------------- */

static void *map(void *address, size_t bytes, int protection, int flags, int fd, off_t offset,
                 uintptr_t pc) {
    struct rt_thread *t = rt_enter();
    void *made = REAL(mmap)(address, bytes, protection, flags, fd, offset);
    if (t == NULL) return made;
    int saved = errno;
    if (made != MAP_FAILED) born(t, made, (bytes + 4095) & ~(size_t)4095, HD_BLOCK_MMAP, pc);
    rt_leave(t);
    errno = saved;
    return made;
}
RT_EXPORT void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset) {
    return map(address, bytes, protection, flags, fd, offset, RT_CALLER);
}
RT_EXPORT void *mmap64(void *address, size_t bytes, int protection, int flags, int fd,
                       off64_t offset) {
    return map(address, bytes, protection, flags, fd, offset, RT_CALLER);
}

RT_EXPORT int munmap(void *address, size_t bytes) {
    struct rt_thread *t = rt_enter();
    if (t == NULL) return REAL(munmap)(address, bytes);
    int saved = errno;
    dies(t, address, (bytes + 4095) & ~(size_t)4095, HD_BLOCK_MMAP | UNMAPPED, RT_CALLER);
    errno = saved;
    int result = REAL(munmap)(address, bytes);
    rt_leave(t);
    return result;
}

RT_EXPORT void *mremap(void *address, size_t bytes, size_t new_bytes, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    void *target = flags & MREMAP_FIXED ? va_arg(arguments, void *) : NULL;
    va_end(arguments);
    struct rt_thread *t = rt_enter();
    if (t == NULL) return REAL(mremap)(address, bytes, new_bytes, flags, target);
    int saved = errno;
    dies(t, address, (bytes + 4095) & ~(size_t)4095, HD_BLOCK_MMAP | UNMAPPED, RT_CALLER);
    errno = saved;
    void *made = REAL(mremap)(address, bytes, new_bytes, flags, target);
    saved = errno;
    bool failed = made == MAP_FAILED;
    born(t, failed ? address : made, ((failed ? bytes : new_bytes) + 4095) & ~(size_t)4095,
         HD_BLOCK_MMAP, RT_CALLER);
    rt_leave(t);
    errno = saved;
    return made;
}

/* ---- System V shared memory: a block from its attachment on -------------------------------------
 */

RT_EXPORT void *shmat(int id, const void *address, int flags) {
    struct rt_thread *t = rt_enter();
    void *made = REAL(shmat)(id, address, flags);
    if (t == NULL) return made;
    int saved = errno;
    struct shmid_ds about;
    if (made != (void *)-1 && shmctl(id, IPC_STAT, &about) == 0) {
        struct rt_object *object = rt_object_get((uintptr_t)made);
        object->round = (about.shm_segsz + 4095) & ~(size_t)4095;
        uint64_t bytes = object->round;
        rt_object_put(object);
        born(t, made, bytes, HD_BLOCK_MMAP, RT_CALLER);
    }
    rt_leave(t);
    errno = saved;
    return made;
}

RT_EXPORT int shmdt(const void *address) {
    struct rt_thread *t = rt_enter();
    if (t == NULL) return REAL(shmdt)(address);
    struct rt_object *object = rt_object_get((uintptr_t)address);
    uint64_t bytes = object->round;
    rt_object_put(object);
    rt_object_drop((uintptr_t)address);
    if (bytes != 0) dies(t, (void *)(uintptr_t)address, bytes, HD_BLOCK_MMAP | UNMAPPED, RT_CALLER);
    int result = REAL(shmdt)(address);
    rt_leave(t);
    return result;
}
