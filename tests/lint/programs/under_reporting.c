/* A counter whose only function adds and returns the sum (von Praun and Gross 2003, the example of
 * what is reported too little): adding nothing reads it, adding what was read doubles it. The value
 * leaves the critical section and comes back into the same one. Repaired by one section. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct counter {
    pthread_mutex_t lock;
    int sum;
};

static struct counter counter = {.lock = PTHREAD_MUTEX_INITIALIZER, .sum = 1};

#ifdef FIXED
static void double_it(struct counter *c) {
    pthread_mutex_lock(&c->lock);
    c->sum += c->sum;
    pthread_mutex_unlock(&c->lock);
}
#else
static int add(struct counter *c, int amount) {
    pthread_mutex_lock(&c->lock);
    c->sum += amount;
    int sum = c->sum;
    pthread_mutex_unlock(&c->lock);
    return sum;
}

static void double_it(struct counter *c) {
    int sum = add(c, 0);
    add(c, sum); /* violation: stale-value add add */
}
#endif

static void *work(void *argument) {
    if (argument != NULL) usleep(5000);
    double_it(&counter);
    return NULL;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, work, NULL);
    pthread_create(&second, NULL, work, &counter);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    printf("sum %d\n", counter.sum);
    return counter.sum == 4 ? 0 : 1;
}
