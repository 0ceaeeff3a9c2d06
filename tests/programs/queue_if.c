/* Bounded queue whose consumers test for emptiness with `if` instead of `while`: another consumer
 * may take the item between the signal and the woken one's return from the wait. Goes wrong by
 * taking from an empty queue. Repaired with `while`. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { CAPACITY = 4, ITEMS = 2 };

static struct {
    int slots[CAPACITY];
    int first, used;
} queue;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static int sum;
static int underflows;

static void *consume(void *unused) {
    (void)unused;
    pthread_mutex_lock(&queue_lock);
#ifdef FIXED
    while (queue.used == 0)
#else
    if (queue.used == 0)
#endif
        pthread_cond_wait(&not_empty, &queue_lock);
    if (queue.used == 0) {
        underflows++;
    } else {
        sum += queue.slots[queue.first];
        queue.first = (queue.first + 1) % CAPACITY;
        queue.used--;
    }
    pthread_mutex_unlock(&queue_lock);
    return NULL;
}

static void *produce(void *unused) {
    (void)unused;
    for (int i = 1; i <= ITEMS; i++) {
        usleep(5000);
        pthread_mutex_lock(&queue_lock);
        queue.slots[(queue.first + queue.used) % CAPACITY] = i;
        queue.used++;
        pthread_cond_signal(&not_empty);
        pthread_mutex_unlock(&queue_lock);
    }
    return NULL;
}

int main(void) {
    pthread_t consumers[2], producer;
    for (int i = 0; i < 2; i++) pthread_create(&consumers[i], NULL, consume, NULL);
    pthread_create(&producer, NULL, produce, NULL);
    for (int i = 0; i < 2; i++) pthread_join(consumers[i], NULL);
    pthread_join(producer, NULL);
    printf("sum %d underflows %d\n", sum, underflows);
    return sum == 3 && underflows == 0 ? 0 : 1;
}
