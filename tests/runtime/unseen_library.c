/* A library that heddle does not see into: compiled as it is, with its own system calls and its own
 * lock. */
#include <stdint.h>
#include <sys/syscall.h>

long unseen_read(int fd, char *to, unsigned long size);
void unseen_lock(uint32_t *lock);
void unseen_unlock(uint32_t *lock);
void unseen_compute(const volatile int *stop);

static long call(long number, long a, long b, long c, long d) {
    register long fourth __asm__("r10") = d;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
}

long unseen_read(int fd, char *to, unsigned long size) {
    return call(SYS_read, fd, (long)to, (long)size, 0);
}

void unseen_lock(uint32_t *lock) {
    while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE) != 0)
        call(SYS_futex, (long)lock, 0 /* FUTEX_WAIT */, 1, 0);
}

void unseen_unlock(uint32_t *lock) {
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
    call(SYS_futex, (long)lock, 1 /* FUTEX_WAKE */, 1, 0);
}

void unseen_compute(const volatile int *stop) {
    while (!*stop) {
    }
}
