/* Many threads: alive at once, and one after the other. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t all_alive;
static long total, detached_left;
static int touched[300];

static void *stay(void *index) {
    pthread_barrier_wait(&all_alive);
    touched[(long)index] = 1;
    pthread_mutex_lock(&guard);
    total++;
    pthread_mutex_unlock(&guard);
    pthread_barrier_wait(&all_alive);
    return index;
}

static void *pass(void *detached) {
    pthread_mutex_lock(&guard);
    total++;
    if (detached != NULL && --detached_left == 0) pthread_cond_signal(&ended);
    pthread_mutex_unlock(&guard);
    return NULL;
}

static void at_once(long count) {
    pthread_t thread[count];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 * 1024);
    pthread_barrier_init(&all_alive, NULL, (unsigned)count);
    for (long i = 0; i < count; i++)
        if (pthread_create(&thread[i], &small, stay, (void *)i) != 0) exit(4);
    for (long i = 0; i < count; i++) {
        void *index;
        pthread_join(thread[i], &index);
        if (index != (void *)i) exit(5);
    }
    for (long i = 0; i < count; i++)
        if (!touched[i]) exit(6);
}

/* Half of them detached, in waves of a few. */
static void over_a_run(long count) {
    enum { WAVE = 20 };
    detached_left = count / 2;
    for (long done = 0; done < count; done += WAVE) {
        pthread_t thread[WAVE];
        for (int i = 0; i < WAVE; i++) {
            int detached = i % 2;
            if (pthread_create(&thread[i], NULL, pass, detached ? thread : NULL) != 0) exit(4);
            if (detached) pthread_detach(thread[i]);
        }
        for (int i = 0; i < WAVE; i += 2) pthread_join(thread[i], NULL);
    }
    pthread_mutex_lock(&guard);
    while (detached_left > 0) pthread_cond_wait(&ended, &guard);
    pthread_mutex_unlock(&guard);
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    long count = atol(argv[2]);
    if (strcmp(argv[1], "at-once") == 0)
        at_once(count);
    else
        over_a_run(count);
    printf("%ld\n", total);
    return 0;
}
