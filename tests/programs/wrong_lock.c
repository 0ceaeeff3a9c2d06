/* Two locks for one variable: the updater guards `hits` with a spin lock, the statistics thread
 * resets it under the mutex that guards everything else. Each side looks right by itself.
 * Repaired by taking the spin lock on both sides. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int hits, reported;
static pthread_spinlock_t hits_lock;
static pthread_mutex_t report_lock = PTHREAD_MUTEX_INITIALIZER;

static void *update(void *unused) {
    (void)unused;
    for (int i = 0; i < 3; i++) {
        pthread_spin_lock(&hits_lock);
        hits++;
        pthread_spin_unlock(&hits_lock);
    }
    return NULL;
}

static void *collect(void *unused) {
    (void)unused;
    usleep(5000);
    pthread_mutex_lock(&report_lock);
#ifdef FIXED
    pthread_spin_lock(&hits_lock);
#endif
    reported += hits;
    hits = 0;
#ifdef FIXED
    pthread_spin_unlock(&hits_lock);
#endif
    pthread_mutex_unlock(&report_lock);
    return NULL;
}

int main(void) {
    pthread_t updater, collector;
    pthread_spin_init(&hits_lock, PTHREAD_PROCESS_PRIVATE);
    pthread_create(&updater, NULL, update, NULL);
    pthread_create(&collector, NULL, collect, NULL);
    pthread_join(updater, NULL);
    pthread_join(collector, NULL);
    pthread_spin_destroy(&hits_lock);
    printf("hits %d\n", reported + hits);
    return reported + hits == 3 ? 0 : 1;
}
