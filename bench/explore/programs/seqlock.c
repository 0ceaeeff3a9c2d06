/* A sequence lock: one writer of two variables that belong together. Broken: a reader does not look
 * again whether it was disturbed. */
#include "threads.h"

static atomic_uint sequence;
static atomic_int x, y;

static void *work(void *self) {
    if ((intptr_t)self == 0) {
        atomic_fetch_add(&sequence, 1);
        atomic_store(&x, 1);
        atomic_store(&y, 1);
        atomic_fetch_add(&sequence, 1);
        return NULL;
    }
    unsigned before;
    int a, b;
    do {
        while ((before = atomic_load(&sequence)) % 2 != 0) continue;
        a = atomic_load(&x);
        b = atomic_load(&y);
#ifdef FIXED
    } while (atomic_load(&sequence) != before);
#else
    } while (before % 2 != 0);
#endif
    assert(a == b);
    return NULL;
}

int main(void) {
    run_threads(work);
    return 0;
}
