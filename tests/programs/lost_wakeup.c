/* Lost wake-up: main starts a worker and waits for its signal, but nothing keeps the worker from
 * signalling before main waits; then nobody hears it and main waits for ever. No race. Repaired by
 * a flag that is set before the signal and tested in the section that waits. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int result;
#ifdef FIXED
static int finished;
#endif
static pthread_mutex_t result_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t result_there = PTHREAD_COND_INITIALIZER;

static void *work(void *unused) {
    (void)unused;
    usleep(5000);
    pthread_mutex_lock(&result_lock);
    result = 9;
#ifdef FIXED
    finished = 1;
#endif
    pthread_cond_signal(&result_there);
    pthread_mutex_unlock(&result_lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    pthread_mutex_lock(&result_lock);
#ifdef FIXED
    while (!finished)
#endif
        pthread_cond_wait(&result_there, &result_lock);
    int got = result;
    pthread_mutex_unlock(&result_lock);
    pthread_join(worker, NULL);
    printf("result %d\n", got);
    return got == 9 ? 0 : 1;
}
