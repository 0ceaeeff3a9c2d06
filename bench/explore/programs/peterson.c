/* Peterson's algorithm (1981), in its form for any number of threads, around a counter. Broken: a
 * thread gives way before it says that it wants to enter. */
#include "threads.h"

static atomic_int level[THREADS], victim[THREADS];
static int counter;

static bool must_wait(int own, int at) {
    for (int other = 0; other < THREADS; other++)
        if (other != own && atomic_load(&level[other]) >= at)
            return atomic_load(&victim[at]) == own;
    return false;
}

static void *work(void *self) {
    int own = (int)(intptr_t)self;
    for (int at = 1; at < THREADS; at++) {
#ifdef FIXED
        atomic_store(&level[own], at);
        atomic_store(&victim[at], own);
#else
        atomic_store(&victim[at], own);
        atomic_store(&level[own], at);
#endif
        while (must_wait(own, at)) continue;
    }
    int before = counter;
    counter = before + 1;
    atomic_store(&level[own], 0);
    return NULL;
}

int main(void) {
    run_threads(work);
    assert(counter == THREADS);
    return 0;
}
