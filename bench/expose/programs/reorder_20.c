/* One checker, twenty setters: each sets two variables that belong together, and the checker reads
 * both (after SCTBench's reorder). Goes wrong when it reads between the two stores of the first
 * setter. Repaired with a mutex around both. */
#include <pthread.h>

enum { SETTERS = 20 };
static int a, b;
static int bad;
static pthread_mutex_t pair_lock = PTHREAD_MUTEX_INITIALIZER;

static void lock(void) {
#ifdef FIXED
    pthread_mutex_lock(&pair_lock);
#else
    (void)pair_lock;
#endif
}
static void unlock(void) {
#ifdef FIXED
    pthread_mutex_unlock(&pair_lock);
#endif
}

static void *set(void *unused) {
    (void)unused;
    lock();
    a = 1;
    b = -1;
    unlock();
    return 0;
}

static void *check(void *unused) {
    (void)unused;
    lock();
    int first = a, second = b;
    if (!((first == 0 && second == 0) || (first == 1 && second == -1))) bad = 1;
    unlock();
    return 0;
}

int main(void) {
    pthread_t setter[SETTERS], checker;
    for (int i = 0; i < SETTERS; i++) pthread_create(&setter[i], 0, set, 0);
    pthread_create(&checker, 0, check, 0);
    for (int i = 0; i < SETTERS; i++) pthread_join(setter[i], 0);
    pthread_join(checker, 0);
    return bad;
}
