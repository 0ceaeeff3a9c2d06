/* A hundred dining philosophers, who usually come one after the other. Each takes the fork on the
 * left first: a deadlock of a hundred. Repaired by an order of the forks. */
#include <pthread.h>
#include <unistd.h>

enum { SEATS = 100 };
static pthread_mutex_t forks[SEATS];
static int uses[SEATS];
static int seats[SEATS];

static void *dine(void *argument) {
    int seat = *(int *)argument;
    int first = seat, second = (seat + 1) % SEATS;
#ifdef FIXED
    if (second < first) {
        second = first;
        first = 0;
    }
#endif
    usleep((useconds_t)seat * 200);
    pthread_mutex_lock(&forks[first]);
    pthread_mutex_lock(&forks[second]);
    uses[first]++;
    uses[second]++;
    pthread_mutex_unlock(&forks[second]);
    pthread_mutex_unlock(&forks[first]);
    return 0;
}

int main(void) {
    pthread_t thread[SEATS];
    int total = 0;
    for (int i = 0; i < SEATS; i++) {
        pthread_mutex_init(&forks[i], 0);
        seats[i] = i;
    }
    for (int i = 0; i < SEATS; i++) pthread_create(&thread[i], 0, dine, &seats[i]);
    for (int i = 0; i < SEATS; i++) pthread_join(thread[i], 0);
    for (int i = 0; i < SEATS; i++) total += uses[i];
    return total != 2 * SEATS;
}
