/* A hundred threads count up, each with an update that is not atomic: read in one section, written
 * in another. Repaired with one section. */
#include <pthread.h>

enum { THREADS = 100 };
static int counter;
static pthread_mutex_t counter_lock = PTHREAD_MUTEX_INITIALIZER;

static void *count(void *unused) {
    (void)unused;
    pthread_mutex_lock(&counter_lock);
    int before = counter;
#ifndef FIXED
    pthread_mutex_unlock(&counter_lock);
    pthread_mutex_lock(&counter_lock);
#endif
    counter = before + 1;
    pthread_mutex_unlock(&counter_lock);
    return 0;
}

int main(void) {
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&thread[i], 0, count, 0);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], 0);
    return counter != THREADS;
}
