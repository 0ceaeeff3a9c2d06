/* Shadow memory: a byte for every 8 bytes of memory, wherever the system puts it. */
#define _GNU_SOURCE
#include "runtime/rt.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

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
