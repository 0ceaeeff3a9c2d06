/* Plain data race: three threads add to one counter without a lock. Goes wrong when one thread's
 * write falls between another's read and write. Repaired with a mutex. */
#include <pthread.h>
#include <stdio.h>

static int counter;
static pthread_mutex_t counter_lock = PTHREAD_MUTEX_INITIALIZER;

static void *count(void *argument) {
    int step = *(int *)argument;
#ifdef FIXED
    pthread_mutex_lock(&counter_lock);
#endif
    counter += step;
#ifdef FIXED
    pthread_mutex_unlock(&counter_lock);
#endif
    return NULL;
}

int main(void) {
    static int steps[3] = {1, 10, 100};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, count, &steps[i]);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    (void)counter_lock;
    printf("counter %d\n", counter);
    return counter == 111 ? 0 : 1;
}
