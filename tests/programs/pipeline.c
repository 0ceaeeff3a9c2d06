/* A pipeline of three stages, source, doubler and main, joined by slots with condition variables. A
 * receiver holds the slot's lock from before its sender exists and gives it away only by waiting,
 * so that no signal can be missed and no test of a flag has to come first. The source and the
 * doubler do not wait until their item was taken: one that is quicker than its receiver overwrites
 * it, and the receiver waits for ever for the one that is gone. No race. Repaired by waiting until
 * the slot is empty again; then every read sees the same write in every schedule. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { ITEMS = 2 };

struct slot {
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    int full, item;
};

static struct slot raw = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,
                          PTHREAD_COND_INITIALIZER, 0, 0};
static struct slot doubled = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,
                              PTHREAD_COND_INITIALIZER, 0, 0};

static void put(struct slot *slot, int item) {
    pthread_mutex_lock(&slot->lock);
    slot->item = item;
    slot->full = 1;
    pthread_cond_signal(&slot->filled);
#ifdef FIXED
    do pthread_cond_wait(&slot->emptied, &slot->lock);
    while (slot->full);
#endif
    pthread_mutex_unlock(&slot->lock);
#ifndef FIXED
    usleep(4000); /* usually long enough for the receiver */
#endif
}

static int take(struct slot *slot) { /* the caller holds the lock */
    do pthread_cond_wait(&slot->filled, &slot->lock);
    while (!slot->full);
    slot->full = 0;
    int item = slot->item;
#ifdef FIXED
    pthread_cond_signal(&slot->emptied);
#endif
    return item;
}

static void *produce(void *unused) {
    (void)unused;
    for (int i = 1; i <= ITEMS; i++) put(&raw, i);
    return NULL;
}

static void *double_items(void *unused) {
    pthread_t source;
    (void)unused;
    pthread_mutex_lock(&raw.lock);
    pthread_create(&source, NULL, produce, NULL);
    for (int i = 0; i < ITEMS; i++) put(&doubled, 2 * take(&raw));
    pthread_mutex_unlock(&raw.lock);
    pthread_join(source, NULL);
    return NULL;
}

int main(void) {
    pthread_t doubler;
    int sum = 0;
    pthread_mutex_lock(&doubled.lock);
    pthread_create(&doubler, NULL, double_items, NULL);
    for (int i = 0; i < ITEMS; i++) sum = 10 * sum + take(&doubled);
    pthread_mutex_unlock(&doubled.lock);
    pthread_join(doubler, NULL);
    printf("items %d\n", sum);
    return sum == 24 ? 0 : 1;
}
