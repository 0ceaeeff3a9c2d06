/* Dekker's algorithm for two threads around a counter. Broken: a thread raises its flag after it
 * has looked at the other's. */
#define THREADS 2
#include "threads.h"

static atomic_int flag[2], turn;
static int counter;

static void *work(void *self) {
    int own = (int)(intptr_t)self, other = 1 - own;
#ifdef FIXED
    atomic_store(&flag[own], 1);
    while (atomic_load(&flag[other])) {
        if (atomic_load(&turn) == own) continue;
        atomic_store(&flag[own], 0);
        while (atomic_load(&turn) != own) continue;
        atomic_store(&flag[own], 1);
    }
#else
    while (atomic_load(&flag[other])) continue;
    atomic_store(&flag[own], 1);
#endif
    int before = counter;
    counter = before + 1;
    atomic_store(&turn, other);
    atomic_store(&flag[own], 0);
    return NULL;
}

int main(void) {
    run_threads(work);
    assert(counter == THREADS);
    return 0;
}
