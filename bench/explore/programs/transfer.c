/* Accounts with a lock each, and transfers from each to the next. Broken: the giver is locked
 * first, whoever it is. */
#include "threads.h"

static pthread_mutex_t lock[THREADS];
static int balance[THREADS];

static void *work(void *self) {
    int from = (int)(intptr_t)self, to = (from + 1) % THREADS, first = from, second = to;
#ifdef FIXED
    if (first > second) {
        first = to;
        second = from;
    }
#endif
    pthread_mutex_lock(&lock[first]);
    pthread_mutex_lock(&lock[second]);
    balance[from]--;
    balance[to]++;
    pthread_mutex_unlock(&lock[second]);
    pthread_mutex_unlock(&lock[first]);
    return NULL;
}

int main(void) {
    for (int i = 0; i < THREADS; i++) pthread_mutex_init(&lock[i], NULL);
    run_threads(work);
    for (int i = 0; i < THREADS; i++) assert(balance[i] == 0);
    return 0;
}
