/* Missed wake-up: the waiter tests `ready` in one critical section and waits in another, so that
 * the only signal may be sent in between; then it waits for ever. Repaired by testing in a loop
 * inside the section that waits. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int ready;
static int product, consumed;
static pthread_mutex_t ready_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t became_ready = PTHREAD_COND_INITIALIZER;

static void *consume(void *unused) {
    (void)unused;
    pthread_mutex_lock(&ready_lock);
#ifdef FIXED
    while (!ready) pthread_cond_wait(&became_ready, &ready_lock);
#else
    int must_wait = !ready;
    pthread_mutex_unlock(&ready_lock);
    pthread_mutex_lock(&ready_lock);
    if (must_wait) pthread_cond_wait(&became_ready, &ready_lock);
#endif
    consumed = product;
    pthread_mutex_unlock(&ready_lock);
    return NULL;
}

static void *produce(void *unused) {
    (void)unused;
    usleep(5000);
    pthread_mutex_lock(&ready_lock);
    product = 9;
    ready = 1;
    pthread_cond_signal(&became_ready);
    pthread_mutex_unlock(&ready_lock);
    return NULL;
}

int main(void) {
    pthread_t consumer, producer;
    pthread_create(&consumer, NULL, consume, NULL);
    pthread_create(&producer, NULL, produce, NULL);
    pthread_join(consumer, NULL);
    pthread_join(producer, NULL);
    printf("consumed %d\n", consumed);
    return consumed == 9 ? 0 : 1;
}
