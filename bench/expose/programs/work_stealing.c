/* A work-stealing queue whose owner and thief both take the last item: the owner tests the bounds
 * and then takes, without a lock. Each item must be taken once. Repaired with one section for the
 * test and the taking. */
#include <pthread.h>

enum { ITEMS = 40 };
static int head, tail = ITEMS;
static int taken[ITEMS];
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;

static int pop(void) {
    int item = -1;
#ifdef FIXED
    pthread_mutex_lock(&queue_lock);
#endif
    int last = tail - 1;
    if (last >= head) {
        tail = last;
        item = last;
    }
#ifdef FIXED
    pthread_mutex_unlock(&queue_lock);
#endif
    return item;
}

static int steal(void) {
    int item = -1;
    pthread_mutex_lock(&queue_lock);
    if (head < tail) item = head++;
    pthread_mutex_unlock(&queue_lock);
    return item;
}

static void *thief(void *unused) {
    (void)unused;
    for (int item; (item = steal()) >= 0;) __atomic_fetch_add(&taken[item], 1, __ATOMIC_RELAXED);
    return 0;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, thief, 0);
    for (int item; (item = pop()) >= 0;) __atomic_fetch_add(&taken[item], 1, __ATOMIC_RELAXED);
    pthread_join(thread, 0);
    for (int i = 0; i < ITEMS; i++)
        if (taken[i] != 1) return 1;
    return 0;
}
