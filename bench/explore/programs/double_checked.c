/* Initialising once, with a flag that is looked at without the lock. Broken: it is not looked at
 * again under the lock. */
#include "threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int ready;
static int times;

static void *work(void *self) {
    (void)self;
    if (atomic_load(&ready)) return NULL;
    pthread_mutex_lock(&lock);
#ifdef FIXED
    if (!atomic_load(&ready))
#endif
        times++;
    atomic_store(&ready, 1);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    run_threads(work);
    assert(times == 1);
    return 0;
}
