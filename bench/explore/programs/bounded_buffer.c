/* A buffer of one place under a lock with two conditions: thread 0 puts, each other one takes an
 * item. Broken: a taker looks whether there is an item before it has the lock, and waits for a
 * signal that may have come already. */
#include "threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static atomic_int items;

static void put(void) {
    pthread_mutex_lock(&lock);
    while (atomic_load(&items) == 1) pthread_cond_wait(&emptied, &lock);
    atomic_store(&items, 1);
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
}

static void take(void) {
#ifdef FIXED
    pthread_mutex_lock(&lock);
    while (atomic_load(&items) == 0) pthread_cond_wait(&filled, &lock);
#else
    bool none = atomic_load(&items) == 0;
    pthread_mutex_lock(&lock);
    for (; none; none = atomic_load(&items) == 0) pthread_cond_wait(&filled, &lock);
#endif
    atomic_store(&items, 0);
    pthread_cond_signal(&emptied);
    pthread_mutex_unlock(&lock);
}

static void *work(void *self) {
    if ((intptr_t)self != 0) take();
    for (int i = 1; (intptr_t)self == 0 && i < THREADS; i++) put();
    return NULL;
}

int main(void) {
    run_threads(work);
    return 0;
}
