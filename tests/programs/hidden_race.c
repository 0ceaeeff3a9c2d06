/* A race hidden by the observed lock order: both threads add to `total` outside the lock, but the
 * first one's release comes before the second one's acquire in nearly every run, so that
 * happens-before orders the two additions. With the critical sections the other way round they
 * race. Repaired by adding inside the lock. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int total;
static int first_done, second_done;
static pthread_mutex_t done_lock = PTHREAD_MUTEX_INITIALIZER;

static void *add_then_lock(void *unused) {
    (void)unused;
#ifndef FIXED
    total += 5;
#endif
    pthread_mutex_lock(&done_lock);
#ifdef FIXED
    total += 5;
#endif
    first_done = 1;
    pthread_mutex_unlock(&done_lock);
    return NULL;
}

static void *lock_then_add(void *unused) {
    (void)unused;
    usleep(5000); /* the usual order: this thread is the later one */
    pthread_mutex_lock(&done_lock);
    second_done = 1;
#ifdef FIXED
    total += 7;
#endif
    pthread_mutex_unlock(&done_lock);
#ifndef FIXED
    total += 7;
#endif
    return NULL;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, add_then_lock, NULL);
    pthread_create(&second, NULL, lock_then_add, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    printf("total %d after %d threads\n", total, first_done + second_done);
    return total == 12 ? 0 : 1;
}
