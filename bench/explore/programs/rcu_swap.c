/* A pointer that is read without a lock: thread 0 swaps it, waits for the readers and spoils what
 * it pointed to. Broken: a reader says that it reads after it has got the pointer. */
#include "threads.h"

static int versions[2] = {1, 1};
static int *_Atomic current = &versions[0];
static atomic_int readers;

static void *work(void *self) {
    if ((intptr_t)self == 0) {
        int *old = atomic_exchange(&current, &versions[1]);
        while (atomic_load(&readers) != 0) continue;
        *old = 0;
        return NULL;
    }
#ifdef FIXED
    atomic_fetch_add(&readers, 1);
    int *now = atomic_load(&current);
#else
    int *now = atomic_load(&current);
    atomic_fetch_add(&readers, 1);
#endif
    assert(*now == 1);
    atomic_fetch_sub(&readers, 1);
    return NULL;
}

int main(void) {
    run_threads(work);
    return 0;
}
