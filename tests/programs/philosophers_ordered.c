/* Four dining philosophers who count how often each fork was used. Each takes the fork on the left
 * first: a deadlock of four. Repaired by an order: the fork with the lower number first, so that
 * the last philosopher reaches to the right first. philosophers.c has the repair by a gate lock. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { SEATS = 4 };

static pthread_mutex_t forks[SEATS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                       PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int uses[SEATS];

static void *dine(void *argument) {
    int seat = *(int *)argument;
    int first = seat, second = (seat + 1) % SEATS;
#ifdef FIXED
    if (second < first) {
        second = first;
        first = 0;
    }
#endif
    usleep((useconds_t)seat * 2000); /* they usually come one after the other */
    pthread_mutex_lock(&forks[first]);
    pthread_mutex_lock(&forks[second]);
    uses[first]++;
    uses[second]++;
    pthread_mutex_unlock(&forks[second]);
    pthread_mutex_unlock(&forks[first]);
    return NULL;
}

int main(void) {
    static int seats[SEATS] = {0, 1, 2, 3};
    pthread_t threads[SEATS];
    for (int i = 0; i < SEATS; i++) pthread_create(&threads[i], NULL, dine, &seats[i]);
    for (int i = 0; i < SEATS; i++) pthread_join(threads[i], NULL);
    printf("uses %d %d %d %d\n", uses[0], uses[1], uses[2], uses[3]);
    return uses[0] + uses[1] + uses[2] + uses[3] == 2 * SEATS ? 0 : 1;
}
