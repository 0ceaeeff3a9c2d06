/* Memory, futexes, messages and real functions for the rest of the runtime. */
#define _GNU_SOURCE
#include "runtime/rt.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *rt_map(size_t bytes) {
    void *memory = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
    if (memory == MAP_FAILED) rt_die("out of address space");
    return memory;
}

void rt_unmap(void *memory, size_t bytes) { syscall(SYS_munmap, memory, bytes); }

void rt_message(const char *text) {
    char line[512];
    size_t length = strnlen(text, sizeof line - 32);
    memcpy(line, "heddle: runtime: ", 17);
    memcpy(line + 17, text, length);
    line[17 + length] = '\n';
    ssize_t ignored = syscall(SYS_write, 2, line, 18 + length);
    (void)ignored;
}

void rt_die(const char *text) {
    rt_message(text);
    syscall(SYS_exit_group, 2);
    __builtin_unreachable();
}

/* Futex calls may come from a memory hook: errno is the program's. They return 0 or -errno. */
static long futex(uint32_t *word, int op, uint32_t value, const struct timespec *time,
                  uint32_t mask) {
    int saved = errno;
    long result = syscall(SYS_futex, word, op, value, time, NULL, mask);
    if (result < 0) result = -errno;
    errno = saved;
    return result;
}

long rt_futex_wait(uint32_t *word, uint32_t value, const struct timespec *timeout, bool shared) {
    return futex(word, shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, value, timeout, 0);
}

long rt_futex_wait_until(uint32_t *word, uint32_t value, const struct timespec *deadline,
                         clockid_t clock) {
    int op = FUTEX_WAIT_BITSET_PRIVATE | (clock == CLOCK_REALTIME ? FUTEX_CLOCK_REALTIME : 0);
    return futex(word, op, value, deadline, FUTEX_BITSET_MATCH_ANY);
}

long rt_futex_wake(uint32_t *word, int count, bool shared) {
    return futex(word, shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, (uint32_t)count, NULL, 0);
}

int rt_gettid(void) { return (int)syscall(SYS_gettid); }

/* 0 free, 1 taken, 2 taken with sleepers. */
void rt_spin_lock_slow(struct rt_spin *lock) {
    for (int i = 0; i < 100; i++) {
        uint32_t free_word = 0;
        if (__atomic_compare_exchange_n(&lock->word, &free_word, 1, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return;
        __builtin_ia32_pause();
    }
    while (__atomic_exchange_n(&lock->word, 2, __ATOMIC_ACQUIRE) != 0)
        rt_futex_wait(&lock->word, 2, NULL, false);
}

void rt_spin_unlock(struct rt_spin *lock) {
    if (__atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE) == 2)
        rt_futex_wake(&lock->word, 1, false);
}

/* A linker that drops libraries nobody needs (--as-needed) drops libgomp, if all that the program
 * calls of it is here. */
static void *from_libgomp(const char *name) {
    if (strncmp(name, "GOMP_", 5) != 0 && strncmp(name, "omp_", 4) != 0) return NULL;
    void *library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL);
    return library != NULL ? dlsym(library, name) : NULL;
}

/* Condition variables have an old and a new version under one name; the new one is meant. */
void *rt_real(const char *name, void **cache) {
    void *found = NULL;
    if (strncmp(name, "pthread_cond_", 13) == 0) found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    if (found == NULL) found = dlsym(RTLD_NEXT, name);
    if (found == NULL) found = rt_stand_in(name);
    if (found == NULL) found = from_libgomp(name);
    if (found == NULL) {
        char text[160] = "the C library has no ";
        strncat(text, name, 100);
        rt_die(text);
    }
    *cache = found;
    return found;
}

/* ---- synchronisation objects by address -------------------------------------------------- */

#define BUCKETS 1024u
struct node {
    struct rt_object object;
    struct node *next;
};
static struct {
    struct rt_spin lock;
    struct node *first;
} bucket[BUCKETS];
static struct rt_spin pool_lock;
static struct node *pool, *pool_end, *unused;

static unsigned bucket_of(uintptr_t address) {
    return (unsigned)((address >> 3) * 0x9e3779b97f4a7c15ull >> 54) & (BUCKETS - 1);
}

static struct node *node_new(void) {
    rt_spin_lock(&pool_lock);
    struct node *node = unused;
    if (node != NULL) {
        unused = node->next;
    } else {
        if (pool == pool_end) {
            pool = rt_map(256 * sizeof *pool);
            pool_end = pool + 256;
        }
        node = pool++;
    }
    rt_spin_unlock(&pool_lock);
    memset(node, 0, sizeof *node);
    return node;
}

struct rt_object *rt_object_get(uintptr_t address) {
    unsigned b = bucket_of(address);
    rt_spin_lock(&bucket[b].lock);
    struct node *node = bucket[b].first;
    while (node != NULL && node->object.address != address) node = node->next;
    if (node == NULL) {
        node = node_new();
        node->object.address = address;
        node->next = bucket[b].first;
        bucket[b].first = node;
    }
    return &node->object;
}

void rt_object_put(struct rt_object *object) {
    rt_spin_unlock(&bucket[bucket_of(object->address)].lock);
}

void rt_object_drop(uintptr_t address) {
    unsigned b = bucket_of(address);
    rt_spin_lock(&bucket[b].lock);
    for (struct node **at = &bucket[b].first; *at != NULL; at = &(*at)->next) {
        if ((*at)->object.address != address) continue;
        struct node *gone = *at;
        *at = gone->next;
        rt_spin_lock(&pool_lock);
        gone->next = unused;
        unused = gone;
        rt_spin_unlock(&pool_lock);
        break;
    }
    rt_spin_unlock(&bucket[b].lock);
}

void rt_objects_unlock(void) {
    for (unsigned i = 0; i < BUCKETS; i++) bucket[i].lock.word = 0;
    pool_lock.word = 0;
}

/* In a forked child the threads that held them do not exist. */
void rt_locks_reset(void) {
    rt_objects_unlock();
    rt_modules_unlock();
    rt_atomics_unlock();
    rt_files_unlock();
    rt_sockets_unlock();
    rt_epoll_unlock();
    rt_once_unlock();
}
