/* Mellor-Crummey and Scott's queue lock (1991) around a counter. Broken: a thread that sees the one
 * before it no longer waiting takes the lock to be free. */
#include "threads.h"

static struct waiter {
    struct waiter *_Atomic next;
    atomic_bool waits;
} waiters[THREADS];
static struct waiter *_Atomic tail;
static int counter;

static void lock(struct waiter *own) {
    struct waiter *before = atomic_exchange(&tail, own);
    if (before == NULL) return;
    atomic_store(&own->waits, true);
    atomic_store(&before->next, own);
#ifndef FIXED
    if (!atomic_load(&before->waits)) return;
#endif
    while (atomic_load(&own->waits)) continue;
}

static void unlock(struct waiter *own) {
    struct waiter *last = own;
    if (atomic_load(&own->next) == NULL) {
        if (atomic_compare_exchange_strong(&tail, &last, NULL)) return;
        while (atomic_load(&own->next) == NULL) continue;
    }
    atomic_store(&atomic_load(&own->next)->waits, false);
}

static void *work(void *self) {
    struct waiter *own = &waiters[(intptr_t)self];
    lock(own);
    int before = counter;
    counter = before + 1;
    unlock(own);
    return NULL;
}

int main(void) {
    run_threads(work);
    assert(counter == THREADS);
    return 0;
}
