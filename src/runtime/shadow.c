/* Shadow memory: mapped on first use, any address, no fixed layout. */
#define _GNU_SOURCE
#include "runtime/rt.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct rt_cell *rt_shadow[RT_SHADOW_ENTRIES];

#define REGION_CELLS (1ul << (RT_SHADOW_SHIFT - 3))
#define REGION_BYTES (REGION_CELLS * sizeof(struct rt_cell))

/* What the system refused once it probably refuses again, and this may be at every access. */
#define ASK_AGAIN 4096u
static uint32_t refused; /* calls since then, plus one */

/* Called from memory hooks: errno is the program's. */
static struct rt_cell *map_region(uintptr_t address) {
    uintptr_t index = address >> RT_SHADOW_SHIFT;
    if (index >= RT_SHADOW_ENTRIES) return NULL;
    if (__atomic_load_n(&refused, __ATOMIC_RELAXED) != 0 &&
        __atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED) % ASK_AGAIN != 0)
        return NULL;
    void *memory = (void *)syscall(SYS_mmap, NULL, REGION_BYTES, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
    if (memory == MAP_FAILED) {
        __atomic_store_n(&refused, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    __atomic_store_n(&refused, 0, __ATOMIC_RELAXED);
    syscall(SYS_madvise, memory, REGION_BYTES, MADV_NOHUGEPAGE);
    struct rt_cell *none = NULL;
    if (!__atomic_compare_exchange_n(&rt_shadow[index], &none, memory, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        syscall(SYS_munmap, memory, REGION_BYTES);
        return none;
    }
    return memory;
}

RT_NOINLINE struct rt_cell *rt_shadow_map(uintptr_t address) {
    int saved = errno;
    struct rt_cell *region = map_region(address);
    errno = saved;
    return region;
}

#define LARGE (64u * 1024u)

/* Forgets what was accessed in a block whose life begins or ends. Under free, whoever touches it
 * next takes a stamp. */
void rt_shadow_clear(struct rt_thread *t, uintptr_t address, size_t bytes) {
    uint64_t owner = rt.mode == HD_SCHED_FREE ? RT_OWNER_ALIEN : 0;
    uintptr_t end = address + bytes;
    if (rt.full) {
        rt_owners_clear(address, bytes);
        return;
    }
    address &= ~(uintptr_t)7;
    while (address < end) {
        uintptr_t index = address >> RT_SHADOW_SHIFT;
        if (index >= RT_SHADOW_ENTRIES) return;
        uintptr_t stop = (index + 1) << RT_SHADOW_SHIFT;
        if (stop > end) stop = end;
        struct rt_cell *base = rt_shadow[index];
        if (base != NULL) {
            struct rt_cell *from = base + RT_SHADOW_OFFSET(address),
                           *to = from + ((stop - address + 7) >> 3);
            if (stop - address >= LARGE) {
                /* Whole pages of shadow go back to the system: cheaper, and the memory is free. */
                uintptr_t a = ((uintptr_t)from + 4095) & ~4095ul, b = (uintptr_t)to & ~4095ul;
                syscall(SYS_madvise, a, b - a, MADV_DONTNEED);
                for (; (uintptr_t)from < a; from++) *from = (struct rt_cell){.owner = owner};
                for (from = (struct rt_cell *)(b - (b - (uintptr_t)base) % sizeof *from); from < to;
                     from++)
                    *from = (struct rt_cell){.owner = owner};
            } else {
                for (uintptr_t at = address; from < to; from++, at += 8) {
                    rt_flush_cell(t, from, at);
                    if (from->owner != owner || from->slot[0] != 0)
                        *from = (struct rt_cell){.owner = owner};
                }
            }
        }
        address = stop;
    }
}

/* ---- a byte for every 8 bytes -------------------------------------------------------------------
 */

uint8_t *rt_words;
#define WORDS_BYTES (1ul << (RT_ADDRESS_BITS - 3))

bool rt_words_map(void) {
    static bool asked;
    if (rt_words != NULL || asked) return rt_words != NULL;
    int saved = errno;
    void *memory = (void *)syscall(SYS_mmap, NULL, WORDS_BYTES, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
    asked = true;
    if (memory != MAP_FAILED) {
        syscall(SYS_madvise, memory, WORDS_BYTES, MADV_NOHUGEPAGE);
        syscall(SYS_madvise, memory, WORDS_BYTES, MADV_DONTDUMP);
        rt_words = memory;
    }
    errno = saved;
    return rt_words != NULL;
}
