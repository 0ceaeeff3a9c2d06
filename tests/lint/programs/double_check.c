/* Read, compute without the lock, and write back only if the value is still the one that was read
 * (Artho, Havelund and Biere 2004, "double-check"). That is right: a value that became stale is
 * not used, the thread tries again. A stale-value detector that does not see the comparison reports
 * it. The twin computes inside the section. */
#include <pthread.h>
#include <stdio.h>

struct cell {
    pthread_mutex_t lock;
    int field;
};

static struct cell shared = {.lock = PTHREAD_MUTEX_INITIALIZER, .field = 1};

static int compute(int value) { return value * 2 + 1; }

#ifdef FIXED
static void transact(struct cell *c) {
    pthread_mutex_lock(&c->lock);
    c->field = compute(c->field);
    pthread_mutex_unlock(&c->lock);
}
#else
static int get_field(struct cell *c) {
    pthread_mutex_lock(&c->lock);
    int value = c->field;
    pthread_mutex_unlock(&c->lock);
    return value;
}

static int update_field(struct cell *c, int value, int result) {
    int done = 0;
    pthread_mutex_lock(&c->lock);
    if (value == c->field) {
        c->field = result;
        done = 1;
    }
    pthread_mutex_unlock(&c->lock);
    return done;
}

static void transact(struct cell *c) {
    int done = 0;
    while (!done) {
        int value = get_field(c);
        int result = compute(value);
        done = update_field(c, value, result);
    }
}
#endif

static void *work(void *unused) {
    (void)unused;
    transact(&shared);
    return NULL;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, work, NULL);
    pthread_create(&second, NULL, work, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    printf("field %d\n", shared.field);
    return shared.field == 7 ? 0 : 1;
}
