/* A value is copied to a local variable, increased there and written back in another critical
 * section (Artho, Havelund and Biere 2003, "local"): updates get lost. No two variables are
 * involved, so view consistency has nothing to say. Repaired by one section. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct cell {
    pthread_mutex_t lock;
    int value;
};

static struct cell cell = {.lock = PTHREAD_MUTEX_INITIALIZER};

#ifdef FIXED
static void increase(struct cell *c) {
    pthread_mutex_lock(&c->lock);
    c->value++;
    pthread_mutex_unlock(&c->lock);
}
#else
static int get_value(struct cell *c) {
    pthread_mutex_lock(&c->lock);
    int value = c->value;
    pthread_mutex_unlock(&c->lock);
    return value;
}

static void set_value(struct cell *c, int value) {
    pthread_mutex_lock(&c->lock);
    c->value = value;
    pthread_mutex_unlock(&c->lock);
}

static void increase(struct cell *c) {
    int copy = get_value(c);
    copy++;
    set_value(c, copy); /* violation: stale-value get_value set_value */
}
#endif

static void *work(void *argument) {
    if (argument != NULL) usleep(5000);
    increase(&cell);
    return NULL;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, work, NULL);
    pthread_create(&second, NULL, work, &cell);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    printf("value %d\n", cell.value);
    return cell.value == 2 ? 0 : 1;
}
