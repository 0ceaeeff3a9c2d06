/* A cache and its flag (Mozilla's property cache, bug "Moz-js1" of the dissertation's Table 5.4):
 * `empty` says that `table` has no entry. Each has its lock. A fill that comes between the two
 * updates of a flush leaves an entry in a cache that says it is empty; the other way round, an
 * empty cache says that it has entries. No race. Repaired by one lock for both. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { SLOTS = 4 };

struct property_cache {
    int table[SLOTS];
    int empty;
    pthread_mutex_t table_lock, empty_lock;
};

static struct property_cache cache = {
    .empty = 1, .table_lock = PTHREAD_MUTEX_INITIALIZER, .empty_lock = PTHREAD_MUTEX_INITIALIZER};

static void lock_table(void) { pthread_mutex_lock(&cache.table_lock); }
static void unlock_table(void) { pthread_mutex_unlock(&cache.table_lock); }

/* With one lock for both, it is held already. */
static void lock_empty(void) {
#ifndef FIXED
    unlock_table();
    pthread_mutex_lock(&cache.empty_lock);
#endif
}
static void unlock_empty(void) {
#ifdef FIXED
    unlock_table();
#else
    pthread_mutex_unlock(&cache.empty_lock);
#endif
}

static void flush_cache(void) {
    lock_table();
    for (int i = 0; i < SLOTS; i++) cache.table[i] = 0;
    lock_empty();
    cache.empty = 1;
    unlock_empty();
}

static void fill_cache(int slot, int shape) {
    lock_table();
    cache.table[slot] = shape;
    lock_empty();
    cache.empty = 0;
    unlock_empty();
}

/* Before the threads exist, and when they are gone. */
static void start_cache(int shape) {
    cache.table[0] = shape;
    cache.empty = 0;
}

static int used_slots(void) {
    int used = 0;
    for (int i = 0; i < SLOTS; i++) used += cache.table[i] != 0;
    return cache.empty ? 0 : used;
}

static int is_consistent(void) {
    int used = 0;
    for (int i = 0; i < SLOTS; i++) used += cache.table[i] != 0;
    return cache.empty == (used == 0);
}

static void *collector(void *unused) {
    (void)unused;
    flush_cache();
    return NULL;
}

static void *interpreter(void *unused) {
    (void)unused;
    usleep(5000);
    fill_cache(2, 7);
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    start_cache(5);
    pthread_create(&threads[0], NULL, collector, NULL);
    pthread_create(&threads[1], NULL, interpreter, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    int good = is_consistent() && used_slots() <= 1;
    printf("the flag is %s\n", good ? "right" : "wrong");
    return good ? 0 : 1;
}
