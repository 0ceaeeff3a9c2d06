/* An object that the last of its users destroys. Broken: who is the last is asked a second time,
 * after the count went down. */
#include "threads.h"

static atomic_int users = THREADS, destroyed;

static void *work(void *self) {
    (void)self;
    assert(atomic_load(&destroyed) == 0);
#ifdef FIXED
    if (atomic_fetch_sub(&users, 1) == 1) atomic_fetch_add(&destroyed, 1);
#else
    atomic_fetch_sub(&users, 1);
    if (atomic_load(&users) == 0) atomic_fetch_add(&destroyed, 1);
#endif
    return NULL;
}

int main(void) {
    run_threads(work);
    assert(atomic_load(&destroyed) == 1);
    return 0;
}
