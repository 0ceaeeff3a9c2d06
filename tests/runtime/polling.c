/* Threads that poll through locks: `polling HOW ROUNDS`. What is polled changes when another thread
 * has made that many steps, or has slept. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static int done, looked, unused;
static int rounds;
static volatile int sink;

static void *works(void *nothing) {
    for (int i = 0; i < rounds; i++) {
        pthread_mutex_lock(&other);
        sink += i;
        pthread_mutex_unlock(&other);
    }
    pthread_mutex_lock(&m);
    done = 1;
    pthread_mutex_unlock(&m);
    return nothing;
}
static void *sleeps(void *nothing) {
    usleep((unsigned)rounds * 1000);
    pthread_mutex_lock(&m);
    pthread_rwlock_wrlock(&rw);
    done = 1;
    pthread_rwlock_unlock(&rw);
    pthread_mutex_unlock(&m);
    return nothing;
}

static __attribute__((noinline)) int look(void) {
    pthread_mutex_lock(&m);
    int now = done;
    pthread_mutex_unlock(&m);
    return now;
}
static int look_twice(void) {
    pthread_rwlock_rdlock(&rw);
    int now = done;
    pthread_rwlock_unlock(&rw);
    pthread_mutex_lock(&other);
    now |= unused;
    pthread_mutex_unlock(&other);
    return now;
}
/* Each round changes something: all of it is to be in the trace. */
static int count(void) {
    pthread_mutex_lock(&m);
    int now = ++looked;
    pthread_mutex_unlock(&m);
    return now >= rounds;
}

static void *polls(void *how) {
    int (*poll)(void) = strcmp(how, "twice") == 0   ? look_twice
                        : strcmp(how, "count") == 0 ? count
                                                    : look;
    while (!poll()) continue;
    return NULL;
}

int main(int arguments, char **argument) {
    if (arguments != 3) return 2;
    rounds = atoi(argument[2]);
    pthread_t t, p[2];
    pthread_create(&t, NULL, strcmp(argument[1], "works") == 0 ? works : sleeps, NULL);
    for (int i = 0; i < 2; i++) pthread_create(&p[i], NULL, polls, argument[1]);
    for (int i = 0; i < 2; i++) pthread_join(p[i], NULL);
    pthread_join(t, NULL);
    printf("done %d, looked %d\n", done, looked >= rounds);
    return 0;
}
