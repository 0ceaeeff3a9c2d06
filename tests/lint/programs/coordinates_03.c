/* A pair of coordinates (Artho, Havelund and Biere 2003): one thread sets both at once, one reads
 * both at once, one reads them in two critical sections and uses them together, one reads the first
 * alone and then both. The third sees an old x beside a new y. Repaired by reading both at once. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct point {
    int x, y; /* always equal */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct point shared;
static int torn;

static void set_both(int x, int y) {
    pthread_mutex_lock(&lock);
    shared.x = x;
    shared.y = y;
    pthread_mutex_unlock(&lock);
}

static void get_both(int *x, int *y) {
    pthread_mutex_lock(&lock);
    *x = shared.x;
    *y = shared.y;
    pthread_mutex_unlock(&lock);
}

static int get_x(void) {
    pthread_mutex_lock(&lock);
    int x = shared.x;
    pthread_mutex_unlock(&lock);
    return x;
}

#ifndef FIXED
static int get_y(void) {
    pthread_mutex_lock(&lock);
    int y = shared.y;
    pthread_mutex_unlock(&lock);
    return y;
}
#endif

static void *set(void *unused) {
    (void)unused;
    usleep(5000);
    set_both(3, 3);
    set_both(4, 4);
    return NULL;
}

static void *get_at_once(void *unused) {
    (void)unused;
    int x, y;
    get_both(&x, &y);
    int distance = x - y;
    return distance == 0 ? NULL : unused;
}

static void *get_one_by_one(void *unused) {
    (void)unused;
#ifdef FIXED
    int x, y;
    get_both(&x, &y);
#else
    int x = get_x();
    int y = get_y(); /* violation: view get_x get_y */
#endif
    int distance = x - y;
    if (distance != 0) torn = 1;
    return NULL;
}

static void *get_one_then_both(void *unused) {
    int x, y, alone = get_x();
    get_both(&x, &y);
    return alone < 0 ? unused : NULL;
}

int main(void) {
    pthread_t threads[4];
    pthread_create(&threads[0], NULL, get_one_by_one, NULL);
    pthread_create(&threads[1], NULL, get_at_once, NULL);
    pthread_create(&threads[2], NULL, get_one_then_both, NULL);
    pthread_create(&threads[3], NULL, set, NULL);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    printf("coordinates %s\n", torn ? "torn" : "whole");
    return torn;
}
