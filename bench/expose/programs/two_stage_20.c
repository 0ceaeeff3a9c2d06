/* A two-stage update by many threads (after SCTBench's twostage): one lock for the first value,
 * another for the second, which is made from it. A reader that comes between the stages sees two
 * values that do not fit. Repaired with one section for both. */
#include <pthread.h>

enum { WRITERS = 10, READERS = 10 };
static int first, second, bad;
static pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second_lock = PTHREAD_MUTEX_INITIALIZER;

static void *write_both(void *unused) {
    (void)unused;
    pthread_mutex_lock(&first_lock);
    first = 1;
#ifndef FIXED
    pthread_mutex_unlock(&first_lock);
    pthread_mutex_lock(&second_lock);
    second = first + 1;
    pthread_mutex_unlock(&second_lock);
#else
    second = first + 1;
    pthread_mutex_unlock(&first_lock);
#endif
    return 0;
}

static void *read_both(void *unused) {
    (void)unused;
    pthread_mutex_lock(&first_lock);
    int one = first;
#ifndef FIXED
    pthread_mutex_unlock(&first_lock);
    if (one == 0) return 0;
    pthread_mutex_lock(&second_lock);
    int two = second;
    pthread_mutex_unlock(&second_lock);
#else
    int two = second;
    pthread_mutex_unlock(&first_lock);
    if (one == 0) return 0;
#endif
    (void)second_lock;
    if (two != one + 1) bad = 1;
    return 0;
}

int main(void) {
    pthread_t thread[WRITERS + READERS];
    for (int i = 0; i < WRITERS + READERS; i++)
        pthread_create(&thread[i], 0, i < WRITERS ? write_both : read_both, 0);
    for (int i = 0; i < WRITERS + READERS; i++) pthread_join(thread[i], 0);
    return bad;
}
