/* A spin lock around a counter. Broken: test and set are two steps. */
#include "threads.h"

static atomic_int locked;
static int counter;

static void *work(void *self) {
    (void)self;
#ifdef FIXED
    while (atomic_exchange(&locked, 1) != 0)
        while (atomic_load(&locked) != 0) continue;
#else
    while (atomic_load(&locked) != 0) continue;
    atomic_store(&locked, 1);
#endif
    int before = counter;
    counter = before + 1;
    atomic_store(&locked, 0);
    return NULL;
}

int main(void) {
    run_threads(work);
    assert(counter == THREADS);
    return 0;
}
