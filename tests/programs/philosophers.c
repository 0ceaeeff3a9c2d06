/* Three dining philosophers, each taking the left fork first: a deadlock of three threads that no
 * two of them show. Repaired by a room lock held while both forks are taken: the lock order still
 * has its cycle, but it can no longer deadlock, so a lock-graph detector must not report it. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { SEATS = 3 };

static pthread_mutex_t forks[SEATS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                       PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t room = PTHREAD_MUTEX_INITIALIZER;
static int meals[SEATS];

static void *dine(void *argument) {
    int seat = *(int *)argument;
    pthread_mutex_t *left = &forks[seat], *right = &forks[(seat + 1) % SEATS];
    usleep((useconds_t)seat * 3000); /* they usually come one after the other */
#ifdef FIXED
    pthread_mutex_lock(&room);
#endif
    pthread_mutex_lock(left);
    pthread_mutex_lock(right);
#ifdef FIXED
    pthread_mutex_unlock(&room);
#endif
    meals[seat]++;
    pthread_mutex_unlock(right);
    pthread_mutex_unlock(left);
    return NULL;
}

int main(void) {
    static int seats[SEATS] = {0, 1, 2};
    pthread_t threads[SEATS];
    for (int i = 0; i < SEATS; i++) pthread_create(&threads[i], NULL, dine, &seats[i]);
    for (int i = 0; i < SEATS; i++) pthread_join(threads[i], NULL);
    (void)room;
    printf("meals %d %d %d\n", meals[0], meals[1], meals[2]);
    return meals[0] + meals[1] + meals[2] == SEATS ? 0 : 1;
}
