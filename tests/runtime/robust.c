/* Mutexes and condition variables whose users are gone: as the C library does them. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t robust, plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int counter, waiting, mends, died, lost;

static void *dies(void *argument) {
    pthread_mutex_lock(&robust);
    if (argument != NULL) pthread_mutex_lock(&robust); /* recursive: twice */
    counter++;
    return NULL;
}

static void *takes(void *argument) {
    (void)argument;
    int result = pthread_mutex_lock(&robust);
    if (result == EOWNERDEAD) {
        died++;
        if (mends) pthread_mutex_consistent(&robust);
    } else if (result == ENOTRECOVERABLE) {
        lost++;
        return NULL;
    }
    counter++;
    pthread_mutex_unlock(&robust);
    return NULL;
}

static void owner_dies(int recursive) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    if (recursive) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&robust, &attributes);
    pthread_t thread[4];
    pthread_create(&thread[0], NULL, dies, recursive ? &robust : NULL);
    /* The C library may lose a wake-up of a mutex that nobody mends: one after the other then. */
    if (!mends) pthread_join(thread[0], NULL);
    for (int i = 1; i < 4; i++) {
        pthread_create(&thread[i], NULL, takes, NULL);
        if (!mends) pthread_join(thread[i], NULL);
    }
    for (int i = 0; i < 4 && mends; i++) pthread_join(thread[i], NULL);
    printf("counter %d, died %d, lost %d\n", counter, died, lost);
}

static void *waits(void *argument) {
    pthread_mutex_lock(&plain);
    waiting++;
    while (waiting < 10) pthread_cond_wait(&condition, &plain);
    waiting++;
    pthread_mutex_unlock(&plain);
    return argument;
}

static void *signals(void *argument) {
    pthread_mutex_lock(&plain);
    waiting = 10;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&plain);
    return argument;
}

/* The C library's pthread_cond_destroy returns when nobody waits any more. */
static void destroyed_while_used(void) {
    pthread_t waiter, signaller;
    int there = 0;
    pthread_create(&waiter, NULL, waits, NULL);
    while (!there) {
        pthread_mutex_lock(&plain);
        there = waiting == 1;
        pthread_mutex_unlock(&plain);
    }
    pthread_create(&signaller, NULL, signals, NULL);
    pthread_cond_destroy(&condition);
    memset(&condition, 0x5a, sizeof condition);
    puts(waiting >= 10 ? "after the signal" : "too early");
    pthread_join(waiter, NULL);
    pthread_join(signaller, NULL);
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    if (strcmp(argv[1], "destroy") == 0) {
        destroyed_while_used();
        return 0;
    }
    mends = strcmp(argv[1], "lost") != 0;
    owner_dies(strcmp(argv[1], "recursive") == 0);
    return 0;
}
