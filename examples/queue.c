/* One thread puts jobs into a queue, the main thread takes them out. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    int used;
    struct {
        int job;
        int *result;
    } slot[8];
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};
static atomic_int total;

static void put(int job, int *result) {
    pthread_mutex_lock(&queue.lock);
    queue.slot[queue.used].job = job;
    queue.slot[queue.used].result = result;
    result[1] = job;
    queue.used++;
    atomic_fetch_add_explicit(&total, 1, memory_order_relaxed);
    pthread_cond_signal(&queue.filled);
    pthread_mutex_unlock(&queue.lock);
}

static void *produce(void *results) {
    put(7, results);
    return NULL;
}

int main(void) {
    pthread_t thread;
    int *results = calloc(4, sizeof *results);
    pthread_create(&thread, NULL, produce, results);
    pthread_mutex_lock(&queue.lock);
    while (queue.used == 0) pthread_cond_wait(&queue.filled, &queue.lock);
    int job = queue.slot[--queue.used].job;
    pthread_mutex_unlock(&queue.lock);
    pthread_join(thread, NULL);
    free(results);
    return job == 7 ? 0 : 1;
}
