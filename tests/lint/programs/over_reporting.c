/* A map that is filled at its first use (von Praun and Gross 2003, the example of what is reported
 * too much): the flag is looked at outside, the map is filled in one critical section and read in
 * another. That is right: filling it twice writes the same again. The twin fills and reads in one
 * section. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { ROOM = 4 };

struct map {
    pthread_mutex_t lock;
    int key[ROOM], value[ROOM];
    atomic_int filled;
};

static struct map map = {.lock = PTHREAD_MUTEX_INITIALIZER};
static int found[2];

static void set_all(struct map *m) {
    for (int i = 0; i < ROOM; i++) {
        m->key[i] = i + 1;
        m->value[i] = 10 * (i + 1);
    }
    m->filled = 1;
}

static int find(struct map *m, int key) {
    int result = 0;
    for (int i = 0; i < ROOM; i++)
        if (m->key[i] == key) result = m->value[i];
    return result;
}

#ifdef FIXED
static int look_up(struct map *m, int key) {
    pthread_mutex_lock(&m->lock);
    if (!m->filled) set_all(m);
    int result = find(m, key);
    pthread_mutex_unlock(&m->lock);
    return result;
}
#else
static void fill(struct map *m) {
    pthread_mutex_lock(&m->lock);
    set_all(m);
    pthread_mutex_unlock(&m->lock);
}

static int get(struct map *m, int key) {
    pthread_mutex_lock(&m->lock);
    int result = find(m, key);
    pthread_mutex_unlock(&m->lock);
    return result;
}

static int look_up(struct map *m, int key) {
    if (!m->filled) fill(m);
    return get(m, key);
}
#endif

static void *work(void *argument) {
    int *result = argument;
    *result = look_up(&map, 2);
    return NULL;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, work, &found[0]);
    pthread_create(&second, NULL, work, &found[1]);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    printf("found %d %d\n", found[0], found[1]);
    return found[0] == 20 && found[1] == 20 ? 0 : 1;
}
