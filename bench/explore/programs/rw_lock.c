/* A readers-writer lock in one word: -1 has a writer, n has n readers. Thread 0 writes two
 * variables that belong together. Broken: a reader looks for a writer and counts itself in two
 * steps. */
#include "threads.h"

static atomic_int state;
static int x, y;

static void enter_reader(void) {
#ifdef FIXED
    int seen = atomic_load(&state);
    while (seen < 0 || !atomic_compare_exchange_strong(&state, &seen, seen + 1))
        if (seen < 0) seen = atomic_load(&state);
#else
    while (atomic_load(&state) < 0) continue;
    atomic_fetch_add(&state, 1);
#endif
}

static void *work(void *self) {
    if ((intptr_t)self == 0) {
        int none = 0;
        while (!atomic_compare_exchange_strong(&state, &none, -1)) none = 0;
        x = 1;
        y = 1;
        atomic_fetch_add(&state, 1);
        return NULL;
    }
    enter_reader();
    int a = x, b = y;
    assert(a == b);
    atomic_fetch_sub(&state, 1);
    return NULL;
}

int main(void) {
    run_threads(work);
    return 0;
}
