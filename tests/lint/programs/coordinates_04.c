/* A pair of coordinates with swap and reset (Artho, Havelund and Biere 2004): swap is one critical
 * section, reset is two, so that a swap may move a coordinate that was just reset. Repaired by one
 * section for the reset. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct point {
    pthread_mutex_t lock;
    int x, y;
};

static struct point point = {.lock = PTHREAD_MUTEX_INITIALIZER, .x = 1, .y = 2};
static int half[2];

static int swap(struct point *p) {
    pthread_mutex_lock(&p->lock);
    int x = p->x, y = p->y;
    p->x = y;
    p->y = x;
    pthread_mutex_unlock(&p->lock);
    return (x == 0) != (y == 0);
}

#ifdef FIXED
static void reset(struct point *p) {
    pthread_mutex_lock(&p->lock);
    p->x = 0;
    p->y = 0;
    pthread_mutex_unlock(&p->lock);
}
#else
static void reset_x(struct point *p) {
    pthread_mutex_lock(&p->lock);
    p->x = 0;
    pthread_mutex_unlock(&p->lock);
}

static void reset_y(struct point *p) {
    pthread_mutex_lock(&p->lock);
    p->y = 0;
    pthread_mutex_unlock(&p->lock);
}

static void reset(struct point *p) {
    reset_x(p);
    reset_y(p); /* violation: view reset_x reset_y */
}
#endif

static void *work(void *argument) {
    int *seen_half = argument;
    if (seen_half != half) usleep(5000);
    *seen_half = swap(&point);
    reset(&point);
    return NULL;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, work, &half[0]);
    pthread_create(&second, NULL, work, &half[1]);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    printf("%d %d, %s\n", point.x, point.y, half[0] + half[1] > 0 ? "half reset" : "reset");
    return half[0] + half[1];
}
