/* Nondeterminism without a race: two threads set the winner under a lock and the later one stays,
 * which the program takes for the second. Repaired by giving each its own slot and choosing by
 * number after both have ended. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t winner_lock = PTHREAD_MUTEX_INITIALIZER;
#ifdef FIXED
static int entered[3];
#else
static int winner;
#endif

static void *enter(void *argument) {
    int self = *(int *)argument;
    usleep((useconds_t)(self - 1) * 5000);
    pthread_mutex_lock(&winner_lock);
#ifdef FIXED
    entered[self] = 1;
#else
    winner = self;
#endif
    pthread_mutex_unlock(&winner_lock);
    return NULL;
}

int main(void) {
    static int numbers[2] = {1, 2};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, enter, &numbers[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
#ifdef FIXED
    int winner = entered[2] ? 2 : 1;
#endif
    printf("winner %d\n", winner);
    return winner == 2 ? 0 : 1;
}
